/**
 * OpenAI's Responses API: `POST /v1/responses`, answered whole or as server-sent events, and the
 * responses that were stored.
 */
import { Effect, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Free, open } from "../domain/json/WireMembers.ts"
import { Authorization, RequiredScope } from "./Authorization.ts"
import { BodyBytes, errors } from "./Failure.ts"
import { ResponsesRequest } from "./responses/Request.ts"
import { ResponsesValidation } from "./ResponsesErrors.ts"
import { CompletionHeaders } from "./schemas/CompletionHeaders.ts"
import { limit } from "./schemas/Paging.ts"
import { text } from "./schemas/Texts.ts"

const Tokens = Schema.Int.annotate({ default: 0 })

const ResponseUsage = open({
  input_tokens: Tokens.annotate({ description: "All of the prompt, with what the provider's prompt cache had." }),
  input_tokens_details: open({ cached_tokens: Tokens, cache_write_tokens: Tokens }),
  output_tokens: Tokens,
  output_tokens_details: open({ reasoning_tokens: Tokens }),
  total_tokens: Tokens
}).annotate({ identifier: "ResponseUsage" })
export type ResponseUsage = typeof ResponseUsage.Type

export const ResponseFault = open({
  code: Schema.String.annotate({
    description: "For example `server_error`, `rate_limit_exceeded`, `context_length_exceeded`, `insufficient_quota`."
  }),
  message: Schema.String,
  type: Schema.String.annotate({ description: "The type that other endpoints tell." }),
  param: Schema.NullOr(Schema.String),
  details: Free
}).annotate({ identifier: "ResponseFault" })
export type ResponseFault = typeof ResponseFault.Type

export const ModelResponse = open({
  id: Schema.String,
  object: Schema.Literal("response"),
  created_at: Schema.Int,
  completed_at: Schema.NullOr(Schema.Int),
  status: Schema.Literals(["in_progress", "completed", "incomplete", "failed"]),
  model: Schema.String.annotate({ description: "The name that the request used." }),
  output: Schema.Array(Free),
  error: Schema.NullOr(ResponseFault),
  incomplete_details: Schema.NullOr(open({ reason: Schema.String })),
  usage: Schema.NullOr(ResponseUsage),
  instructions: Schema.NullOr(Schema.String),
  metadata: Free,
  parallel_tool_calls: Schema.Boolean,
  temperature: Schema.Finite,
  top_p: Schema.Finite,
  presence_penalty: Schema.Finite,
  frequency_penalty: Schema.Finite,
  top_logprobs: Schema.Int,
  tool_choice: Schema.Union([Schema.String, Free]),
  tools: Schema.Array(Free),
  text: Free,
  reasoning: Free,
  max_output_tokens: Schema.NullOr(Schema.Int),
  max_tool_calls: Schema.NullOr(Schema.Int),
  previous_response_id: Schema.NullOr(Schema.String),
  store: Schema.Boolean,
  background: Schema.Boolean,
  truncation: Schema.String,
  service_tier: Schema.String,
  safety_identifier: Schema.NullOr(Schema.String),
  prompt_cache_key: Schema.NullOr(Schema.String),
  user: Schema.NullOr(Schema.String)
}).annotate({ identifier: "ModelResponse" })
export type ModelResponse = typeof ModelResponse.Type

/** The type of an event is in `event`, and in its data. */
export const ResponsesEvent = open({ type: Schema.String, sequence_number: Schema.Int }).annotate({
  identifier: "ResponsesEvent"
})
export type ResponsesEvent = typeof ResponsesEvent.Type

export class ResponsesGroup extends HttpApiGroup.make("responses")
  .add(
    HttpApiEndpoint.post("create", "/v1/responses", {
      headers: CompletionHeaders,
      payload: ResponsesRequest,
      success: [ModelResponse, HttpApiSchema.StreamSse({ data: Schema.toCodecJson(ResponsesEvent) })],
      error: errors(400, 403, 404, 409, 429, 500, 502, 503, 504)
    })
      .annotate(BodyBytes, null)
      .annotate(RequiredScope, "chat:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a response",
          description:
            "OpenAI's Responses API over every provider, with the same key, limits, budget, whitelist, privacy and routing as chat completions. The prompt cache does not answer it. With `stream: true` the reply is a stream of OpenAI's events, which ends with `response.completed`, `response.incomplete` or `response.failed`. A budget without room is a 429 with the code `insufficient_quota`."
        })
      )
  )
  .middleware(ResponsesValidation)
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Responses" })) {}

const params = { response_id: Schema.String }

/** Members that only matter to other answers are accepted and ignored, such as `include`. */
const retrieveQuery = {
  stream: Schema.optionalKey(text(16)).annotateKey({ description: "A stored response is not streamed again." })
}

const DeletedResponse = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("response"),
  deleted: Schema.Literal(true)
}).annotate({ identifier: "DeletedResponse" })

const InputItems = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(Free),
  first_id: Schema.NullOr(Schema.String),
  last_id: Schema.NullOr(Schema.String),
  has_more: Schema.Boolean
}).annotate({ identifier: "InputItems" })

export class StoredResponsesGroup extends HttpApiGroup.make("storedResponses")
  .add(
    HttpApiEndpoint.get("retrieve", "/v1/responses/:response_id", {
      params,
      query: retrieveQuery,
      success: ModelResponse,
      error: errors(400, 403, 404, 500, 503)
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read a stored response",
        description: "As it was answered. The key that made it reads it until its time is over."
      })
    ),
    HttpApiEndpoint.delete("remove", "/v1/responses/:response_id", {
      params,
      success: DeletedResponse,
      error: errors(403, 404, 500, 503)
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Delete a stored response",
        description: "Responses that continued it keep its items."
      })
    ),
    HttpApiEndpoint.get("inputItems", "/v1/responses/:response_id/input_items", {
      params,
      query: {
        limit: limit(100, 20),
        order: Schema.Literals(["asc", "desc"])
          .annotate({ default: "desc" })
          .pipe(Schema.withDecodingDefaultKey(Effect.succeed("desc" as const))),
        after: Schema.optionalKey(text(256)).annotateKey({ description: "The id of the last item of the page before." })
      },
      success: InputItems,
      error: errors(400, 403, 404, 500, 503)
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the input of a stored response",
        description: "All items that it answered: those of the conversation that it continued, and its own."
      })
    )
  )
  .middleware(ResponsesValidation)
  .middleware(Authorization)
  .annotateEndpoints(RequiredScope, "chat:write")
  .annotateMerge(OpenApi.annotations({ title: "Responses: stored" })) {}
