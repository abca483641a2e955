/**
 * Encodes a completion's events as Server-Sent Events, in the form of a writer. Fifteen seconds of
 * silence are filled, so that proxies keep the connection. Encoding cannot fail.
 */
import { Cause, Channel, Effect, type Pull, Scope, Stream } from "effect"
import { type Batch, type Batches } from "../../domain/runtime/Batches.ts"
import { type Deadlines } from "../../domain/runtime/Deadlines.ts"
import { type CompletionEvent } from "../../gateway/request/Answer.ts"

/** A silence of this length is filled. */
export const SILENCE_MS = 15_000

/** Writes the events of one stream as text, and remembers what it needs. */
export interface EventWriter {
  /** Empty: the event is held back, or says nothing in this form. */
  readonly write: (event: CompletionEvent) => string
  /**
   * What follows the text of `write` and takes time, such as an event that tells what was stored.
   * Null: there is none.
   */
  readonly later?: () => Effect.Effect<string> | null
  /** The last text. Empty: there is none. */
  readonly end: () => string
}

/**
 * The bytes of one stream's events. The server pulls them as the client reads: when the connection
 * is full, the pulling stops, and so does the reading from the provider. `silences` are deadlines
 * for the next text that fills a silence, such as a comment. `stalls` are deadlines for a client
 * that reads nothing: when one passes, the request is interrupted, which closes the connection and
 * the provider's.
 */
export const makeEncode =
  (silences: Deadlines, stalls: Deadlines) =>
  (
    writer: EventWriter,
    events: Batches<CompletionEvent>,
    keepAlive: () => string,
    comment: (text: () => string) => void
  ): Stream.Stream<Uint8Array> =>
    releasing((scope) =>
      Effect.withFiber((fiber) => {
        const silence = silences.begin(() => {
          comment(keepAlive)
          silence.restart()
        })
        const stall = stalls.begin(() => fiber.interruptUnsafe())
        let isWhole = false
        /** Hands a chunk to the server, which writes it before it pulls again. */
        const handOver = (text: string): readonly [Uint8Array] => {
          silence.pause()
          stall.restart()
          return [Buffer.from(text)]
        }
        // A defect ends the connection without the writer's end, so that a broken stream never
        // looks complete.
        const encoded = events.through<Uint8Array, never, never>(
          (batch) => {
            let text = ""
            for (const event of batch) text += writer.write(event)
            const later = writer.later?.() ?? null
            if (later !== null) {
              silence.pause()
              return Effect.map(later, (more) => handOver(text + more))
            }
            // Held back: the next events bring it.
            return text === "" ? null : handOver(text)
          },
          (done) => {
            isWhole = true
            const end = writer.end()
            return end === "" ? Effect.fail(done) : Effect.succeed(handOver(end))
          }
        )
        const next: Pull.Pull<Batch<Uint8Array>> = Effect.suspend(() => {
          stall.pause()
          if (isWhole) return Cause.done()
          silence.restart()
          return encoded.next()
        })
        const end = Effect.sync(() => {
          silence.end()
          stall.end()
        })
        return Effect.as(Scope.addFinalizer(scope, end), next)
      })
    )

/**
 * A stream that lets go of `open` when its scope closes. V8 keeps a channel's function, and what it
 * holds, until the next full collection.
 */
const releasing = <A>(open: (scope: Scope.Scope) => Effect.Effect<Pull.Pull<Batch<A>>>): Stream.Stream<A> => {
  let held: typeof open | null = open
  return Stream.fromChannel(
    Channel.fromTransform((_, scope) =>
      Effect.andThen(
        Scope.addFinalizer(
          scope,
          Effect.sync(() => (held = null))
        ),
        Effect.suspend(() => held?.(scope) ?? Effect.succeed(Cause.done()))
      )
    )
  )
}
