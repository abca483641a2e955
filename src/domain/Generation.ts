/**
 * A generation: the record that every chat completion leaves (spec.md) and, beyond it, the receipt that says how it came about
 * (contract §7). Prompts and completions are no part of it.
 */
import { type Exclusion } from "./Catalog.ts"
import { type Cost, type NanoUsd, type Prices, type TokenUsage } from "./Money.ts"

/** How a generation names the error that ended it. */
export const generationErrors = [
  "provider_error",
  "provider_timeout",
  "provider_unavailable",
  "provider_rate_limited",
  "model_not_found",
  "invalid_request",
  "context_length_exceeded",
  "dependency_unavailable",
  "budget_exceeded",
  "internal_error"
] as const
export type GenerationError = (typeof generationErrors)[number]

/** One call to one provider. `errorType` is null for the attempt that answered. */
export interface Attempt {
  readonly provider: string
  readonly model: string
  /** `ok`, `error`, `timeout`, `cancelled`, or `skipped` (its circuit was open). */
  readonly status: "ok" | "error" | "timeout" | "cancelled" | "skipped"
  readonly latencyMs: number
  readonly errorType: string | null
  /** The provider's HTTP status, if it answered at all. */
  readonly httpStatus: number | null
  /** What it is charged although another call ended the request; `totalNano`: without the markup. */
  readonly charge?: { readonly usage: TokenUsage; readonly totalNano: NanoUsd }
}

/** `provider`: as the provider reported; `counted`: counted here; `estimated`: settled by recovery after a crash; `cache`: replayed. */
export type UsageSource = "provider" | "counted" | "estimated" | "cache"

export interface ReservationReceipt {
  readonly reservedNano: NanoUsd
  /** What was added while the stream ran. */
  readonly extendedNano: NanoUsd
  readonly settledNano: NanoUsd
}

export interface Generation {
  readonly id: string
  readonly keyId: string
  readonly ownerId: string | null
  /** The model that answered, `author/slug`. */
  readonly model: string
  readonly provider: string
  readonly createdAtMs: number
  readonly usage: TokenUsage
  readonly usageSource: UsageSource
  readonly cost: Cost
  readonly latencyMs: number
  /** `null` when no token came. */
  readonly timeToFirstTokenMs: number | null
  readonly fallbackUsed: boolean
  readonly cacheHit: boolean
  readonly streamed: boolean
  /** The client left before the end. */
  readonly cancelled: boolean
  readonly finishReason: string | null
  /** The error type that ended it, for a generation that did not complete. */
  readonly errorType: string | null
  readonly attempts: ReadonlyArray<Attempt>
  readonly excluded: ReadonlyArray<Exclusion>
  /** Of the prompt's tier. */
  readonly price: Prices
  readonly reservation: ReservationReceipt
}

/** Why it ended, in the convention's own words; null: it did not, or in a provider's words, which are its own text. */
export const knownFinishReason = ({ finishReason }: Generation): string | null =>
  finishReason !== null && finishReasons.has(finishReason) ? finishReason : null

const finishReasons = new Set(["stop", "length", "tool_calls", "function_call", "content_filter", "error"])
