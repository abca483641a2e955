/**
 * What there is to route to: providers with their address, data policy and time limits, and the models that each of them
 * offers at its price. Settings and presets produce these records; routing, pricing and the model list read them.
 */
import { type Redacted } from "effect"
import { type Pricing } from "./Money.ts"

export type DialectName = "openai" | "anthropic" | "gemini" | "bedrock" | "mock"

/** What a provider does with prompts. An unknown policy counts as training and retaining (contract §8). */
export interface DataPolicy {
  readonly training: boolean
  readonly retainsPrompts: boolean
  /** `null`: not known. */
  readonly retentionDays: number | null
  /** Zero data retention. */
  readonly zdr: boolean
}

export const unknownPolicy: DataPolicy = { training: true, retainsPrompts: true, retentionDays: null, zdr: false }

/** `data_collection: "deny"` keeps only providers that neither train on prompts nor retain them. */
export const deniesCollection = (policy: DataPolicy): boolean =>
  !policy.training && !policy.retainsPrompts && policy.zdr

/** All in milliseconds. `firstTokenMs` runs from the request to the first token; `idleMs` between tokens. */
export interface Timeouts {
  readonly connectMs: number
  readonly firstTokenMs: number
  readonly idleMs: number
  readonly totalMs: number
}

export const defaultTimeouts: Timeouts = { connectMs: 5_000, firstTokenMs: 15_000, idleMs: 120_000, totalMs: 600_000 }

/** One model at one provider. */
export interface ModelOffer {
  /** What clients name: `author/slug`. */
  readonly id: string
  /** What the provider calls it. */
  readonly upstream: string
  /** In tokens; `null`: not known. */
  readonly contextLength: number | null
  readonly maxCompletionTokens: number | null
  readonly pricing: Pricing
  readonly embeddings: boolean
  /** Continues from a trailing assistant message, so that a cut stream can go on here. */
  readonly prefill: boolean
  /** Thinks in tokens that are paid for and not shown: what it used is known at the end only. */
  readonly hidesReasoning: boolean
}

export interface ProviderConfig {
  /** What `provider.order` names. */
  readonly slug: string
  readonly name: string
  readonly dialect: DialectName
  /** Without a trailing slash; empty for the mock. */
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted | null
  /** How the key travels; `bearer` unless the vendor has a header of its own (Azure: `api-key`). */
  readonly auth:
    { readonly type: "bearer" } | { readonly type: "header"; readonly name: string } | { readonly type: "none" }
  /** Sent with every call, e.g. a vendor's version header. */
  readonly headers: Readonly<Record<string, string>>
  /** Appended to every call's address, e.g. Azure's `api-version`. */
  readonly query: Readonly<Record<string, string>>
  /** Offers HTTP/2 to a server behind TLS, which then carries many calls on one connection; HTTP/1.1 by default. */
  readonly http2?: boolean
  readonly dataPolicy: DataPolicy
  readonly timeouts: Timeouts
  readonly models: ReadonlyArray<ModelOffer>
}

/** A model of a provider: what the router ranks. */
export interface Candidate {
  readonly provider: ProviderConfig
  readonly offer: ModelOffer
}

export type SortAxis = "price" | "throughput" | "latency"

/** Why a provider was left out of a request's candidates. */
export interface Exclusion {
  readonly slug: string
  readonly model: string
  readonly reason: string
}
