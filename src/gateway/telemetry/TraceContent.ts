/**
 * Records prompts and replies in traces, on the span of the call that answered and in the form of
 * OpenTelemetry's conventions for generative AI. An answer of the gateway's cache has no such span.
 * Off unless a setting enables it. The text is masked like an outgoing request, whatever the
 * privacy mode, and truncated before it is searched. Text that could not be searched in time is
 * left out.
 */
import { Effect, Predicate } from "effect"
import { type Batches } from "../../domain/runtime/Batches.ts"
import { type ChatMessage, type ChatReply, type Members, type ReplyChoice } from "../../domain/Chat.ts"
import { parseJson } from "../../domain/json/Json.ts"
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
  readonly events: (events: Batches<CompletionEvent>) => Batches<CompletionEvent>
}

/** Null: recording is off. The libraries of the search are loaded at the first prompt. */
export const makeTraceContent: Effect.Effect<((trace: RequestTrace) => TraceContent) | null> = Effect.gen(function* () {
  if (!(yield* Tracing).capturesContent) return null
  const scanner = yield* Effect.cached(Effect.uninterruptible(makeScanner([])))

  const inTurns = yield* makeInTurns

  const record = Effect.fnUntraced(function* (
    trace: RequestTrace,
    attribute: string,
    messages: ReadonlyArray<ChatMessage | Finished>,
    isClear: boolean
  ) {
    const { isTruncated, recorded } = truncated(messages)
    const scan = yield* scanner
    const masked = isClear
      ? { recorded }
      : (yield* inTurns((budget) => mask({ recorded }, scan, wanted, budget)))?.value
    if (masked === undefined) return
    const whole = isTruncated ? withoutTruncatedEnd(masked.recorded) : masked.recorded
    trace.annotateAnswer(attribute, beginningOf(JSON.stringify(whole)))
  })

  return (trace: RequestTrace): TraceContent => {
    const reply = ({ choices }: ChatReply) =>
      record(
        trace,
        "gen_ai.output.messages",
        choices.map(({ finish_reason, message }) => ({ ...message, finish_reason })),
        false
      )
    return {
      prompt: (messages, isClear) => record(trace, "gen_ai.input.messages", messages, isClear),
      reply,
      events: (events) => {
        const builder = new ReplyAssembler()
        return events.through<CompletionEvent, never, never>(
          (batch) => {
            for (const event of batch) {
              if (event._tag === "Choices") builder.add(event)
              else if (event._tag === "Usage") builder.add({ _tag: "End", usage: null, systemFingerprint: null })
            }
            return batch
          },
          (end) => {
            const built = builder.build()
            return built === null ? Effect.fail(end) : Effect.andThen(reply(built), Effect.fail(end))
          }
        )
      }
    }
  }
})

/**
 * At most `LONGEST_CHARACTERS`. They are copied: a slice would keep the whole text in memory while
 * the span waits to be sent.
 */
const beginningOf = (text: string): string =>
  text.length <= LONGEST_CHARACTERS ? text : Buffer.from(text.slice(0, LONGEST_CHARACTERS)).toString()

/** A message of a reply. */
type Finished = ReplyChoice["message"] & Pick<ReplyChoice, "finish_reason">

interface Part extends Members {
  readonly type: string
}

interface RecordedMessage {
  readonly role: string
  readonly parts: ReadonlyArray<Part>
  /** Of a reply's message. The convention demands one. */
  readonly finish_reason?: string
}

/**
 * The recorded form of messages: at most `LONGEST_CHARACTERS` of their texts. Parts that are not
 * text (images, audio) are only named.
 */
const truncated = (
  messages: ReadonlyArray<ChatMessage | Finished>
): { readonly recorded: ReadonlyArray<RecordedMessage>; readonly isTruncated: boolean } => {
  const recorded: Array<RecordedMessage> = []
  let left = LONGEST_CHARACTERS
  const short = (text: unknown): string => {
    if (typeof text !== "string") return ""
    const kept = text.slice(0, Math.max(0, left))
    left -= text.length
    return kept
  }
  /** What a tool is called with: the value, or the beginning of its text. */
  const argumentsOf = (text: unknown): unknown =>
    typeof text === "string" && text.length <= left ? (parseJson(short(text)) ?? text) : short(text)
  function* partsOf(message: ChatMessage | Finished): Generator<Part> {
    const { content } = message
    if (typeof message.reasoning === "string") yield { type: "reasoning", content: short(message.reasoning) }
    if (message.role === "tool") {
      const texts = typeof content === "string" ? [content] : (content ?? []).map(({ text }) => text)
      yield { type: "tool_call_response", id: message["tool_call_id"], response: texts.map(short).join("\n") }
      return
    }
    if (typeof content === "string" && content !== "") yield { type: "text", content: short(content) }
    for (const { text, type } of typeof content === "string" ? [] : (content ?? [])) {
      yield type === "text" ? { type, content: short(text) } : { type: String(type).slice(0, LONGEST_TYPE) }
    }
    for (const call of message.tool_calls ?? []) {
      const called = Predicate.isObject(call["function"]) ? call["function"] : call["custom"]
      if (!Predicate.isObject(called)) continue
      const { arguments: text, input, name }: Members = called
      yield { type: "tool_call", id: call["id"], name, arguments: argumentsOf(text ?? input) }
    }
  }
  for (const message of messages) {
    const parts: Array<Part> = []
    for (const part of partsOf(message)) {
      parts.push(part)
      left -= PART_CHARACTERS
      if (left <= 0) break
    }
    const finish = "finish_reason" in message ? { finish_reason: finishReason(message.finish_reason) } : {}
    recorded.push({ role: message.role, parts, ...finish })
    if (left <= 0) return { recorded, isTruncated: true }
  }
  return { recorded, isTruncated: false }
}

/** The convention's word. */
const finishReason = (reason: unknown): string =>
  reason === "tool_calls" || reason === "function_call" ? "tool_call" : typeof reason === "string" ? reason : "error"

const LONGEST_TYPE = 64
/** Least size that a part counts as. */
const PART_CHARACTERS = 16

/**
 * Drops the end of the last text, where a truncated value may be that the search cannot recognise.
 */
const withoutTruncatedEnd = (recorded: ReadonlyArray<RecordedMessage>): ReadonlyArray<RecordedMessage> =>
  recorded.map((message, at) =>
    at < recorded.length - 1
      ? message
      : {
          ...message,
          parts: message.parts.map((part, index) => (index < message.parts.length - 1 ? part : withoutEnd(part)))
        }
  )

const withoutEnd = (part: Part): Part => {
  const shortened = { ...part }
  for (const name of ["content", "response", "arguments"]) {
    const text = part[name]
    if (typeof text === "string") Object.assign(shortened, { [name]: text.slice(0, -CUT_CHARACTERS) })
  }
  return shortened
}
