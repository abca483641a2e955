/**
 * The chat completions endpoint: passes a decoded request to the gateway, and sends the answer as
 * JSON or as Server-Sent Events.
 */
import { Clock, Effect, Stream } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { ChatGroup, type ChatHeaders } from "../../api/Chat.ts"
import { type ChatResponse, type ReplyChoice } from "../../domain/Chat.ts"
import { Completion } from "../../gateway/chat/Completion.ts"
import { type Completed } from "../../gateway/request/Answer.ts"
import { type CacheControl } from "../../gateway/request/CacheControl.ts"
import { makeDeadlines } from "../../domain/Deadlines.ts"
import { Ids } from "../../domain/Ids.ts"
import { authenticatedPost } from "../edge/AuthenticatedPost.ts"
import { clientDeadlineOf } from "../edge/ClientDeadline.ts"
import { idempotencyKeyOf } from "../edge/IdempotencyKey.ts"
import { commentInto } from "../sse/Comment.ts"
import { makeEarlyHead } from "../sse/EarlyHead.ts"
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
      const ids = yield* Ids
      const silences = yield* makeDeadlines(SILENCE_MS)
      const encode = makeEncode(silences, yield* makeDeadlines(stalledReaderMs))
      const withEarlyHead = makeEarlyHead(silences)

      const answerOf = (
        completed: Completed,
        request: HttpServerRequest.HttpServerRequest,
        requestId: string,
        includesUsage: boolean
      ) =>
        completed._tag === "Reply"
          ? responseOf(completed)
          : streamResponse(encode(completed.head, completed.events, requestId, includesUsage, commentInto(request)))

      return ({ caller, credential, headers, payload, request, state }) => {
        const run = completion.run({
          request: payload,
          caller,
          cacheControl: cacheControlOf(headers),
          idempotencyKey: idempotencyKeyOf(headers, credential),
          trace: state.trace,
          note: state.recorder.note,
          deadline: clientDeadlineOf(headers)
        })
        const includesUsage = payload.stream_options?.["include_usage"] === true
        const answer = (completed: Completed) => answerOf(completed, request, state.requestId, includesUsage)
        if (payload.stream !== true) return Effect.map(run, answer)
        const comment = commentInto(request)
        const answered = withEarlyHead({
          run,
          state,
          comment,
          encode: (completed) =>
            completed._tag === "Stream"
              ? encode(completed.head, completed.events, state.requestId, includesUsage, comment)
              : Stream.empty,
          members: Effect.map(Clock.currentTimeMillis, (nowMs) => ({
            id: ids.next("chatcmpl", nowMs),
            object: "chat.completion.chunk",
            created: Math.floor(nowMs / 1000),
            model: payload.model,
            // Which one answers is not known yet.
            provider: ""
          }))
        })
        return Effect.map(answered, (early) =>
          early._tag === "InTime" ? answer(early.answer) : streamResponse(early.bytes)
        )
      }
    })
  )

const streamResponse = (bytes: Stream.Stream<Uint8Array>) =>
  HttpServerResponse.stream(bytes, {
    contentType: "text/event-stream; charset=utf-8",
    headers: { "cache-control": "no-cache", "x-accel-buffering": "no" }
  })

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
  ...reply.extra,
  id: head.completionId,
  object: "chat.completion",
  created: Math.floor(head.createdAtMs / 1000),
  model: head.model,
  provider: head.provider,
  choices: reply.choices.map(withReasoningContent),
  usage,
  cache_hit: head.cacheHit,
  generation_id: head.generationId,
  system_fingerprint: reply.systemFingerprint
})

/** Clients read reasoning under either name. */
const withReasoningContent = (choice: ReplyChoice): ReplyChoice => {
  const { message } = choice
  return typeof message.reasoning === "string"
    ? { ...choice, message: { ...message, reasoning_content: message.reasoning } }
    : choice
}
