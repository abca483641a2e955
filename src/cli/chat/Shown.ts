/** Shows one answer: its text on stdout as it comes, and what it was and cost on stderr. */
import { Clock, Effect, Stdio, Stream } from "effect"
import type { TollgateShape } from "../../client/Client.ts"
import { count, milliseconds, usd } from "../Figures.ts"
import { oneLine, write, writeError } from "../Output.ts"
import { progress } from "../Progress.ts"
import { withSimilarModels } from "../Question.ts"
import { type ApiName, asked, type Piece, type Told } from "./ChatApi.ts"
import type { Renderer } from "./Markdown.ts"
import type { Thread, Wishes } from "./Turns.ts"

const summary = (
  { costUsd, finish, generation, isFromCache, model, provider, tokens }: Partial<Told>,
  tookMs: number
): string => {
  const parts = [
    [model, provider].filter((name) => name !== undefined && name !== "").join(" by "),
    ...(tokens == null ? [] : [`${count(tokens[0])} + ${count(tokens[1])} tokens`]),
    ...(isFromCache === true ? ["from the cache"] : []),
    ...(isFromCache !== true && costUsd != null ? [usd(costUsd)] : []),
    milliseconds(tookMs),
    ...(finish == null || finish === "stop" ? [] : [`finish reason ${finish}`]),
    ...(generation == null ? [] : [generation])
  ]
  return oneLine(parts.join(", "))
}

export interface Showing {
  readonly api: ApiName
  readonly thread: Thread
  readonly wishes: Wishes
  readonly isJson: boolean
  readonly renderer: Renderer
  /** Called with each piece of the answer's text. */
  readonly onText: (text: string) => void
}

export const shown = Effect.fnUntraced(function* (
  client: TollgateShape,
  { api, isJson, onText, renderer, thread, wishes }: Showing
) {
  const stdio = yield* Stdio.Stdio
  const { done } = yield* progress(`waiting for ${wishes.model}`)
  const startedMs = yield* Clock.currentTimeMillis
  let told: Partial<Told> | null = null
  let isMidLine = false

  const print = (text: string): string => {
    if (text !== "") isMidLine = !text.endsWith("\n")
    return text
  }
  const textOf = ({ event, text, told: more }: Piece): string => {
    told = { ...told, ...more }
    onText(text)
    return isJson ? `${JSON.stringify(event)}\n` : print(renderer.push(text))
  }
  const ended = Effect.suspend(() => {
    const rest = isJson ? "" : print(renderer.end())
    return Effect.andThen(done, Effect.ignore(write(rest + (isMidLine && !isJson ? "\n" : ""))))
  })
  yield* asked(api, client, thread, wishes).pipe(
    Stream.catch((error) => Stream.fromEffect(withSimilarModels(client, wishes.model)(error))),
    Stream.map(textOf),
    Stream.filter((text) => text !== ""),
    Stream.tap(() => done),
    Stream.run(stdio.stdout()),
    Effect.ensuring(ended)
  )
  const tookMs = (yield* Clock.currentTimeMillis) - startedMs
  if (told !== null && !isJson) yield* writeError(`${summary(told, tookMs)}\n`)
}, Effect.scoped)
