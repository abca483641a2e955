/**
 * Chat completions: the client's request and reply with the field names of OpenAI's convention, and
 * the events and replies that providers produce. Unknown members are kept, because OpenAI-dialect
 * providers receive them unchanged.
 */
import { Effect, Schema, SchemaIssue } from "effect"
import { type TokenUsage } from "./pricing/Money.ts"
import {
  closed,
  Free,
  list,
  map,
  names,
  nullable,
  NumberIn,
  open,
  passed,
  PositiveInt,
  Seed
} from "./json/WireMembers.ts"

/** A model's name. The length limit equals that of stored names. */
export const ModelName = Schema.String.check(Schema.isMinLength(1), Schema.isMaxCodePoints(256))

export const Role = Schema.Literals(["system", "developer", "user", "assistant", "tool", "function"])
export type Role = typeof Role.Type

/** A part of a message: text, image, audio, file. Dialects read the kinds they support. */
export const ContentPart = Free

const nullContent = new SchemaIssue.InvalidValue({
  type: "string_type",
  message: "Input should be a valid string or list; only messages of assistant, tool and function need none"
})

/** Roles whose messages need no content. */
const contentless = new Set<unknown>(["assistant", "tool", "function"])

export const ChatMessage = open({
  role: Role,
  content: Schema.optionalKey(Schema.NullOr(Schema.Union([Schema.String, Schema.Array(ContentPart)]))),
  name: nullable(Schema.String),
  tool_calls: nullable(Schema.Array(Free)),
  tool_call_id: nullable(Schema.String),
  refusal: nullable(Schema.String),
  reasoning: nullable(Schema.String),
  reasoning_content: nullable(Schema.String)
})
  .check(
    Schema.makeFilter(
      (message: { readonly content?: unknown; readonly role?: unknown }) =>
        (message.content !== undefined && message.content !== null) || contentless.has(message.role)
          ? undefined
          : {
              path: ["content"],
              issue: message.content === null ? nullContent : new SchemaIssue.MissingKey(undefined)
            },
      { ofAnyObject: true }
    )
  )
  .annotate({ identifier: "ChatMessage" })
export type ChatMessage = typeof ChatMessage.Type

const MaxPrice = closed({
  prompt: nullable(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))),
  completion: nullable(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0)))
})

/** The routing preferences of one request. */
export const ProviderPreferences = closed({
  sort: nullable(Schema.Literals(["price", "throughput", "latency"])),
  order: nullable(names(64)),
  allow_fallbacks: Schema.Boolean.annotate({ default: true }).pipe(Schema.withDecodingDefaultKey(Effect.succeed(true))),
  data_collection: nullable(Schema.Literals(["allow", "deny"])),
  only: nullable(names(64)),
  ignore: nullable(names(64)),
  max_price: nullable(MaxPrice)
}).annotate({ identifier: "ProviderPreferences" })
export type ProviderPreferences = typeof ProviderPreferences.Type

