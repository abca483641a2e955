/** `POST /v1/chat/completions`: one endpoint, answered whole or as server-sent events. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ChatChunk, ChatRequest, ChatResponse } from "../domain/Chat.ts"
import { Authorization, RequiredScope } from "./Authorization.ts"
import { BodyBytes, errors, Validation } from "./Failure.ts"
import { CompletionHeaders } from "./schemas/CompletionHeaders.ts"

const ChatHeaders = Schema.Struct({
  ...CompletionHeaders.fields,
  "cache-control": Schema.optionalKey(
    Schema.String.annotate({ description: "`max-age=N`, `no-cache` or `no-store`, for the prompt cache." })
  )
})
export type ChatHeaders = typeof ChatHeaders.Type

export class ChatGroup extends HttpApiGroup.make("chat")
  .add(
    HttpApiEndpoint.post("complete", "/v1/chat/completions", {
      headers: ChatHeaders,
      payload: ChatRequest,
      success: [ChatResponse, HttpApiSchema.StreamSse({ data: Schema.toCodecJson(ChatChunk) })],
      error: errors(400, 402, 403, 404, 409, 429, 500, 502, 503, 504)
    })
      .annotate(BodyBytes, null)
      .annotate(RequiredScope, "chat:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a chat completion",
          description:
            "Checks the rate limit, the monthly budget and the model whitelist in this order, then the prompt cache, then routes to a provider. By default the prompt cache answers requests with a `temperature` of 0 or a `seed`, and those with `Cache-Control: max-age=N`. `X-Generation-Id` carries the generation's id. With `stream: true` the reply is a stream of `chat.completion.chunk` events that ends with `[DONE]`. With `Idempotency-Key` a repeated request gets the first request's reply."
        })
      )
  )
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Chat completions" })) {}
