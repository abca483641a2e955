/**
 * The chat completions endpoint: passes a decoded request to the gateway, and sends the answer as
 * JSON or as Server-Sent Events.
 */
import { Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { ChatGroup, type ChatHeaders } from "../../api/Chat.ts"
import { type ChatResponse } from "../../domain/Chat.ts"
import { Completion } from "../../gateway/chat/Completion.ts"
import { type Completed } from "../../gateway/request/Answer.ts"
import { type CacheControl } from "../../gateway/request/CacheControl.ts"
import { makeDeadlines } from "../../domain/Deadlines.ts"
import { authenticatedPost } from "../edge/AuthenticatedPost.ts"
import { clientDeadlineOf } from "../edge/ClientDeadline.ts"
import { idempotencyKeyOf } from "../edge/IdempotencyKey.ts"
import { commentInto } from "../sse/Comment.ts"
import { makeEncode, SILENCE_MS } from "../sse/Sse.ts"

export interface ChatOptions {
  /** How long the client of a stream may read nothing. */
  readonly stalledReaderMs: number
}

export const layer = ({ stalledReaderMs }: ChatOptions) =>
  authenticatedPost(
    ChatGroup.endpoints.complete,
    Effect.gen(function* () {
      const completion = yield* Completion
      const encode = makeEncode(yield* makeDeadlines(SILENCE_MS), yield* makeDeadlines(stalledReaderMs))

      const streamResponse = (
        { events, head }: Extract<Completed, { readonly _tag: "Stream" }>,
        request: HttpServerRequest.HttpServerRequest,
        requestId: string
      ) =>
        HttpServerResponse.stream(encode(head, events, requestId, commentInto(request)), {
          contentType: "text/event-stream; charset=utf-8",
          headers: { "cache-control": "no-cache", "x-accel-buffering": "no" }
        })

      return ({ caller, credential, headers, payload, request, state }) =>
        Effect.map(
          completion.run({
            request: payload,
            caller,
            cacheControl: cacheControlOf(headers),
            idempotencyKey: idempotencyKeyOf(headers, credential),
            trace: state.trace,
            note: state.recorder.note,
            deadline: clientDeadlineOf(headers)
          }),
          (completed) =>
            completed._tag === "Reply" ? responseOf(completed) : streamResponse(completed, request, state.requestId)
        )
    })
  )

/** `no-store` is stricter than `no-cache`, and both override a `max-age`. */
const cacheControlOf = (headers: ChatHeaders): CacheControl => {
  const sent = headers["cache-control"]?.toLowerCase() ?? ""
  if (sent.includes("no-store")) return "no-store"
  const maxAge = /(?:^|[,\s])max-age="?(\d+)/.exec(sent)?.[1]
  const isAfresh = sent.includes("no-cache")
  if (maxAge === undefined) return isAfresh ? "no-cache" : "use"
  return { maxAgeSeconds: isAfresh ? 0 : Number(maxAge) }
}

const responseOf = ({ head, reply, usage }: Extract<Completed, { readonly _tag: "Reply" }>): ChatResponse => ({
  id: head.completionId,
  object: "chat.completion",
  created: Math.floor(head.createdAtMs / 1000),
  model: head.model,
  provider: head.provider,
  choices: reply.choices,
  usage,
  cache_hit: head.cacheHit,
  generation_id: head.generationId,
  system_fingerprint: reply.systemFingerprint
})
