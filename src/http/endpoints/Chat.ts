/**
 * The chat completions endpoint: passes a decoded request to the gateway, and sends the answer as
 * JSON or as Server-Sent Events.
 */
import { Clock, Effect } from "effect"
import { ChatGroup, type ChatHeaders } from "../../api/Chat.ts"
import { type ChatResponse, type ReplyChoice } from "../../domain/Chat.ts"
import { Completion } from "../../gateway/chat/Completion.ts"
import { type Completed } from "../../gateway/request/Answer.ts"
import { type CacheControl } from "../../gateway/request/CacheControl.ts"
import { Ids } from "../../domain/Ids.ts"
import { authenticatedPost } from "../edge/AuthenticatedPost.ts"
import { completionQuery } from "../edge/CompletionQuery.ts"
import { failureBody } from "../errors/ErrorResponse.ts"
import { type AnsweringOptions, makeAnswering } from "../sse/Answering.ts"
import { ChunkWriter, DONE, KEEP_ALIVE } from "../sse/Chunks.ts"

export const layer = (options: AnsweringOptions) =>
  authenticatedPost(
    ChatGroup.endpoints.complete,
    Effect.gen(function* () {
      const completion = yield* Completion
      const ids = yield* Ids
      const answer = yield* makeAnswering(options)

      return ({ caller, credential, headers, json, payload, request, state }) =>
        answer({
          run: completion.run({
            ...completionQuery({ caller, credential, headers, state }),
            request: payload,
            cacheControl: cacheControlOf(headers)
          }),
          state,
          request,
          isStreamed: payload.stream === true,
          form: {
            whole: (completed) => json(responseOf(completed)),
            writer: (head) =>
              new ChunkWriter(head, state.requestId, payload.stream_options?.["include_usage"] === true),
            keepAlive: () => KEEP_ALIVE,
            failed: (reason) =>
              Effect.map(Clock.currentTimeMillis, (nowMs) => {
                const chunk = {
                  id: ids.next("chatcmpl", nowMs),
                  object: "chat.completion.chunk",
                  created: Math.floor(nowMs / 1000),
                  model: payload.model,
                  choices: [{ index: 0, delta: {}, finish_reason: "error" }],
                  error: failureBody(reason, state.requestId),
                  generation_id: state.recorder.metadata.generationId
                }
                return `data: ${JSON.stringify(chunk)}\n\n${DONE}`
              })
          }
        })
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

const responseOf = ({ head, reply, usage }: Extract<Completed, { readonly _tag: "Reply" }>): ChatResponse => {
  const response: ChatResponse = {
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
  }
  return reply.extra === undefined ? response : { ...reply.extra, ...response }
}

/** Clients read reasoning under either name. */
const withReasoningContent = (choice: ReplyChoice): ReplyChoice => {
  const { message } = choice
  return typeof message.reasoning === "string"
    ? { ...choice, message: { ...message, reasoning_content: message.reasoning } }
    : choice
}