export const ChatRequest = open({
  model: ModelName,
  messages: Schema.Array(ChatMessage).check(Schema.isMinLength(1)),
  /** Providers apply OpenAI's default of 1.0. Forwarded only if the client sent it. */
  temperature: Schema.optionalKey(Schema.NullOr(NumberIn(0, 2)).annotate({ default: 1 })),
  max_tokens: nullable(PositiveInt),
  stream: Schema.NullOr(Schema.Boolean)
    .annotate({ default: false })
    .pipe(Schema.withDecodingDefaultKey(Effect.succeed(false))),
  user: nullable(Schema.String),
  metadata: nullable(map(256)),
  provider: nullable(ProviderPreferences),
  response_format: nullable(Free),
  models: nullable(names(16)),
  max_completion_tokens: nullable(PositiveInt),
  stream_options: nullable(Free),
  n: nullable(PositiveInt.check(Schema.isLessThanOrEqualTo(128))),
  top_p: nullable(NumberIn(0, 1)),
  stop: nullable(Schema.Union([Schema.String, list(Schema.String, 256)])),
  seed: Seed,
  presence_penalty: nullable(NumberIn(-2, 2)),
  frequency_penalty: nullable(NumberIn(-2, 2)),
  logprobs: nullable(Schema.Boolean),
  top_logprobs: nullable(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 }))),
  logit_bias: nullable(map(4_096)),
  tools: nullable(list(Free, 1_024)),
  tool_choice: nullable(Schema.Union([Schema.String, Free])),
  parallel_tool_calls: nullable(Schema.Boolean),
  reasoning_effort: nullable(Schema.String),
  modalities: nullable(list(Schema.String, 16)),
  prediction: nullable(Free),
  service_tier: nullable(Schema.String),
  reasoning: passed,
  thinking: passed,
  top_k: passed,
  verbosity: passed,
  cache_control: passed,
  web_search_options: passed,
  prompt_cache_key: passed,
  safety_identifier: passed,
  session_id: passed
}).annotate({ identifier: "ChatCompletionRequest" })
export type ChatRequest = typeof ChatRequest.Type

/** The limit of completion tokens for one choice, or null. The smaller of both members holds. */
export const outputLimit = ({
  max_completion_tokens,
  max_tokens
}: Pick<ChatRequest, "max_completion_tokens" | "max_tokens">): number | null => {
  const limit = max_completion_tokens ?? max_tokens ?? null
  return limit === null ? null : Math.min(limit, max_tokens ?? limit)
}

const Tokens = Schema.Int.annotate({ default: 0 })
const Usd = Schema.Finite.annotate({ default: 0 })
const CacheHit = Schema.Boolean.annotate({ default: false })

/** What the provider reports beside these members is passed on with them. */
export const UsageInfo = open({
  prompt_tokens: Tokens,
  completion_tokens: Tokens,
  total_tokens: Tokens,
  estimated_cost_usd: Schema.optionalKey(
    Usd.annotate({
      description:
        "Absent, as the discount is, where the database could not be written to: ask for the generation later."
    })
  ),
  /** The same amount under the name that OpenRouter's clients read. */
  cost: Schema.optionalKey(Usd),
  cached_tokens: Tokens,
  cache_discount_usd: Schema.optionalKey(Usd),
  cache_hit: CacheHit,
  /** Parts of the prompt, under the names that OpenAI's clients read. */
  prompt_tokens_details: open({ cached_tokens: Tokens, cache_write_tokens: Tokens, audio_tokens: Tokens }),
  /** Parts of the completion. */
  completion_tokens_details: open({ reasoning_tokens: Tokens, audio_tokens: Tokens })
}).annotate({ identifier: "UsageInfo" })
export type UsageInfo = typeof UsageInfo.Type

export const ReplyMessage = open({
  role: Role,
  content: Schema.NullOr(Schema.Union([Schema.String, Schema.Array(ContentPart)])),
  tool_calls: Schema.optionalKey(Schema.Array(Free)),
  refusal: nullable(Schema.String),
  reasoning: nullable(Schema.String),
  /** The text of `reasoning`, for clients that read this name. */
  reasoning_content: nullable(Schema.String),
  /** Reasoning with the signatures and encrypted parts that its provider wants back. */
  reasoning_details: nullable(Schema.Array(Schema.Unknown))
})

export const ChatChoice = open({
  index: Schema.Int,
  message: ReplyMessage,
  finish_reason: Schema.NullOr(Schema.String)
}).annotate({ identifier: "ChatChoice" })

export const ChatResponse = open({
  id: Schema.String,
  object: Schema.Literal("chat.completion").annotate({ default: "chat.completion" }),
  created: Schema.Int,
  model: Schema.String,
  provider: Schema.String,
  choices: Schema.Array(ChatChoice),
  usage: UsageInfo,
  cache_hit: CacheHit,
  generation_id: Schema.NullOr(Schema.String),
  system_fingerprint: Schema.NullOr(Schema.String)
}).annotate({ identifier: "ChatCompletionResponse" })
export type ChatResponse = typeof ChatResponse.Type

