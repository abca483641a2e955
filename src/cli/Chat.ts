/**
 * `tollgate chat`: one answer. Prints its text on stdout as it arrives, and its model and cost on
 * stderr. With `--json` it prints one chunk a line. A broken stream fails after the text received.
 */
import { Effect, Stdio, Stream } from "effect"
import { Command } from "effect/cli"
import { type Chunk } from "../client/Client.ts"
import { connect } from "./Connection.ts"
import { count, usd } from "./Figures.ts"
import { Json } from "./Globals.ts"
import { withoutControls, oneLine, writeError, write } from "./Output.ts"
import { progress } from "./Progress.ts"
import { payloadOf, question } from "./Question.ts"

const textOf = ({ choices }: Chunk): string => {
  const content = choices[0]?.delta["content"]
  return typeof content === "string" ? content : ""
}

interface Progressed {
  readonly model: string
  readonly provider: string | null
  readonly generation: string | null
  readonly finish: string | null
  readonly usage: Chunk["usage"]
}

const seenAfter = (before: Progressed | null, chunk: Chunk): Progressed => ({
  model: chunk.model,
  provider: chunk.provider ?? before?.provider ?? null,
  generation: chunk.generation_id ?? before?.generation ?? null,
  finish: chunk.choices[0]?.finish_reason ?? before?.finish ?? null,
  usage: chunk.usage ?? before?.usage ?? null
})

const summary = ({ finish, generation, model, provider, usage }: Progressed): string => {
  const parts = [
    provider === null ? model : `${model} by ${provider}`,
    ...(usage ? [`${count(usage.prompt_tokens ?? 0)} + ${count(usage.completion_tokens ?? 0)} tokens`] : []),
    ...(usage?.cache_hit ? ["from the cache"] : []),
    // Absent if the ledger could not record the cost.
    ...(usage?.cache_hit !== true && usage?.estimated_cost_usd !== undefined ? [usd(usage.estimated_cost_usd)] : []),
    ...(finish === null || finish === "stop" ? [] : [`finish reason ${finish}`]),
    ...(generation === null ? [] : [generation])
  ]
  return oneLine(parts.join(", "))
}

export const chat = Command.make(
  "chat",
  question,
  Effect.fnUntraced(function* (given) {
    const client = yield* connect("apiKey")
    const isJson = yield* Json
    const stdio = yield* Stdio.Stdio
    const isTerminal = yield* stdio.stdoutIsTerminal
    const payload = yield* payloadOf(given, client)
    const { done } = yield* progress(`waiting for ${payload.model}`)
    let seen: Progressed | null = null
    let isMidLine = false

    const shown = (chunk: Chunk): string => {
      seen = seenAfter(seen, chunk)
      if (isJson) return `${JSON.stringify(chunk)}\n`
      const text = textOf(chunk)
      if (text !== "") isMidLine = !text.endsWith("\n")
      return isTerminal ? withoutControls(text) : text
    }
    const ended = Effect.suspend(() =>
      Effect.andThen(done, Effect.ignore(isMidLine && !isJson ? write("\n") : Effect.void))
    )
    yield* client.chat.stream({ payload }).pipe(
      Stream.map(shown),
      Stream.filter((text) => text !== ""),
      Stream.tap(() => done),
      Stream.run(stdio.stdout()),
      Effect.ensuring(ended)
    )
    if (seen !== null && !isJson) yield* writeError(`${summary(seen)}\n`)
  }, Effect.scoped)
).pipe(
  Command.withDescription("Send a prompt to a model and stream its answer"),
  Command.withExamples([
    { command: "tollgate chat --model mock/echo 'Hello, tollgate'" },
    { command: "tollgate chat --max-tokens 200 < question.txt", description: "The prompt from a file" }
  ])
)
