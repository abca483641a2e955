/**
 * `tollgate chat`: one answer. Prints its text on stdout as it arrives, and its model and cost on
 * stderr. With `--json` it prints one event a line. A broken stream fails after the text received.
 */
import { Effect, Stdio, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { asked, type Piece, type Told } from "./ChatApi.ts"
import { connect } from "./Connection.ts"
import { count, usd } from "./Figures.ts"
import { Json } from "./Globals.ts"
import { withoutControls, oneLine, writeError, write } from "./Output.ts"
import { progress } from "./Progress.ts"
import { payloadOf, question, withSimilarModels } from "./Question.ts"

const summary = ({ costUsd, finish, generation, isFromCache, model, provider, tokens }: Partial<Told>): string => {
  const parts = [
    [model, provider].filter((name) => name !== undefined && name !== "").join(" by "),
    ...(tokens == null ? [] : [`${count(tokens[0])} + ${count(tokens[1])} tokens`]),
    ...(isFromCache === true ? ["from the cache"] : []),
    ...(isFromCache !== true && costUsd != null ? [usd(costUsd)] : []),
    ...(finish == null || finish === "stop" ? [] : [`finish reason ${finish}`]),
    ...(generation == null ? [] : [generation])
  ]
  return oneLine(parts.join(", "))
}

const api = Flag.Literals("api", ["chat", "messages", "responses"]).pipe(
  Flag.withDescription("The API that is asked: chat completions, Anthropic's Messages, OpenAI's Responses"),
  Flag.withDefault("chat" as const)
)

export const chat = Command.make(
  "chat",
  { ...question, api },
  Effect.fnUntraced(function* ({ api, ...given }) {
    const client = yield* connect("apiKey")
    const isJson = yield* Json
    const stdio = yield* Stdio.Stdio
    const isTerminal = yield* stdio.stdoutIsTerminal
    const payload = yield* payloadOf(given, client)
    const { done } = yield* progress(`waiting for ${payload.model}`)
    let told: Partial<Told> | null = null
    let isMidLine = false

    const shown = ({ event, text, told: more }: Piece): string => {
      told = { ...told, ...more }
      if (isJson) return `${JSON.stringify(event)}\n`
      if (text !== "") isMidLine = !text.endsWith("\n")
      return isTerminal ? withoutControls(text) : text
    }
    const ended = Effect.suspend(() =>
      Effect.andThen(done, Effect.ignore(isMidLine && !isJson ? write("\n") : Effect.void))
    )
    yield* asked(api, client, payload).pipe(
      Stream.catch((error) => Stream.fromEffect(withSimilarModels(client, payload.model)(error))),
      Stream.map(shown),
      Stream.filter((text) => text !== ""),
      Stream.tap(() => done),
      Stream.run(stdio.stdout()),
      Effect.ensuring(ended)
    )
    if (told !== null && !isJson) yield* writeError(`${summary(told)}\n`)
  }, Effect.scoped)
).pipe(
  Command.withDescription("Send a prompt to a model and stream its answer"),
  Command.withExamples([
    { command: "tollgate chat --model mock/echo 'Hello, tollgate'" },
    { command: "tollgate chat --api responses 'Hello'", description: "By OpenAI's Responses API" },
    { command: "tollgate chat --max-tokens 200 < question.txt", description: "The prompt from a file" }
  ])
)
