/**
 * Records prompts and replies in traces. Off unless a setting enables it. The text is masked like
 * an outgoing request, whatever the privacy mode, and truncated before it is searched. Text that
 * could not be searched in time is left out.
 */
import { Effect, Stream } from "effect"
import { type ChatMessage, type ChatReply } from "../../domain/Chat.ts"
import { allEntities } from "../../domain/Privacy.ts"
import { Tracing } from "../../domain/Tracing.ts"
import { type CompletionEvent } from "../request/Answer.ts"
import { makeInTurns } from "../privacy/TimeBudget.ts"
import { mask } from "../privacy/Masking.ts"
import { makeScanner } from "../privacy/Scanner.ts"
import { ReplyAssembler } from "../reply/ReplyAssembler.ts"
import { type RequestTrace } from "./RequestTrace.ts"

const LONGEST_CHARACTERS = 65_536
/**
 * A value that the truncation cuts begins at most this far before the cut, unless enough of it is
 * left to be found.
 */
const CUT_CHARACTERS = 512
const wanted: ReadonlySet<string> = new Set(allEntities)

/** Records the content of one request. */
export interface TraceContent {
  /** `isClear`: the guard has searched it for all entities, so it is not searched again. */
  readonly prompt: (messages: ReadonlyArray<ChatMessage>, isClear: boolean) => Effect.Effect<void>
  readonly reply: (reply: ChatReply) => Effect.Effect<void>
  /** Passes the events on unchanged and records the reply when they end. */
  readonly events: (events: Stream.Stream<CompletionEvent>) => Stream.Stream<CompletionEvent>
}

/** Null: recording is off. The libraries of the search are loaded at the first prompt. */
export const makeTraceContent: Effect.Effect<((trace: RequestTrace) => TraceContent) | null> = Effect.gen(function* () {
  if (!(yield* Tracing).capturesContent) return null
  const scanner = yield* Effect.cached(Effect.uninterruptible(makeScanner([])))

  const inTurns = yield* makeInTurns

  const record = Effect.fnUntraced(function* (
    trace: RequestTrace,
    attribute: string,
    messages: ReadonlyArray<ChatMessage>,
    isClear: boolean
  ) {
    const { isTruncated, recorded } = truncated(messages)
    const scan = yield* scanner
    const masked = isClear
      ? { recorded }
      : (yield* inTurns((budget) => mask({ recorded }, scan, wanted, budget)))?.value
    if (masked === undefined) return
    const whole = isTruncated ? withoutTruncatedEnd(masked.recorded) : masked.recorded
    trace.span.attribute(attribute, JSON.stringify(whole).slice(0, LONGEST_CHARACTERS))
  })

  return (trace: RequestTrace): TraceContent => {
    const reply = ({ choices }: ChatReply) =>
      record(
        trace,
        "gen_ai.output.messages",
        choices.map(({ message }) => ({ role: "assistant" as const, content: message.content ?? "" })),
        false
      )
    return {
      prompt: (messages, isClear) => record(trace, "gen_ai.input.messages", messages, isClear),
      reply,
      events: (events) => {
        const builder = new ReplyAssembler()
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

interface Part {
  readonly type: string
  readonly content?: string
}
type RecordedMessages = ReadonlyArray<{ readonly role: string; readonly parts: ReadonlyArray<Part> }>

/**
 * The recorded form of messages: at most `LONGEST_CHARACTERS` of their texts. Parts that are not
 * text (images, audio) are only named.
 */
const truncated = (
  messages: ReadonlyArray<ChatMessage>
): { readonly recorded: RecordedMessages; readonly isTruncated: boolean } => {
  const recorded: Array<RecordedMessages[number]> = []
  let left = LONGEST_CHARACTERS
  const part = (type: string, text: unknown): Part => {
    if (type !== "text" || typeof text !== "string") return { type }
    const content = text.slice(0, left)
    left -= text.length
    return { type, content }
  }
  for (const { content, role } of messages) {
    const given = typeof content === "string" ? [{ type: "text", text: content }] : (content ?? [])
    const parts: Array<Part> = []
    for (const { text, type } of given) {
      parts.push(part(String(type).slice(0, LONGEST_TYPE), text))
      left -= PART_CHARACTERS
      if (left <= 0) break
    }
    recorded.push({ role, parts })
    if (left <= 0) return { recorded, isTruncated: true }
  }
  return { recorded, isTruncated: false }
}

const LONGEST_TYPE = 64
/** Least size that a part counts as. */
const PART_CHARACTERS = 16

/**
 * Drops the end of the last text, where a truncated value may be that the search cannot recognise.
 */
const withoutTruncatedEnd = (recorded: RecordedMessages): RecordedMessages =>
  recorded.map((message, at) =>
    at < recorded.length - 1
      ? message
      : {
          ...message,
          parts: message.parts.map((part, index) =>
            index < message.parts.length - 1 || part.content === undefined
              ? part
              : { ...part, content: part.content.slice(0, -CUT_CHARACTERS) }
          )
        }
  )
