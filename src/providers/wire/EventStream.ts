/**
 * Turns a provider's reply into a stream of chat events, for every dialect. Packets become frames,
 * and the dialect's reader turns frames into events. Events received before a failure are emitted
 * before the failure. A complete stream ends with exactly one `End` event; a stream that breaks has
 * none.
 */
import { isReadonlyArrayNonEmpty } from "effect/Array"
import { Cause, Effect, type Scope } from "effect"
import { type Batch, Batches, type Reading } from "../../domain/runtime/Batches.ts"
import { type ChatEvent, type ChatReply } from "../../domain/Chat.ts"
import { carriesToken } from "../../domain/Native.ts"
import { decodeChat, type Refusals, failForStatus } from "./Decode.ts"
import { SseFrames } from "./SseFrames.ts"
import { headerOf } from "../transport/Headers.ts"
import { Cut, Malformed, type ProviderError, type ProviderReason, type Rejected, TooLarge } from "../Provider.ts"
import {
  type CallBody,
  type CallHeaders,
  type Endpoint,
  type OpenReply,
  WHOLE_LIMIT_BYTES
} from "../transport/Transport.ts"
import { type JsonRecord } from "./Json.ts"
import { bringsContent, emptyAnswer } from "./Words.ts"

const ERROR_LIMIT_BYTES = 64 * 1024

/** A dialect's reader of one stream, fed frame by frame. */
export interface StreamReader {
  /**
   * Appends the events of one frame to `out`. Returns a reason if the frame reports a provider
   * error, `Malformed` if it is invalid.
   */
  readonly step: (frame: string, out: Array<ChatEvent>) => ProviderReason | null
  /** True once the terminator has come. */
  readonly isDone: () => boolean
  /**
   * True if a stream without its terminator is complete in content. `broke`: the connection broke,
   * instead of ending regularly.
   */
  readonly isComplete: (broke: boolean) => boolean
  /** The last events of a complete stream. */
  readonly close: () => ReadonlyArray<ChatEvent> | Malformed
}

/** Splits packets into frames. `end` returns the rest. */
export interface Frames {
  readonly feed: (chunk: Buffer) => ReadonlyArray<string> | Malformed | TooLarge
  readonly end: () => ReadonlyArray<string> | Malformed | TooLarge
}

export interface Streaming {
  readonly makeReader: () => StreamReader
  /** Reads a whole reply that comes instead of a stream. */
  readonly readWhole: (body: JsonRecord) => ChatReply | Malformed | Rejected
  /** Builds the error of a stream that breaks. */
  readonly fault: (reason: ProviderReason) => ProviderError
  /** Time limit of the silence before the first token, in ms; undefined: the config's. */
  readonly firstTokenMs: number | undefined
  /** Those of this call. */
  readonly headers?: CallHeaders | undefined
  /** Default: server-sent events. */
  readonly makeFrames?: () => Frames
  /** Default: the common error mapping. */
  readonly refusals?: Refusals | undefined
}

/**
 * Posts `body` and returns the event stream once the status is 2xx. Closing the scope aborts the
 * call.
 */
export const openStream = (
  endpoint: Endpoint,
  body: CallBody,
  { fault, firstTokenMs, headers: callHeaders, makeFrames, makeReader, readWhole, refusals }: Streaming
): Effect.Effect<Batches<ChatEvent, ProviderError>, ProviderReason, Scope.Scope> =>
  Effect.flatMap(endpoint.open(body, firstTokenMs, callHeaders), (reply) => {
    const { headers, status } = reply
    const type = headerOf(headers, "content-type") ?? ""
    if (status < 200 || status > 299) {
      const text = Effect.orElseSucceed(reply.text(ERROR_LIMIT_BYTES), () => "")
      return Effect.flatMap(text, (text) => failForStatus({ status, headers, text }, refusals))
    }
    if (type.includes("html")) return Effect.fail(new Malformed({ detail: "HTML" }))
    if (type.includes("json")) {
      const whole = Effect.flatMap(reply.text(WHOLE_LIMIT_BYTES), (text) =>
        decodeChat({ status, headers, text }, readWhole, refusals)
      )
      return Effect.map(whole, (reply) => Batches.of(asStream(reply)))
    }
    return Effect.succeed(eventsOf(reply, makeReader(), makeFrames?.() ?? new SseFrames(), fault))
  })

