/**
 * Writes a completion's events as chunks of OpenAI's convention. Every chunk has the same id, time,
 * model and provider. Each choice has one role and one finish reason. The usage and `[DONE]` come
 * last, also after a failure.
 */
import { type ChoiceDelta, type Members } from "../../domain/Chat.ts"
import { type CompletionEvent, type Head } from "../../gateway/request/Answer.ts"
import { errorBody } from "../errors/ErrorResponse.ts"
import { type EventWriter } from "./Sse.ts"

/** Fills a silence: a comment, which clients skip. */
export const KEEP_ALIVE = ": keep-alive\n\n"
export const DONE = "data: [DONE]\n\n"

/**
 * Writes the events of one stream as text, and remembers the members that must appear once. Unless
 * the client asked for a chunk of usage, the usage goes into the last chunk that has a choice: from
 * the first finish reason on, the newest chunk is held back.
 */
export class ChunkWriter implements EventWriter {
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

  end(): string {
    return DONE
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
