/**
 * The request of OpenAI's Responses API. Kinds of items, parts and tools are checked where they are
 * translated, and unknown members are kept for providers of this API.
 */
import { Effect, Schema } from "effect"
import { ModelName, ProviderPreferences } from "../../domain/Chat.ts"
import { Free, list, map, names, nullable, NumberIn, open, PositiveInt } from "../../domain/json/WireMembers.ts"

/** An effort is a word, or in newer clients a number. */
const Reasoning = open({
  effort: nullable(Schema.Union([Schema.String, Schema.Finite])),
  summary: nullable(Schema.String)
})
const Text = open({ format: nullable(open({ type: Schema.String })), verbosity: nullable(Schema.String) })
const NamedOrObject = Schema.Union([Schema.String, Free])

export const ResponsesRequest = open({
  model: ModelName,
  input: nullable(Schema.Union([Schema.String, Schema.Array(Free)])).annotateKey({
    description: "A text of the user, or a list of items: messages, calls of tools, their outputs, reasoning."
  }),
  instructions: nullable(Schema.String),
  stream: Schema.NullOr(Schema.Boolean)
    .annotate({ default: false })
    .pipe(Schema.withDecodingDefaultKey(Effect.succeed(false))),
  store: nullable(Schema.Boolean),
  previous_response_id: nullable(Schema.String),
  conversation: nullable(NamedOrObject),
  background: nullable(Schema.Boolean),
  include: nullable(list(Schema.String, 64)),
  max_output_tokens: nullable(PositiveInt),
  max_tool_calls: nullable(PositiveInt),
  temperature: nullable(NumberIn(0, 2)),
  top_p: nullable(NumberIn(0, 1)),
  top_logprobs: nullable(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 }))),
  reasoning: nullable(Reasoning),
  text: nullable(Text),
  tools: nullable(list(Free, 1_024)),
  tool_choice: nullable(NamedOrObject),
  parallel_tool_calls: nullable(Schema.Boolean),
  prompt_cache_key: nullable(Schema.String),
  prompt_cache_options: nullable(Free),
  prompt_cache_retention: nullable(Schema.String),
  service_tier: nullable(Schema.String),
  metadata: nullable(map(256)),
  safety_identifier: nullable(Schema.String),
  user: nullable(Schema.String),
  truncation: nullable(Schema.Literals(["auto", "disabled"])),
  context_management: nullable(list(Free, 64)),
  prompt: nullable(Free),
  stream_options: nullable(open({ include_obfuscation: nullable(Schema.Boolean) })),
  client_metadata: nullable(Free),
  provider: nullable(ProviderPreferences),
  models: nullable(names(16))
}).annotate({ identifier: "ResponsesRequest" })
export type ResponsesRequest = typeof ResponsesRequest.Type
