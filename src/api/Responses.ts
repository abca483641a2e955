/** OpenAI's Responses API: `POST /v1/responses`, answered whole or as server-sent events. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Free, open } from "../domain/WireMembers.ts"
import { Authorization, RequiredScope } from "./Authorization.ts"
import { BodyBytes, errors } from "./Failure.ts"
import { ResponsesRequest } from "./responses/Request.ts"
import { ResponsesValidation } from "./ResponsesErrors.ts"
import { CompletionHeaders } from "./schemas/CompletionHeaders.ts"

const Tokens = Schema.Int.annotate({ default: 0 })

const ResponseUsage = open({
  input_tokens: Tokens.annotate({ description: "All of the prompt, with what the provider's prompt cache had." }),
  input_tokens_details: open({ cached_tokens: Tokens, cache_write_tokens: Tokens }),
  output_tokens: Tokens,
  output_tokens_details: open({ reasoning_tokens: Tokens }),
  total_tokens: Tokens
}).annotate({ identifier: "ResponseUsage" })
export type ResponseUsage = typeof ResponseUsage.Type

const ResponseFault = open({
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
const ResponsesEvent = open({ type: Schema.String, sequence_number: Schema.Int }).annotate({
  identifier: "ResponsesEvent"
})

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
