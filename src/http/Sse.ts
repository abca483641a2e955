/**
 * A completion's events as the bytes of Server-Sent Events (contract §4). Every chunk bears the same id, time, model and provider; a
 * choice's role comes once and its finish reason once; the usage chunk and `[DONE]` come last, also after a failure. A silence of
 * fifteen seconds is filled with a comment, so that no proxy takes the connection for dead. It cannot fail.
 */
import { type Cause, Effect, type Fiber, Stream } from "effect"
import { type ChoiceDelta } from "../domain/Chat.ts"
import { type CompletionEvent } from "../gateway/Closing.ts"
import { type Head } from "../gateway/Completion.ts"
import { type Deadlines } from "../domain/Deadlines.ts"
import { errorBody } from "./Failure.ts"

/** After so long without a word a comment is due. */
export const SILENCE_MS = 15_000
const keepAlive = ": keep-alive\n\n"
const done = "data: [DONE]\n\n"

/** The events of one stream as text; keeps what must come once. */
class ChunkWriter {
  readonly #open: string
  readonly #head: Head
  readonly #requestId: string
  readonly #roles = new Set<number>()
  readonly #finished = new Set<number>()

  constructor(head: Head, requestId: string) {
    this.#head = head
    this.#requestId = requestId
    const created = Math.floor(head.createdAtMs / 1000)
    const { completionId: id, model, provider } = head
    const members = JSON.stringify({ id, object: "chat.completion.chunk", created, model, provider })
    this.#open = `data: ${members.slice(0, -1)}`
  }

  write(event: CompletionEvent): string {
    switch (event._tag) {
      case "Choices": {
        let text = ""
        for (const choice of event.choices) text += this.#choice(choice)
        return text
      }
      case "Failed": {
        const error = JSON.stringify(errorBody(event.error, this.#requestId))
        return `${this.#open},"choices":[{"index":0,"delta":{},"finish_reason":"error"}],"error":${error}}\n\n`
      }
      case "Usage": {
        const { cacheHit, generationId } = this.#head
        const usage = JSON.stringify(event.usage)
        return `${this.#open},"choices":[],"usage":${usage},"cache_hit":${cacheHit},"generation_id":${JSON.stringify(generationId)}}\n\n`
      }
    }
  }

  #choice(choice: ChoiceDelta): string {
    // Nothing follows a choice's finish reason.
    if (this.#finished.has(choice.index)) return ""
    const { delta: sent, finish_reason: finishReason, index, ...rest } = choice
    const { role: _, ...members } = sent
    const delta = this.#roles.has(index) ? members : { role: "assistant", ...members }
    this.#roles.add(index)
    if (finishReason !== null) this.#finished.add(index)
    return `${this.#open},"choices":[${JSON.stringify({ index, delta, ...rest, finish_reason: finishReason })}]}\n\n`
  }
}

/** `silences`: of the length after which a comment is due. */
export const makeEncode =
  (silences: Deadlines) =>
  (head: Head, events: Stream.Stream<CompletionEvent>, requestId: string): Stream.Stream<Uint8Array> => {
    const writer = new ChunkWriter(head, requestId)
    return events.pipe(
      // A defect on the way ends the connection without `[DONE]`: what is no clean end must not look like one.
      Stream.mapArray((chunk) => [chunk.map((event) => writer.write(event)).join("")]),
      Stream.concat(Stream.succeed(done)),
      withKeepAlive(silences),
      Stream.encodeText
    )
  }

type Texts = readonly [string, ...Array<string>]

/** Puts a comment into every silence. The pull that is waited for goes on in a fiber of its own meanwhile. */
const withKeepAlive =
  (silences: Deadlines) =>
  (stream: Stream.Stream<string>): Stream.Stream<string> =>
    Stream.transformPull(stream, (pull, scope) => {
      let pending: Fiber.Fiber<Texts, Cause.Done> | null = null
      const awaited = (fiber: Fiber.Fiber<Texts, Cause.Done>) =>
        Effect.callback<Texts, Cause.Done>((resume) => {
          const heard = silences.begin(() => {
            unobserve()
            resume(Effect.succeed([keepAlive]))
          })
          const unobserve = fiber.addObserver((exit) => {
            heard()
            pending = null
            resume(exit)
          })
          return Effect.sync(() => {
            heard()
            unobserve()
          })
        })
      return Effect.succeed(
        Effect.suspend(() =>
          pending === null
            ? Effect.flatMap(Effect.forkIn(pull, scope, { startImmediately: true }), (fiber) => {
                pending = fiber
                return awaited(fiber)
              })
            : awaited(pending)
        )
      )
    })
