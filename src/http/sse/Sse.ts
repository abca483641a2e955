/**
 * A completion's events as the bytes of Server-Sent Events (contract §4). Every chunk bears the same id, time, model and provider; a
 * choice's role comes once and its finish reason once; the usage chunk and `[DONE]` come last, also after a failure. A silence of
 * fifteen seconds is filled with a comment, so that no proxy takes the connection for dead. It cannot fail.
 */
import { Cause, Effect, Pull, Scope, Stream } from "effect"
import { type ChoiceDelta } from "../../domain/Chat.ts"
import { type CompletionEvent, type Head } from "../../gateway/request/Answer.ts"
import { type Deadlines } from "../../domain/Deadlines.ts"
import { errorBody } from "../errors/ErrorResponse.ts"

/** After so long without a word a comment is due. */
export const SILENCE_MS = 15_000
const keepAlive = ": keep-alive\n\n"
const done = "data: [DONE]\n\n"

/** The events of one stream as text; keeps what must come once. */
export class ChunkWriter {
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

/**
 * The bytes of one stream's events. The server pulls them as the client reads: a full connection stops the pulling, and
 * with it the provider. `silences`: of the length after which a comment is due. `stalls`: of the length for which a
 * client may take nothing; then its request is interrupted, which ends the connection and the provider's.
 */
export const makeEncode =
  (silences: Deadlines, stalls: Deadlines) =>
  (
    head: Head,
    events: Stream.Stream<CompletionEvent>,
    requestId: string,
    comment: (text: string) => void
  ): Stream.Stream<Uint8Array> =>
    Stream.transformPull(events, (pull, scope) =>
      Effect.withFiber((fiber) => {
        const chunks = new ChunkWriter(head, requestId)
        const silence = silences.begin(() => {
          comment(keepAlive)
          silence.restart()
        })
        const stall = stalls.begin(() => fiber.interruptUnsafe())
        let isWhole = false
        /** The server has what it asked for, and writes it until it asks again. */
        const handOver = (text: string): readonly [Uint8Array] => {
          silence.end()
          stall.restart()
          return [Buffer.from(text)]
        }
        // A defect on the way ends the connection without `[DONE]`: a broken stream must not look like a whole one.
        const encoded: Pull.Pull<readonly [Uint8Array]> = Pull.catchDone(
          Effect.map(pull, (batch) => {
            let text = ""
            for (const event of batch) text += chunks.write(event)
            return handOver(text)
          }),
          () => {
            isWhole = true
            return Effect.sync(() => handOver(done))
          }
        )
        const next: Pull.Pull<readonly [Uint8Array]> = Effect.suspend(() => {
          stall.end()
          if (isWhole) return Cause.done()
          silence.restart()
          return encoded
        })
        const end = Effect.sync(() => {
          silence.end()
          stall.end()
        })
        return Effect.as(Scope.addFinalizer(scope, end), next)
      })
    )
