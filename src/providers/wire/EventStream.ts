/**
 * A provider's reply as a stream of chat events, whatever the dialect: packets are framed, a reader makes events of the
 * frames, and what a packet said before the stream broke goes out before the failure does. It promises one `End` as the
 * last event of a whole stream and none of one that ended early.
 */
import { type NonEmptyReadonlyArray, isReadonlyArrayNonEmpty } from "effect/Array"
import { Cause, Effect, type Pull, type Scope, Stream } from "effect"
import { carriesToken, type ChatEvent, type ChatReply } from "../../domain/Chat.ts"
import { decodeChat, type Refusals, refused } from "./Decode.ts"
import { SseFrames } from "./SseFrames.ts"
import { headerOf } from "../transport/Headers.ts"
import { Cut, Malformed, type ProviderError, type ProviderReason, type Rejected, TooLarge } from "../Provider.ts"
import { type Endpoint, type OpenReply, WHOLE_LIMIT_BYTES } from "../transport/Transport.ts"
import { type JsonRecord } from "./Json.ts"
import { saysWords, wordless } from "./Words.ts"

const ERROR_LIMIT_BYTES = 64 * 1024

/** What a dialect makes of one stream, frame after frame. */
export interface StreamReader {
  /** What one frame says, appended to `out`; a reason when it says that the provider failed, `Malformed` when it makes no sense. */
  readonly step: (frame: string, out: Array<ChatEvent>) => ProviderReason | null
  /** Whether the terminator came. */
  readonly isDone: () => boolean
  /** Whether a stream without its terminator said all that counts: it ended by itself, or its connection `broke`. */
  readonly isComplete: (broke: boolean) => boolean
  /** The last events of a whole stream. */
  readonly close: () => ReadonlyArray<ChatEvent> | Malformed
}

/** Packets to frames; what is left comes out at the end. */
export interface Frames {
  readonly feed: (chunk: Buffer) => ReadonlyArray<string> | Malformed | TooLarge
  readonly end: () => ReadonlyArray<string> | Malformed | TooLarge
}

export interface Streaming {
  readonly makeReader: () => StreamReader
  /** How to read a whole reply that comes instead of a stream. */
  readonly readWhole: (body: JsonRecord) => ChatReply | Malformed | Rejected
  /** What a stream fails with that breaks. */
  readonly fault: (reason: ProviderReason) => ProviderError
  /** Server-sent events unless given. */
  readonly makeFrames?: () => Frames
  /** The common ones unless given. */
  readonly refusals?: Refusals
}

/** Posts `body` and answers its stream once the status is good. Closing the scope aborts the call. */
export const openStream = Effect.fnUntraced(function* (
  endpoint: Endpoint,
  body: string,
  { fault, makeFrames, makeReader, readWhole, refusals }: Streaming
): Effect.fn.Return<Stream.Stream<ChatEvent, ProviderError>, ProviderReason, Scope.Scope> {
  const reply = yield* endpoint.open(body)
  const { headers, status } = reply
  const type = headerOf(headers, "content-type") ?? ""
  if (status < 200 || status > 299) {
    const text = yield* Effect.orElseSucceed(reply.text(ERROR_LIMIT_BYTES), () => "")
    return yield* refused({ status, headers, text }, refusals)
  }
  if (type.includes("html")) return yield* Effect.fail(new Malformed({ detail: "HTML" }))
  if (type.includes("json")) {
    const text = yield* reply.text(WHOLE_LIMIT_BYTES)
    return Stream.fromArray(asStream(yield* decodeChat({ status, headers, text }, readWhole, refusals)))
  }
  return Stream.fromPull(Effect.succeed(eventsOf(reply, makeReader(), makeFrames?.() ?? new SseFrames(), fault)))
})

const eventsOf = (
  reply: OpenReply,
  reader: StreamReader,
  frames: Frames,
  fault: Streaming["fault"]
): Pull.Pull<NonEmptyReadonlyArray<ChatEvent>, ProviderError> => {
  let failure: ProviderReason | null = null
  let over = false
  let said = false
  reply.progress("nothing")

  /** Tells the transport what came of what the provider is waited for: its tokens, and other events between them. */
  const progressed = (out: ReadonlyArray<ChatEvent>): void => {
    const says = out.some(saysWords)
    said ||= says
    reply.progress(out.length === 0 ? "nothing" : says || out.some(carriesToken) ? "token" : "event")
  }

  const take = (framed: ReadonlyArray<string> | Malformed | TooLarge, out: Array<ChatEvent>): void => {
    if (framed instanceof Malformed || framed instanceof TooLarge) failure ??= framed
    // Data without a character is a sign of life.
    else for (const frame of framed) if (frame !== "") failure ??= reader.step(frame, out)
  }
  const finish = (out: Array<ChatEvent>): void => {
    const last = reader.close()
    failure = last instanceof Malformed ? last : said || out.some(saysWords) ? null : wordlessEnd(last)
    if (!(last instanceof Malformed) && failure === null) out.push(...last)
    over = true
  }
  const answer = (out: Array<ChatEvent>) => (isReadonlyArrayNonEmpty(out) ? Effect.succeed(out) : pull)

  const read = Effect.matchEffect(reply.chunks, {
    onSuccess: (chunks) => {
      const out: Array<ChatEvent> = []
      if (chunks === null) {
        take(frames.end(), out)
        if (failure instanceof Malformed) failure = new Cut({ detail: "ended in the middle of an event" })
      } else for (const chunk of chunks) take(frames.feed(chunk), out)
      // Every choice asked for is whole: what cannot be read is usage or the terminator.
      if ((failure instanceof Malformed || failure instanceof Cut) && reader.isComplete(true)) finish(out)
      else if (failure === null) {
        if (reader.isDone() || (chunks === null && reader.isComplete(false))) finish(out)
        else if (chunks === null) failure = new Cut({ detail: "ended before its terminator" })
      }
      progressed(out)
      return reader.isDone()
        ? Effect.andThen(reply.drain, answer(out))
        : reader.isComplete(true)
          ? Effect.andThen(reply.hurry, answer(out))
          : answer(out)
    },
    onFailure: (reason) => {
      const out: Array<ChatEvent> = []
      // Every choice asked for is whole; only usage or the terminator is missing.
      if (reader.isComplete(true)) finish(out)
      else failure = reason
      return answer(out)
    }
  })
  const pull: Pull.Pull<NonEmptyReadonlyArray<ChatEvent>, ProviderError> = Effect.suspend(() => {
    if (failure !== null) return Effect.fail(fault(failure))
    return over ? Cause.done() : read
  })
  return pull
}

/** What is wrong with a stream that said nothing before its last events. */
const wordlessEnd = (last: ReadonlyArray<ChatEvent>): Malformed | null =>
  last.some(saysWords)
    ? null
    : wordless(
        last.flatMap((event) => (event._tag === "End" ? [] : event.choices.map((choice) => choice.finish_reason))),
        last.find((event) => event._tag === "End")?.usage
      )

/** A whole reply as the stream that was asked for. */
const asStream = ({ choices, systemFingerprint, usage }: ChatReply): ReadonlyArray<ChatEvent> => [
  {
    _tag: "Choices",
    choices: choices.map(({ message: { tool_calls, ...message }, ...choice }) => ({
      ...choice,
      delta: {
        ...message,
        ...(tool_calls === undefined ? {} : { tool_calls: tool_calls.map((call, index) => ({ ...call, index })) })
      },
      finish_reason: choice.finish_reason ?? "stop"
    }))
  },
  { _tag: "End", usage, systemFingerprint }
]
