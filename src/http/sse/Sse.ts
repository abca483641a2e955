/**
 * Encodes a completion's events as Server-Sent Events. Every chunk has the same id, time, model and
 * provider. Each choice has one role and one finish reason. The usage chunk and `[DONE]` come last,
 * also after a failure. Fifteen seconds of silence are filled with a comment, so that proxies keep
 * the connection. Encoding cannot fail.
 */
import { Cause, Effect, Pull, Scope, Stream } from "effect"
import { type ChoiceDelta } from "../../domain/Chat.ts"
import { type CompletionEvent, type Head } from "../../gateway/request/Answer.ts"
import { type Deadlines } from "../../domain/Deadlines.ts"
import { errorBody } from "../errors/ErrorResponse.ts"

/** A comment is sent after this much silence. */
export const SILENCE_MS = 15_000
const keepAlive = ": keep-alive\n\n"
const done = "data: [DONE]\n\n"

/** Writes the events of one stream as text, and remembers the members that must appear once. */
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
    // A finish reason is the last chunk of its choice.
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
 * The bytes of one stream's events. The server pulls them as the client reads: when the connection
 * is full, the pulling stops, and so does the reading from the provider. `silences` are deadlines
 * for the next comment. `stalls` are deadlines for a client that reads nothing: when one passes,
 * the request is interrupted, which closes the connection and the provider's.
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
        /** Hands a chunk to the server, which writes it before it pulls again. */
        const handOver = (text: string): readonly [Uint8Array] => {
          silence.end()
          stall.restart()
          return [Buffer.from(text)]
        }
        // A defect ends the connection without `[DONE]`, so that a broken stream never looks
        // complete.
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
