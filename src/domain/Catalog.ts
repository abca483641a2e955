/**
 * The catalogue: providers with their address, data policy and time limits, and the models that
 * each offers with prices. Settings and presets produce these records. Routing, pricing and the
 * model list read them.
 */
import { type Redacted } from "effect"
import { type Pricing } from "./pricing/Money.ts"

export type DialectName = "openai" | "anthropic" | "gemini" | "bedrock" | "mock"

/** A provider's handling of prompts. An unknown policy counts as training and retaining. */
export interface DataPolicy {
  readonly training: boolean
  readonly retainsPrompts: boolean
  /** `null`: unknown. */
  readonly retentionDays: number | null
  /** Zero data retention. */
  readonly zdr: boolean
}

export const unknownPolicy: DataPolicy = { training: true, retainsPrompts: true, retentionDays: null, zdr: false }

/**
 * True for providers that `data_collection: "deny"` allows: no training, no retention of prompts,
 * and zero data retention.
 */
export const deniesCollection = (policy: DataPolicy): boolean =>
  !policy.training && !policy.retainsPrompts && policy.zdr

/**
 * All in milliseconds. A whole reply has `connectMs` and `totalMs`, because it sends nothing until
 * it is done. The others are the longest silences of a stream, and bytes of any kind end a silence.
 */
export interface Timeouts {
  readonly connectMs: number
  /** Until the response's headers. */
  readonly firstByteMs: number
  /** Before the first token, while another provider could answer. */
  readonly firstTokenMs: number
  /** After the first token. */
  readonly idleMs: number
  /** A whole reply; of a stream the time to the first token, and between tokens. */
  readonly totalMs: number
}

export const defaultTimeouts: Timeouts = {
  connectMs: 5_000,
  firstByteMs: 60_000,
  firstTokenMs: 120_000,
  idleMs: 120_000,
  totalMs: 600_000
}

/** The context that is assumed of a model that does not state its own, in tokens. */
export const UNKNOWN_CONTEXT = 1_000_000

/** One model at one provider. */
export interface ModelOffer {
  /** The clients' name: `author/slug`. */
  readonly id: string
  /** The provider's name. */
  readonly upstream: string
  /** In tokens. `null`: unknown. */
  readonly contextLength: number | null
  readonly maxCompletionTokens: number | null
  readonly pricing: Pricing
  readonly embeddings: boolean
  /**
   * True if the model continues from a trailing assistant message. Such an offer can continue an
   * interrupted stream.
   */
  readonly prefill: boolean
  /**
   * True if the model bills reasoning tokens that it does not show, so usage is known only at the
   * end.
   */
  readonly hidesReasoning: boolean
  /** The API of the OpenAI dialect by which the model is called. Default: chat completions. */
  readonly api?: "chat" | "responses"
  /**
   * Further names of the model, and what the provider is called with for each. A client may use
   * them in place of the id.
   */
  readonly aliases?: Readonly<Record<string, string>>
  /** The limits that differ from the provider's. */
  readonly timeouts?: Partial<Timeouts>
}

/** The parameters of a server of OpenAI's dialect, where they differ from what is known of it. */
export interface ParameterRules {
  /** Members of a request that it refuses. They replace those that are known. */
  readonly refused?: ReadonlyArray<string>
  /** The name of its output limit. */
  readonly limit?: "max_tokens" | "max_completion_tokens"
}

export interface ProviderConfig {
  /** The name used in `provider.order`. */
  readonly slug: string
  readonly name: string
  readonly dialect: DialectName
  /** Without a trailing slash. Empty for the mock. */
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted | null
  /**
   * The keys of a provider that has several, at least two. The first is `apiKey`. A call names its
   * key by `Candidate.key`.
   */
  readonly apiKeys?: ReadonlyArray<Redacted.Redacted>
  /** How the key is sent: `bearer`, unless the vendor has its own header (Azure: `api-key`). */
  readonly auth:
    { readonly type: "bearer" } | { readonly type: "header"; readonly name: string } | { readonly type: "none" }
  /** Sent with every call, such as a vendor's version header. */
  readonly headers: Readonly<Record<string, string>>
  /** Added to the query of every call, such as Azure's `api-version`. */
  readonly query: Readonly<Record<string, string>>
  /**
   * Offers HTTP/2 to a server behind TLS, so that one connection carries many calls. Default:
   * HTTP/1.1.
   */
  readonly http2?: boolean
  readonly parameters?: ParameterRules
  /**
   * True if requests may refer to objects in our account at the provider, such as files, although
   * all keys share them. Default: they are refused.
   */
  readonly accountObjects?: boolean
  readonly dataPolicy: DataPolicy
  readonly timeouts: Timeouts
  readonly models: ReadonlyArray<ModelOffer>
}

/** A model at a provider: the unit that the router ranks. */
export interface Candidate {
  readonly provider: ProviderConfig
  readonly offer: ModelOffer
  /**
   * The position of the key that a call uses, from 1. Absent if the provider has one key or none.
   */
  readonly key?: number
}

/** The name of a provider's key: the slug if the provider has one key. Slugs contain no `#`. */
export const keyName = ({ key, provider }: Pick<Candidate, "key" | "provider">): string =>
  key === undefined ? provider.slug : `${provider.slug}#${key}`

/** The candidate with each key of its provider. */
export const withEachKey = (candidate: Candidate): ReadonlyArray<Candidate> =>
  candidate.key !== undefined || candidate.provider.apiKeys === undefined
    ? [candidate]
    : candidate.provider.apiKeys.map((_, index) => ({ ...candidate, key: index + 1 }))

/** The time limits of a model at a provider. */
export const limitsOf = ({ offer, provider }: Candidate): Timeouts =>
  offer.timeouts === undefined ? provider.timeouts : { ...provider.timeouts, ...offer.timeouts }

export type SortAxis = "price" | "throughput" | "latency"

/** The reason why a provider was left out of a request's candidates. */
export interface Exclusion {
  readonly slug: string
  readonly model: string
  readonly reason: string
}
