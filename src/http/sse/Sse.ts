/**
 * A completion's events as the bytes of Server-Sent Events (contract §4). Every chunk bears the same id, time, model and provider; a
 * choice's role comes once and its finish reason once; the usage chunk and `[DONE]` come last, also after a failure. A silence of
 * fifteen seconds is filled with a comment, so that no proxy takes the connection for dead. It cannot fail.
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Cause, Effect, Pull, Scope, Stream } from "effect"
import { type HttpServerRequest } from "effect/http"
import { type ChoiceDelta } from "../../domain/Chat.ts"
import { type CompletionEvent } from "../../gateway/request/Answer.ts"
import { type Head } from "../../gateway/chat/Completion.ts"
import { type Deadlines } from "../../domain/Deadlines.ts"
import { errorBody } from "../errors/ErrorResponse.ts"
import { StreamedBody } from "./StreamedBody.ts"

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
 * Writes the events onto the response to `request`, once its head is written. What is answered is the response's body: it ends when all was
 * written, and says nothing itself. `silences`: of the length after which a comment is due. `stalls`: of the length for which a client may
 * take nothing; then its connection is cut, and with it the provider's.
 */
export const makeWrite =
  (silences: Deadlines, stalls: Deadlines) =>
  (
    request: HttpServerRequest.HttpServerRequest,
    head: Head,
    events: Stream.Stream<CompletionEvent>,
    requestId: string
  ): Stream.Stream<never> =>
    Stream.transformPull(events, (pull, scope) => {
      const chunks = new ChunkWriter(head, requestId)
      const body = new StreamedBody(NodeHttpServerRequest.toServerResponse(request))
      const silence = silences.begin(() => {
        if (!body.isFull) body.write(keepAlive)
        silence.restart()
      })
      const writing: Pull.Pull<never> = Effect.flatMap(pull, (events) => {
        let text = ""
        for (const event of events) text += chunks.write(event)
        silence.restart()
        const hasRoom = events[events.length - 1]?._tag === "Usage" ? body.writeTogether(text) : body.write(text)
        if (hasRoom) return writing
        const stall = stalls.begin(() => body.cut())
        return Effect.andThen(Effect.ensuring(body.drained, Effect.sync(stall.end)), writing)
      })
      // A defect on the way ends the connection without `[DONE]`: what is no clean end must not look like one.
      const written = Pull.catchDone(writing, () => {
        body.writeTogether(done)
        return Cause.done()
      })
      return Effect.as(Scope.addFinalizer(scope, Effect.sync(silence.end)), written)
    })
