/**
 * Prompts and answers in traces, for those who ask for them by a setting: masked like a request that leaves, whatever the privacy mode says,
 * and cut off at a bound. Text that could not be searched in time is left out. By default there is none of this.
 */
import { Clock, Effect, Stream } from "effect"
import { type ChatMessage, type ChatReply } from "../domain/Chat.ts"
import { allEntities } from "../domain/Privacy.ts"
import { Tracing } from "../domain/Tracing.ts"
import { type CompletionEvent } from "./Closing.ts"
import { Budget } from "./privacy/Budget.ts"
import { mask } from "./privacy/Masking.ts"
import { makeScanner } from "./privacy/Scanner.ts"
import { mapMessages } from "./privacy/Texts.ts"
import { ReplyBuilder } from "./ReplyBuilder.ts"
import { type RequestTrace } from "./RequestTrace.ts"

const LONGEST_CHARACTERS = 65_536
const wanted: ReadonlySet<string> = new Set(allEntities)

/** What is recorded of one request. */
export interface TraceContent {
  readonly prompt: (messages: ReadonlyArray<ChatMessage>) => Effect.Effect<void>
  readonly reply: (reply: ChatReply) => Effect.Effect<void>
  /** The events as they are; the answer is recorded when they end. */
  readonly events: (events: Stream.Stream<CompletionEvent>) => Stream.Stream<CompletionEvent>
}

/** Null: nothing is recorded. The libraries of the search load when the first prompt is. */
export const makeTraceContent: Effect.Effect<((trace: RequestTrace) => TraceContent) | null> = Effect.gen(function* () {
  if (!(yield* Tracing).capturesContent) return null
  const scanner = yield* Effect.cached(Effect.uninterruptible(makeScanner([])))

  const record = Effect.fnUntraced(function* (
    trace: RequestTrace,
    attribute: string,
    messages: ReadonlyArray<ChatMessage>
  ) {
    const scan = yield* scanner
    const clock = yield* Clock.Clock
    const masked = mask(messages, mapMessages, scan, wanted, new Budget(() => clock.monotonicTimeNanosUnsafe()))
    if (masked === null) return
    const said = masked.value.map(({ content, role }) => ({ role, parts: partsOf(content) }))
    trace.span.attribute(attribute, JSON.stringify(said).slice(0, LONGEST_CHARACTERS))
  })

  return (trace: RequestTrace): TraceContent => {
    const reply = ({ choices }: ChatReply) =>
      record(
        trace,
        "gen_ai.output.messages",
        choices.map(({ message }) => ({ role: "assistant" as const, content: message.content ?? "" }))
      )
    return {
      prompt: (messages) => record(trace, "gen_ai.input.messages", messages),
      reply,
      events: (events) => {
        const builder = new ReplyBuilder()
        const end = Effect.suspend(() => {
          const built = builder.build()
          return built === null ? Effect.void : reply(built)
        })
        return events.pipe(
          Stream.map((event) => {
            if (event._tag === "Choices") builder.add(event)
            else if (event._tag === "Usage") builder.add({ _tag: "End", usage: null, systemFingerprint: null })
            return event
          }),
          Stream.concat(Stream.fromEffectDrain(end))
        )
      }
    }
  }
})

/** Parts that are no text (pictures, sounds) are named only. */
const partsOf = (content: ChatMessage["content"]): ReadonlyArray<Readonly<Record<string, unknown>>> => {
  if (typeof content === "string") return [{ type: "text", content }]
  return (content ?? []).map((part) =>
    part["type"] === "text" ? { type: "text", content: part["text"] } : { type: String(part["type"]) }
  )
}
