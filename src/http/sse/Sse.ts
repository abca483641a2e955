/**
 * Encodes a completion's events as Server-Sent Events. Every chunk has the same id, time, model and
 * provider. Each choice has one role and one finish reason. The usage and `[DONE]` come last, also
 * after a failure. Fifteen seconds of silence are filled with a comment, so that proxies keep
 * the connection. Encoding cannot fail.
 */
import { Cause, Effect, Pull, Scope, Stream } from "effect"
import { type ChoiceDelta, type Members } from "../../domain/Chat.ts"
import { type CompletionEvent, type Head } from "../../gateway/request/Answer.ts"
import { type Deadlines } from "../../domain/Deadlines.ts"
import { errorBody } from "../errors/ErrorResponse.ts"

/** A comment is sent after this much silence. */
export const SILENCE_MS = 15_000
const keepAlive = ": keep-alive\n\n"
const done = "data: [DONE]\n\n"

/**
 * Writes the events of one stream as text, and remembers the members that must appear once. Unless
 * the client asked for a chunk of usage, the usage goes into the last chunk that has a choice: from
 * the first finish reason on, the newest chunk is held back.
 */
export class ChunkWriter {
  readonly #open: string
  readonly #head: Head
  readonly #requestId: string
  readonly #includesUsage: boolean
  /** The newest chunk, without its end. */
  #held: string | null = null
  readonly #roles = new Set<number>()
  readonly #finished = new Set<number>()

  /** `includesUsage`: the client asked for a last chunk without choices. */
  constructor(head: Head, requestId: string, includesUsage: boolean) {
    this.#includesUsage = includesUsage
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
        let extra = membersOf(event.extra)
        for (const choice of event.choices) {
          text += this.#choice(choice, extra)
          extra = ""
        }
        return text
      }
      case "Failed": {
        const error = JSON.stringify(errorBody(event.error, this.#requestId))
        return this.#chunk(`"choices":[{"index":0,"delta":{},"finish_reason":"error"}],"error":${error}`, true)
      }
      case "Usage": {
        const { cacheHit, generationId } = this.#head
        const usage = JSON.stringify(event.usage)
        const told = `"usage":${usage},"cache_hit":${cacheHit},"generation_id":${JSON.stringify(generationId)}}\n\n`
        if (this.#includesUsage) return `${this.#open},"choices":[],${told}`
        const last = this.#held ?? `${this.#open},"choices":[{"index":0,"delta":{},"finish_reason":null}]`
        this.#held = null
        return `${last},${told}`
      }
    }
  }

  #chunk(members: string, isFinal: boolean): string {
    const chunk = `${this.#open},${members}`
    if (this.#includesUsage) return `${chunk},"usage":null}\n\n`
    if (this.#held === null && !isFinal) return `${chunk}}\n\n`
    const before = this.#held === null ? "" : `${this.#held}}\n\n`
    this.#held = chunk
    return before
  }

  /** `extra`: further members of the chunk, as JSON. */
  #choice(choice: ChoiceDelta, extra: string): string {
    // A finish reason is the last chunk of its choice.
    if (this.#finished.has(choice.index)) return ""
    const { delta: sent, finish_reason: finishReason, index, ...rest } = choice
    const { role: _, ...members } = sent
    const { reasoning } = sent
    const told = typeof reasoning === "string" ? { ...members, reasoning_content: reasoning } : members
    const delta = this.#roles.has(index) ? told : { role: "assistant", ...told }
    this.#roles.add(index)
    if (finishReason !== null) this.#finished.add(index)
    const text = JSON.stringify({ index, delta, ...rest, finish_reason: finishReason })
    return this.#chunk(`${extra}"choices":[${text}]`, finishReason !== null)
  }
}

/** Members as they stand before others in an object. */
const membersOf = (members: Members = {}): string => {
  const text = JSON.stringify(members).slice(1, -1)
  return text === "" ? "" : `${text},`
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
    includesUsage: boolean,
    comment: (text: string) => void
  ): Stream.Stream<Uint8Array> =>
    Stream.transformPull(events, (pull, scope) =>
      Effect.withFiber((fiber) => {
        const chunks = new ChunkWriter(head, requestId, includesUsage)
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
          Effect.flatMap(pull, (batch) => {
            let text = ""
            for (const event of batch) text += chunks.write(event)
            // Held back: the next events bring it.
            return text === "" ? encoded : Effect.succeed(handOver(text))
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
