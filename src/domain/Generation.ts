/**
 * A generation: the record that every chat completion leaves, with a receipt of its attempts,
 * prices and reservation. It contains no prompts and no completions.
 */
import { type Exclusion } from "./Catalog.ts"
import { type Cost, type NanoUsd, type Prices, type TokenUsage } from "./pricing/Money.ts"

/** The error types of failed generations. */
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
  /**
   * The position of the key among the provider's keys, from 1. Absent if it has one key or none.
   */
  readonly key?: number
  /** `skipped`: its circuit was open. */
  readonly status: "ok" | "error" | "timeout" | "cancelled" | "skipped"
  readonly latencyMs: number
  /** From the beginning of the request. Absent in records of earlier versions. */
  readonly startedMs?: number
  /** The end of the call, of a stream the end of the stream. Absent while it runs. */
  readonly endedMs?: number
  readonly errorType: string | null
  /** The provider's HTTP status, or null without an answer. */
  readonly httpStatus: number | null
  /**
   * What the provider said about its failure, without secrets, at most 300 characters. For
   * operators.
   */
  readonly message?: string
  /** Charge of an attempt that was not the final one. `totalNano` excludes the markup. */
  readonly charge?: { readonly usage: TokenUsage; readonly totalNano: NanoUsd }
}

/**
 * `provider`: reported by the provider. `counted`: counted by the gateway. `estimated`: settled by
 * recovery after a crash. `cache`: replayed.
 */
export type UsageSource = "provider" | "counted" | "estimated" | "cache"

/**
 * Whether a conversation stayed with the provider's key that warmed its prompt cache. `moved`: it
 * was answered elsewhere. `new`: no earlier answer is known.
 */
export const stickyStates = ["hit", "moved", "new"] as const
export type Sticky = (typeof stickyStates)[number]

export interface ReservationReceipt {
  readonly reservedNano: NanoUsd
  /** Added while the stream ran. */
  readonly extendedNano: NanoUsd
  readonly settledNano: NanoUsd
}

/** The HTTP request that a generation answered. */
export interface AnsweredRequest {
  /** `X-Request-Id`. */
  readonly id: string
  /** The method and the declared path. */
  readonly endpoint: string
  /**
   * The status that was sent. 499: the client left before. A stream that failed before its first
   * token has the status of its error.
   */
  readonly status: number
}

export interface Generation {
  readonly id: string
  readonly keyId: string
  readonly ownerId: string | null
  /** The model that answered, `author/slug`. */
  readonly model: string
  readonly provider: string
  /** The client's name for the model, where that is not the id of the model asked for. */
  readonly requestedModel?: string
  readonly createdAtMs: number
  readonly usage: TokenUsage
  readonly usageSource: UsageSource
  readonly cost: Cost
  readonly latencyMs: number
  /** `null` without a token. */
  readonly timeToFirstTokenMs: number | null
  readonly fallbackUsed: boolean
  readonly cacheHit: boolean
  readonly streamed: boolean
  /** The client left before the end. */
  readonly cancelled: boolean
  readonly finishReason: string | null
  /** The error type of a generation that did not complete. */
  readonly errorType: string | null
  readonly attempts: ReadonlyArray<Attempt>
  readonly excluded: ReadonlyArray<Exclusion>
  /** The prices of the tier that the prompt falls into. */
  readonly price: Prices
  readonly reservation: ReservationReceipt
  /** Absent if the request had one place to go to, or was not answered by a provider. */
  readonly sticky?: Sticky
  /** Numbers, switches and words of the request. Undefined in records of earlier versions. */
  readonly parameters?: Readonly<Record<string, string | number | boolean>>
  /** Numbers of values that were masked, by type. Undefined: none. */
  readonly masked?: Readonly<Record<string, number>>
  /** Undefined in records of earlier versions. */
  readonly request?: AnsweredRequest
  /** The members of the request that the provider did not get. Undefined: it got all of them. */
  readonly dropped?: ReadonlyArray<string>
}

/**
 * The finish reason, if it is one of OpenAI's. A provider's own reason is free text, so it becomes
 * null.
 */
export const knownFinishReason = ({ finishReason }: Generation): string | null =>
  finishReason !== null && finishReasons.has(finishReason) ? finishReason : null

const finishReasons = new Set(["stop", "length", "tool_calls", "function_call", "content_filter", "error"])
