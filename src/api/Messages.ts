/**
 * Anthropic's Messages API: `POST /v1/messages`, answered whole or as server-sent events, and
 * `POST /v1/messages/count_tokens`.
 */
import { Effect, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ModelName, ProviderPreferences } from "../domain/Chat.ts"
import { Free, list, names, nullable, NumberIn, open, PositiveInt } from "../domain/json/WireMembers.ts"
import { RequiredScope } from "./Authorization.ts"
import { BodyBytes } from "./Failure.ts"
import { MessagesAuthorization, messagesErrors, MessagesValidation } from "./MessagesErrors.ts"
import { CompletionHeaders } from "./schemas/CompletionHeaders.ts"

/** A text, or a list of blocks. Kinds of blocks are checked where they are translated. */
const Content = Schema.Union([Schema.String, Schema.Array(Free)])

const MessageParam = open({ role: Schema.Literals(["user", "assistant", "system"]), content: Content }).annotate({
  identifier: "MessageParam"
})
export type MessageParam = typeof MessageParam.Type

const prompt = {
  model: ModelName,
  messages: Schema.Array(MessageParam).check(Schema.isMinLength(1)),
  system: nullable(Content),
  tools: nullable(list(Free, 1_024)),
  tool_choice: nullable(Free),
  thinking: nullable(Free),
  output_config: nullable(Free)
}

export const MessagesRequest = open({
  ...prompt,
  max_tokens: PositiveInt,
  stream: Schema.NullOr(Schema.Boolean)
    .annotate({ default: false })
    .pipe(Schema.withDecodingDefaultKey(Effect.succeed(false))),
  metadata: nullable(Free),
  stop_sequences: nullable(list(Schema.String, 256)),
  temperature: nullable(NumberIn(0, 2)),
  top_p: nullable(NumberIn(0, 1)),
  top_k: nullable(Schema.Int),
  service_tier: nullable(Schema.String),
  provider: nullable(ProviderPreferences),
  models: nullable(names(16))
}).annotate({ identifier: "MessagesRequest" })
export type MessagesRequest = typeof MessagesRequest.Type

const CountTokensRequest = open(prompt).annotate({ identifier: "CountTokensRequest" })
export type CountTokensRequest = typeof CountTokensRequest.Type

const Tokens = Schema.Int.annotate({ default: 0 })

const MessagesUsage = open({
  input_tokens: Tokens.annotate({ description: "Without those read from and written to the provider's prompt cache." }),
  cache_creation_input_tokens: Tokens,
  cache_read_input_tokens: Tokens,
  output_tokens: Tokens
}).annotate({ identifier: "MessagesUsage" })
export type MessagesUsage = typeof MessagesUsage.Type

export const Message = open({
  id: Schema.String,
  type: Schema.Literal("message"),
  role: Schema.Literal("assistant"),
  model: Schema.String.annotate({ description: "The name that the request used." }),
  content: Schema.Array(Free),
  stop_reason: Schema.NullOr(Schema.String),
  stop_sequence: Schema.NullOr(Schema.String),
  usage: MessagesUsage
}).annotate({ identifier: "Message" })
export type Message = typeof Message.Type

/** The type of an event is in `event`, and in its data. */
export const MessagesEvent = open({
  type: Schema.String.annotate({
    description:
      "`message_start`, `content_block_start`, `content_block_delta`, `content_block_stop`, `message_delta`, `message_stop`, `ping` or `error`. Further ones of Anthropic's pass as they come."
  })
}).annotate({ identifier: "MessagesEvent" })
export type MessagesEvent = typeof MessagesEvent.Type

const TokenCount = open({ input_tokens: Schema.Int }).annotate({ identifier: "TokenCount" })

export class MessagesGroup extends HttpApiGroup.make("messages")
  .add(
    HttpApiEndpoint.post("create", "/v1/messages", {
      headers: CompletionHeaders,
      payload: MessagesRequest,
      success: [Message, HttpApiSchema.StreamSse({ data: Schema.toCodecJson(MessagesEvent) })],
      error: messagesErrors(400, 402, 403, 404, 409, 429, 500, 502, 503, 504, 529)
    })
      .annotate(BodyBytes, null)
      .annotate(RequiredScope, "chat:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a message",
          description:
            "Anthropic's Messages API over every provider, with the same key, limits, budget, whitelist, privacy and routing as chat completions. The prompt cache does not answer it. With `stream: true` the reply is a stream of Anthropic's events, which ends with `message_stop`, or with `error`. Errors have Anthropic's envelope."
        })
      )
  )
  .add(
    HttpApiEndpoint.post("countTokens", "/v1/messages/count_tokens", {
      headers: CompletionHeaders,
      payload: CountTokensRequest,
      success: TokenCount,
      error: messagesErrors(400, 403, 404, 429, 500, 503)
    })
      .annotate(BodyBytes, null)
      .annotate(RequiredScope, "chat:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Count the tokens of a message",
          description:
            "The count of a provider of this API, if the model has one; else the gateway's own, with its tools and a fixed sum for each picture. It takes one request of the rate limit and costs nothing."
        })
      )
  )
  .middleware(MessagesValidation)
  .middleware(MessagesAuthorization)
  .annotateMerge(OpenApi.annotations({ title: "Messages" })) {}