const eventsOf = (
  reply: OpenReply,
  reader: StreamReader,
  frames: Frames,
  fault: Streaming["fault"]
): Batches<ChatEvent, ProviderError> => {
  let failure: ProviderReason | null = null
  let over = false
  let hasContent = false

  /** Tells the transport of tokens, for its time limits. */
  const reportProgress = (out: ReadonlyArray<ChatEvent>): void => {
    const isContent = out.some(bringsContent)
    hasContent ||= isContent
    if (isContent || out.some(carriesToken)) reply.sawToken()
  }

  const take = (framed: ReadonlyArray<string> | Malformed | TooLarge, out: Array<ChatEvent>): void => {
    if (framed instanceof Malformed || framed instanceof TooLarge) failure ??= framed
    // An event with empty data is a keep-alive.
    else for (const frame of framed) if (frame !== "") failure ??= reader.step(frame, out)
  }
  const finish = (out: Array<ChatEvent>): void => {
    const last = reader.close()
    failure = last instanceof Malformed ? last : hasContent || out.some(bringsContent) ? null : emptyEnd(last)
    if (!(last instanceof Malformed) && failure === null) out.push(...last)
    over = true
  }
  const end = (): Reading<ChatEvent, ProviderError> | null => {
    if (failure !== null) return Effect.fail(fault(failure))
    return over ? Cause.done() : null
  }
  const read = (): Batch<ChatEvent> | null => {
    const out: Array<ChatEvent> = []
    const taken = reply.take()
    if (taken !== null && "_tag" in taken) {
      // All requested choices are complete: only usage or the terminator is missing.
      if (reader.isComplete(true)) finish(out)
      else failure = taken
      return isReadonlyArrayNonEmpty(out) ? out : null
    }
    if (taken === null) {
      take(frames.end(), out)
      if (failure instanceof Malformed) failure = new Cut({ detail: "ended in the middle of an event" })
    } else for (const chunk of taken) take(frames.feed(chunk), out)
    // All requested choices are complete: the unreadable part is usage or the terminator.
    if ((failure instanceof Malformed || failure instanceof Cut) && reader.isComplete(true)) finish(out)
    else if (failure === null) {
      if (reader.isDone() || (taken === null && reader.isComplete(false))) finish(out)
      else if (taken === null) failure = new Cut({ detail: "ended before its terminator" })
    }
    reportProgress(out)
    if (reader.isDone()) reply.drain()
    else if (reader.isComplete(true)) reply.hurry()
    return isReadonlyArrayNonEmpty(out) ? out : null
  }
  return new Batches(
    () => (failure !== null || over ? Effect.void : reply.arrived),
    () => end() ?? read()
  )
}

/** The failure of a stream without content before its last events, or null. */
const emptyEnd = (last: ReadonlyArray<ChatEvent>): Malformed | null =>
  last.some(bringsContent)
    ? null
    : emptyAnswer(
        last.flatMap((event) => (event._tag === "End" ? [] : event.choices.map((choice) => choice.finish_reason))),
        last.find((event) => event._tag === "End")?.usage
      )

/** A whole reply as the events of the stream that was asked for. */
const asStream = ({ choices, extra, native: _native, ...end }: ChatReply): Batch<ChatEvent> => [
  {
    _tag: "Choices",
    ...(extra === undefined ? {} : { extra }),
    choices: choices.map(({ message: { tool_calls, ...message }, ...choice }) => ({
      ...choice,
      delta: {
        ...message,
        ...(tool_calls === undefined ? {} : { tool_calls: tool_calls.map((call, index) => ({ ...call, index })) })
      },
      finish_reason: choice.finish_reason ?? "stop"
    }))
  },
  { _tag: "End", ...end }
]
