/**
 * Decodes the events of a streamed answer. A stream that succeeds was complete: without its last
 * event it fails with `CutOff`. A stream with an error in it emits its remaining events, which
 * include the usage, and then fails with that error.
 */
import { Effect, type Schema, Stream } from "effect"
import { makeParser } from "effect/encoding/Sse"
import { type ErrorBody } from "../api/Failure.ts"
import { BrokenOff, CutOff, TollgateError, Unexpected, withoutRequest } from "./TollgateError.ts"

export interface StreamForm<Event> {
  readonly read: (data: string, requestId: string) => Effect.Effect<ReadEvent<Event>, Schema.SchemaError>
  /** The name of the last event. */
  readonly end: string
}

export interface ReadEvent<Event> {
  /** Null: it is not emitted. */
  readonly event: Event | null
  readonly isEnd?: boolean
  /** The stream ends with this error. */
  readonly failure?: ErrorBody
}

const cutOff = (cause: unknown) => new TollgateError({ reason: new CutOff({ cause: withoutRequest(cause) }) })
const unexpected = (cause: unknown) => new TollgateError({ reason: new Unexpected({ status: 200, cause }) })

/** `bytes`: the body of an answer with status 200. */
export const events = <Event, E>(
  { end, read }: StreamForm<Event>,
  bytes: Stream.Stream<Uint8Array, E>,
  requestId: string
): Stream.Stream<Event, TollgateError> =>
  Stream.suspend(() => {
    let data: Array<string> = []
    let isDone = false
    let failure: ErrorBody | null = null
    const parser = makeParser((event) => {
      if (event._tag === "Event") data.push(event.data)
    })

    const decodeText = (text: string) => {
      const tooLarge = parser.feed(text)
      if (tooLarge !== undefined) return Effect.fail(unexpected(tooLarge))
      const texts = data
      data = []
      return Effect.forEach(texts, eventOf)
    }

    const eventOf = Effect.fnUntraced(function* (text: string) {
      const found = yield* Effect.mapError(read(text, requestId), unexpected)
      if (found.isEnd === true) isDone = true
      if (found.failure !== undefined) ({ failure } = found)
      return found.event === null ? [] : [found.event]
    })

    const ending = Effect.suspend(() => {
      if (failure !== null) return Effect.fail(new TollgateError({ reason: new BrokenOff({ error: failure }) }))
      return isDone ? Effect.void : Effect.fail(cutOff(`the stream ended without ${end}`))
    })

    return bytes.pipe(
      Stream.mapError(cutOff),
      Stream.decodeText,
      Stream.mapEffect(decodeText),
      Stream.flatMap((found) => Stream.fromIterable(found.flat())),
      Stream.concat(Stream.drain(Stream.fromEffect(ending)))
    )
  })
