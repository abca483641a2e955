/**
 * Decodes the chunks of a streamed answer. A stream that succeeds was complete: without `[DONE]` it
 * fails with `CutOff`. A stream with an error in it emits its remaining chunks, which include the
 * usage, and then fails with that error.
 */
import { Effect, Schema, Stream } from "effect"
import { makeParser } from "effect/encoding/Sse"
import { ErrorBody } from "../api/Failure.ts"
import { ChatChunk } from "../domain/Chat.ts"
import { BrokenOff, CutOff, TollgateError, Unexpected, withoutRequest } from "./TollgateError.ts"

export type Chunk = typeof ChatChunk.Type

const decodeChunk = Schema.decodeUnknownEffect(Schema.fromJsonString(ChatChunk))
const decodeError = Schema.decodeUnknownEffect(ErrorBody)

const cutOff = (cause: unknown) => new TollgateError({ reason: new CutOff({ cause: withoutRequest(cause) }) })
const unexpected = (cause: unknown) => new TollgateError({ reason: new Unexpected({ status: 200, cause }) })

/** `bytes`: the body of an answer with status 200. */
export const chunks = <E>(bytes: Stream.Stream<Uint8Array, E>): Stream.Stream<Chunk, TollgateError> =>
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
      const events = data
      data = []
      return Effect.forEach(events, chunkOf)
    }

    const chunkOf = Effect.fnUntraced(function* (event: string) {
      if (event === "[DONE]") {
        isDone = true
        return []
      }
      const chunk = yield* Effect.mapError(decodeChunk(event), unexpected)
      if (chunk.error !== undefined) failure = yield* Effect.mapError(decodeError(chunk.error), unexpected)
      return [chunk]
    })

    const ending = Effect.suspend(() => {
      if (failure !== null) return Effect.fail(new TollgateError({ reason: new BrokenOff({ error: failure }) }))
      return isDone ? Effect.void : Effect.fail(cutOff("the stream ended without [DONE]"))
    })

    return bytes.pipe(
      Stream.mapError(cutOff),
      Stream.decodeText,
      Stream.mapEffect(decodeText),
      Stream.flatMap((read) => Stream.fromIterable(read.flat())),
      Stream.concat(Stream.drain(Stream.fromEffect(ending)))
    )
  })
