/**
 * Descriptions of the members of requests and replies, for the OpenAPI document. A member whose
 * schema has a description of its own keeps it. A name may have those of the objects around it:
 * `Schema.outer.member` is looked up before `outer.member`, and that before `member`.
 */
import { commonMembers, time, tokens } from "./CommonMembers.ts"
import { responsesMembers } from "./ResponsesMembers.ts"

const chat = {
  "ChatMessage.content":
    "A text or a list of parts. Required, except in messages of `assistant`, `tool` and `function`.",
  "ChatMessage.name": "Tells participants of one role apart.",
  "ChatMessage.role": "Who speaks. `developer` is the newer name of `system`.",
  "ChatCompletionRequest.frequency_penalty": "Positive: makes repetition less likely.",
  "ChatCompletionRequest.logit_bias": "Adds to the likelihood of tokens, by token id.",
  "ChatCompletionRequest.logprobs": "Returns log probabilities of the tokens.",
  "ChatCompletionRequest.max_completion_tokens":
    "The most tokens of the completion, reasoning included. Without it, the model's own limit holds.",
  "ChatCompletionRequest.max_tokens": "The older name of `max_completion_tokens`. The smaller of both holds.",
  "ChatCompletionRequest.metadata": "Texts of the client, passed on to providers that take them.",
  "ChatCompletionRequest.modalities": "What the model should write, such as `text` and `audio`.",
  "ChatCompletionRequest.model": "A model's id, a vendor's name of it, or an alias.",
  "ChatCompletionRequest.n": "The number of completions.",
  "ChatCompletionRequest.parallel_tool_calls": "Whether the model may call several tools at once.",
  "ChatCompletionRequest.prediction": "A text that the answer will largely repeat.",
  "ChatCompletionRequest.presence_penalty": "Positive: makes new subjects more likely.",
  "ChatCompletionRequest.provider": "Which providers may answer, and in what order.",
  "ChatCompletionRequest.reasoning_effort": "How much to reason: `none`, `minimal`, `low`, `medium`, `high`, `xhigh`.",
  "ChatCompletionRequest.response_format": "`text`, `json_object`, or `json_schema` with a schema.",
  "ChatCompletionRequest.seed": "Makes the answer repeatable as far as the provider can. An integer of 64 bits.",
  "ChatCompletionRequest.service_tier": "The provider's tier of service, such as `flex` or `priority`.",
  "ChatCompletionRequest.stop": "Texts at which the completion ends.",
  "ChatCompletionRequest.stream": "Whether the answer is streamed.",
  "ChatCompletionRequest.stream_options": "`include_usage`: the usage in a chunk of its own.",
  "ChatCompletionRequest.temperature": "Randomness. Forwarded only if it is sent.",
  "ChatCompletionRequest.tool_choice": "`none`, `auto`, `required`, or the tool that must be called.",
  "ChatCompletionRequest.tools": "The tools that the model may call.",
  "ChatCompletionRequest.top_logprobs": "How many of the likeliest tokens to return at each position.",
  "ChatCompletionRequest.top_p": "Samples from the likeliest tokens that have this probability together.",
  "ChatCompletionRequest.user": "The client's stable id of an end user.",
  "ChatCompletionRequest.reasoning":
    "How much to reason, in OpenRouter's form: `effort`, `max_tokens`, `enabled`, `exclude`.",
  "ChatCompletionRequest.thinking": "How much to reason, in Anthropic's form: `type`, `budget_tokens`.",
  "ChatCompletionRequest.top_k": "Samples from this many of the likeliest tokens, where the provider has it.",
  "ChatCompletionRequest.verbosity": "`low`, `medium` or `high`, where the provider has it.",
  "ChatCompletionRequest.cache_control":
    "Anthropic's mark for its prompt cache. Parts, messages and tools take it too.",
  "ChatCompletionRequest.web_search_options": "Searches the web, where the provider does.",
  "ChatCompletionRequest.prompt_cache_key": "OpenAI's name of requests that share a prompt cache.",
  "ChatCompletionRequest.safety_identifier": "OpenAI's stable identifier of an end user.",
  "ChatCompletionRequest.session_id": "OpenRouter's name of a conversation. At OpenAI it is the `prompt_cache_key`.",
  "ChatCompletionResponse.choices": "The completions, by `index`.",
  "ChatCompletionChunk.choices": "Pieces of the completions.",
  "ChatCompletionChunk.choices.delta": "What is added to the message.",
  "ChatCompletionChunk.error": "The error that ended the stream.",
  "ChatCompletionChunk.usage": "The usage, on the last chunk that has a choice.",
  "ChatChoice.message": "The message of the model.",
  "ChatChoice.message.reasoning_details":
    "The reasoning with signatures and encrypted parts. Send it back with the message.",
  "EmbeddingRequest.dimensions": "The length of the vectors, where the model can choose.",
  "EmbeddingRequest.encoding_format": "`float`, or `base64` of 32-bit floats in little-endian order.",
  "EmbeddingRequest.input": "A text, a list of texts, or token ids of them.",
  "EmbeddingRequest.user": "The client's stable id of an end user.",
  "EmbeddingVector.embedding": "The vector.",
  "EmbeddingVector.index": "The position of its input.",
  "ProviderPreferences.data_collection": "`deny`: only providers that neither train on prompts nor keep them.",
  "ProviderPreferences.ignore": "Providers that may not answer.",
  "ProviderPreferences.max_price": "The highest prices, in USD per million tokens.",
  "ProviderPreferences.only": "The only providers that may answer.",
  "ProviderPreferences.order": "Providers to try first, in this order.",
  "ProviderPreferences.sort": "What the providers are ranked by.",
  "UsageInfo.cost": "The same amount under the name that OpenRouter's clients read, in USD."
}