export const ChunkChoice = open({
  index: Schema.Int,
  delta: Free,
  finish_reason: Schema.NullOr(Schema.String)
})

export const ChatChunk = open({
  id: Schema.String,
  object: Schema.Literal("chat.completion.chunk"),
  created: Schema.Int,
  model: Schema.String,
  // No provider has answered where the first chunk is an error.
  provider: Schema.optionalKey(Schema.String),
  choices: Schema.Array(ChunkChoice),
  usage: Schema.optionalKey(Schema.NullOr(UsageInfo)),
  cache_hit: Schema.optionalKey(Schema.Boolean),
  generation_id: Schema.optionalKey(Schema.NullOr(Schema.String)),
  error: Schema.optionalKey(Free)
}).annotate({ identifier: "ChatCompletionChunk" })

// Provider events and replies. Members of a choice that are not named here (logprobs, annotations,
// reasoning details, …) are passed through unchanged.

/** One piece of a streamed tool call. `index` separates parallel calls. The first has the id. */
export interface ToolCallDelta {
  readonly index: number
  readonly id?: string
  readonly type?: string
  readonly function?: { readonly name?: string; readonly arguments?: string }
  readonly custom?: { readonly name?: string; readonly input?: string }
}

export interface Delta {
  readonly role?: string
  readonly content?: string | null
  readonly refusal?: string | null
  readonly reasoning?: string | null
  readonly tool_calls?: ReadonlyArray<ToolCallDelta>
  readonly [member: string]: unknown
}

/** One choice's part of a stream event. `finish_reason` is set once, on its last delta. */
export interface ChoiceDelta {
  readonly index: number
  readonly delta: Delta
  readonly finish_reason: string | null
  readonly [member: string]: unknown
}

/** Members that the gateway passes on without knowing them. */
export type Members = Readonly<Record<string, unknown>>

/**
 * Deltas of one or more choices. `extra`: what the provider said beside its choices. `native`: the
 * events of the client's own API, which it gets in place of the deltas.
 */
export interface Choices {
  readonly _tag: "Choices"
  readonly choices: ReadonlyArray<ChoiceDelta>
  readonly extra?: Members
  readonly native?: ReadonlyArray<Members>
}

/**
 * A provider's stream, normalised: any number of `Choices`, then exactly one `End`. A stream that
 * breaks before its terminator fails and has no `End`. `usage` is null if the provider reported
 * none. `usageExtra`: what it reported beside the counts in `usage`.
 */
export type ChatEvent =
  | Choices
  | {
      readonly _tag: "End"
      readonly usage: TokenUsage | null
      readonly usageExtra?: Members
      readonly systemFingerprint: string | null
      /** The events of the client's own API that end the stream. */
      readonly native?: ReadonlyArray<Members>
    }

export interface ReplyChoice {
  readonly index: number
  readonly message: {
    readonly role: "assistant"
    readonly content: string | null
    readonly tool_calls?: ReadonlyArray<Readonly<Record<string, unknown>>>
    readonly refusal?: string | null
    readonly reasoning?: string | null
    readonly [member: string]: unknown
  }
  readonly finish_reason: string | null
  readonly [member: string]: unknown
}

/** A provider's whole reply, normalised. */
export interface ChatReply {
  readonly choices: ReadonlyArray<ReplyChoice>
  /** What the provider said beside its choices. */
  readonly extra?: Members
  readonly usage: TokenUsage | null
  /** What the provider reported beside the counts in `usage`. */
  readonly usageExtra?: Members
  readonly systemFingerprint: string | null
  /** The whole body in the client's own API, which the client gets in place of the rest. */
  readonly native?: Members
}
