/** Chat completions at the edge: the decoded request to the gateway, its answer to JSON or to Server-Sent Events. */
import { Effect } from "effect"
import { type Headers, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { type ChatRequest } from "../domain/Chat.ts"
import { Completion, type Completed } from "../gateway/Completion.ts"
import { type CacheControl } from "../gateway/Order.ts"
import { callerWith } from "./Authorization.ts"
import { CurrentRequest } from "./CurrentRequest.ts"
import { guard } from "./Failure.ts"
import { sentKey } from "./IdempotencyKey.ts"
import { patienceOf } from "./Patience.ts"
import { encode } from "./Sse.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "chat",
  Effect.fnUntraced(function* (handlers) {
    const completion = yield* Completion

    const complete = Effect.fnUntraced(function* (request: ChatRequest, headers: Headers.Headers) {
      const caller = yield* callerWith("chat:write")
      const { facts, requestId } = yield* CurrentRequest
      const completed = yield* completion.run({
        request,
        caller,
        cacheControl: cacheControlOf(headers),
        idempotencyKey: yield* sentKey(headers),
        facts,
        patience: patienceOf(headers)
      })
      return completed._tag === "Reply" ? jsonResponse(completed) : streamResponse(completed, requestId)
    })

    return handlers.handle("complete", ({ payload, request }) => guard(complete(payload, request.headers)))
  })
)

/** `no-store` is the stricter of the two. */
const cacheControlOf = (headers: Headers.Headers): CacheControl => {
  const sent = headers["cache-control"]?.toLowerCase() ?? ""
  return sent.includes("no-store") ? "no-store" : sent.includes("no-cache") ? "no-cache" : "use"
}

/** A `ChatCompletionResponse`, written out: the members are ours, in spec.md's order. */
const jsonResponse = ({ head, reply, usage }: Extract<Completed, { readonly _tag: "Reply" }>) =>
  HttpServerResponse.jsonUnsafe({
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

const streamResponse = ({ events, head }: Extract<Completed, { readonly _tag: "Stream" }>, requestId: string) =>
  HttpServerResponse.stream(encode(head, events, requestId), {
    contentType: "text/event-stream; charset=utf-8",
    headers: { "cache-control": "no-cache", "x-accel-buffering": "no" }
  })