const messages = {
  "Message.content": "The blocks of the answer.",
  "Message.stop_reason": "Why the answer ended, such as `end_turn`, `max_tokens` or `tool_use`.",
  "Message.stop_sequence": "The stop sequence at which it ended.",
  "MessagesUsage.cache_creation_input_tokens": tokens("Written to the provider's prompt cache"),
  "MessagesUsage.cache_read_input_tokens": tokens("Read from the provider's prompt cache"),
  max_tokens: "The most tokens of the answer, thinking included.",
  metadata: "`user_id`: the client's stable id of an end user.",
  output_config: "`effort`: how much to think. `format`: the form of the answer.",
  service_tier: "`auto` or `standard_only`.",
  stop_sequences: "Texts at which the answer ends.",
  stream: "Whether the answer is streamed.",
  system: "The instructions: a text, or a list of text blocks.",
  temperature: "Randomness.",
  thinking: "How much to think: `type`, `budget_tokens`.",
  tool_choice: "Which tools the model may or must call.",
  tools: "The tools that the model may call.",
  top_k: "Samples from this many of the likeliest tokens.",
  top_p: "Samples from the likeliest tokens that have this probability together."
}

const others = {
  "DeletedResponse.deleted": "It is deleted.",
  "RequestRow.key_name": "The name of the key.",
  "ResponsesRequest.reasoning.effort": "How much to reason.",
  "ResponsesRequest.reasoning.summary": "Whether and how the reasoning is summed up.",
  "ResponsesRequest.stream_options.include_obfuscation": "Passed on to providers of this API.",
  "ResponsesRequest.text.format": "`text`, `json_object`, or `json_schema` with a schema.",
  "ResponsesRequest.text.verbosity": "`low`, `medium` or `high`, where the provider has it.",
  "requests.refused_24h": "Requests of the last 24 hours that were refused before a generation began, by error type.",
  "attempts.key": "The position of the key among the provider's keys, from 1. Absent: it has one key or none.",
  "attempts.status": "How the call ended. `skipped`: the circuit was open, and no call was made.",
  "choices.index": "The number of the choice.",
  "data_policy.training": "Whether the provider may train on prompts.",
  "DeadLetterRecord.attempts": "How often it was tried.",
  "DeadLetterRecord.type": "The type of the event.",
  "Model.providers.status": "`down` while the circuit is open.",
  "PrivacyFinding.type": "The type of the value, such as `EMAIL`.",
  "RouteCandidate.price": "Prices for a prompt of this length, in USD per million tokens.",
  "RouteCandidate.circuit": "A candidate whose circuit is open is skipped.",
  "RoutePreview.error": "The error that the request would get. Null: it can be served.",
  "spend_usd.reserved": "Reserved by running requests, in USD.",
  "AdminOverview.keys": "Number of keys by status.",
  "AdminOverview.latency_ms": "Of the last 24 hours' generations.",
  "AdminOverview.providers": "The providers and their circuits, as this process sees them.",
  "AdminOverview.rejections.model": "Requests refused because of a whitelist.",
  "AdminOverview.rejections.privacy": "Requests refused by the privacy guard.",
  "AdminOverview.requests": "Generations and responses.",
  "AdminOverview.spend_usd": "Spending, in USD.",
  "AdminOverview.spend_usd.by_model": "This month by model, most expensive first.",
  "AuthorizationLocation.expires_in": "How long the sign-in may take, in seconds.",
  "Error.code": "The exact cause. Null: none is known.",
  "Error.type": "The kind of error. Branch on this or on `code`.",
  "GenerationRecord.provider": "The slug of the provider that answered or was called last.",
  "HealthReport.status": "`unavailable`: it cannot serve requests.",
  "JsonWebKeySet.keys": "The keys, as JSON Web Keys.",
  "OwnGrants.scopes": "What the user's keys may be used for.",
  "PrivacyPreviewRequest.entities":
    "What to search for, from the built-in types and the operator's patterns. Null: all that is configured.",
  "PrivacyPreviewRequest.messages": "Messages to mask. `text`, `messages` or both are required.",
  "PrivacyPreviewRequest.text": "A text to mask. `text`, `messages` or both are required.",
  "SignInMethods.providers": "Identity providers, by their names in `/auth/oauth/{provider}`.",
  "StartSignInRequest.email": "Where the code is sent. Required for the channel `email`.",
  "StartSignInRequest.phone": "Where the code is sent. Required for the channel `sms`.",
  "Timeseries.data": "The buckets, oldest first and without gaps. The last one is still running.",
  "Timeseries.data.start": time("The first instant of the bucket"),
  "UpdateUserRequest.grants": "The grants to change. Keys that exceed them are reduced.",
  "UpdateUserRequest.status": "`suspended` ends the sessions and refuses the keys, within a second.",
  "UsageReport.data.key": "The id of a key.",
  "ValidationError.type": "The kind of fault, such as `missing`."
}

const ofProviders = {
  preset: "A known vendor, as `GET /v1/admin/presets` lists them. It brings dialect, address, models and prices.",
  base_url: "The server's address, such as `https://api.example.com/v1`. Default: the preset's.",
  slug: "The provider's name in requests and settings. Default: the preset's.",
  name: "A name for people. Default: the slug.",
  key_env:
    "In place of `api_key`: a variable of the gateway's environment that holds the key. Its name ends in KEY or TOKEN."
}

const providers = {
  ...Object.fromEntries(
    ["TestProviderRequest", "AddProviderRequest", "ReplaceProviderKeyRequest"].flatMap((schema) =>
      Object.entries(ofProviders).map(([member, words]) => [`${schema}.${member}`, words] as const)
    )
  ),
  "AddProviderRequest.models.upstream": "The provider's name of the model.",
  "AddProviderRequest.models.id":
    "The clients' name, `author/slug`. Default: the provider's name, or that below the slug."
}

export const memberWords: ReadonlyMap<string, string> = new Map(
  Object.entries({ ...messages, ...commonMembers, ...chat, ...responsesMembers, ...providers, ...others })
)
