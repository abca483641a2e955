/**
 * One metered request on its way through the gateway: what is known when it starts, and what it gathers as it goes. `Facts` are the
 * few things that the edge shows in headers whatever the ending; `Account` is the meter's own book of the order.
 */
import { type Deferred, type Fiber } from "effect"
import { type Candidate, type Exclusion } from "../../domain/Catalog.ts"
import { type ChatRequest } from "../../domain/Chat.ts"
import { type EmbeddingRequest } from "../../domain/Embedding.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { type Generation } from "../../domain/Generation.ts"
import { type KeyRecord, type RateLimits, type Tier } from "../../domain/Key.ts"
import { type NanoUsd } from "../../domain/Money.ts"
import { type LimitHolder, type LimitVerdict } from "../../store/limits/Limits.ts"
import { type AttemptLog } from "../routing/AttemptLog.ts"
import { type RequestTrace } from "../telemetry/RequestTrace.ts"

/**
 * What the client's `Cache-Control` asks: `no-cache` answers fresh and stores, `no-store` does neither read nor store. A `max-age` asks for the
 * cache also where it would not be used otherwise, for an answer that is younger than this; 0 answers fresh and stores.
 */
export type CacheControl = "use" | "no-cache" | "no-store" | { readonly maxAgeSeconds: number }

/** Whether no answer that was given before will do. */
export const asksAfresh = (control: CacheControl): boolean =>
  control === "no-cache" || (typeof control === "object" && control.maxAgeSeconds === 0)

export interface ResponseMetadata {
  generationId: string | null
  limits: LimitVerdict | null
  cache: "hit" | "miss" | "bypass" | null
  provider: string | null
  /** What was asked for, once that is known. */
  operation: "chat" | "embeddings" | null
  /** Of the key. */
  tier: Tier | null
  /** How it ended, for a request that left a generation. */
  generation: Generation | null
  /** The reply is that of an earlier request with the same `Idempotency-Key`. */
  replayed: boolean
  /** Its spans; null: it is not traced. */
  trace: RequestTrace | null
}

export const emptyResponseMetadata = (): ResponseMetadata => ({
  generationId: null,
  limits: null,
  cache: null,
  provider: null,
  operation: null,
  tier: null,
  generation: null,
  replayed: false,
  trace: null
})

/** How long the client waits for an answer to begin. */
export interface ClientDeadline {
  readonly ms: number
  /** Said for the gateway to use up; else it is only how the client happens to be set. */
  readonly explicit: boolean
}

/** Who asks: the key, and the limits that its tier has here. */
export interface Caller {
  readonly key: KeyRecord
  readonly limits: RateLimits
  /** Whose keys share one more set of limits; absent or null: the key belongs to nobody. */
  readonly owner?: { readonly id: string; readonly limits: RateLimits } | null
}

/** The caller as the limit store knows it. */
export const holderOf = ({ key, limits, owner }: Caller): LimitHolder => ({
  keyId: key.id,
  limits,
  owner: owner ?? null
})

/** `intent`: the write of the reservation, when it runs beside the provider's work. `settled`: the order is closed in the ledger. */
export interface ReservationState {
  pendingReserve: Fiber.Fiber<void, GatewayError> | null
  /** Of an ending that the database did not take at once: whether it was written in the end. */
  late: Deferred.Deferred<boolean> | null
  /** Held before the work began. */
  reservedNano: NanoUsd
  /** Held on top of it since. */
  extendedNano: NanoUsd
  /** Output tokens, of all choices together, that what is held pays for; null: nobody counts them, for want of a cap or a price. */
  heldTokens: number | null
  /** A slice of the worst case is held: more has to be asked for while the answer comes. */
  sliced: boolean
  /** The output was bounded by the budget to less than the client asked for. */
  clamped: boolean
  opened: boolean
  settled: boolean
  /** Tokens that the rate limit took for the prompt. */
  takenTokens: number
}

export interface Order<Request = ChatRequest | EmbeddingRequest> {
  readonly generationId: string
  readonly caller: Caller
  /** The client's, or what the privacy guard made of it. */
  request: Request
  /** As the client named it, or its full id once that is known. */
  readonly model: string
  /** Who may serve it, best first; empty when nobody may. */
  readonly ranked: ReadonlyArray<Candidate>
  readonly excluded: ReadonlyArray<Exclusion>
  /** What a request that nobody may serve ends with, once the policies have let it through. */
  readonly unroutable: GatewayError | null
  readonly startedAtMs: number
  /** The UTC month in which the request began, and by which it is billed. */
  readonly month: string
  /** Of `request` as it is sent. */
  promptTokens: number
  /** Completion tokens that the client allows for all choices together; `null`: it did not say. */
  readonly outputTokens: number | null
  /** What the prompt cache calls it, once somebody had to know. */
  cacheName: string | null
  /** How many choices were asked for. */
  readonly choices: number
  readonly streamed: boolean
  readonly facts: ResponseMetadata
  /** `null`: the client did not say. */
  readonly patience: ClientDeadline | null
  /** Completion tokens a choice that the reservation affords; `null`: no bound beyond the client's own. */
  affordableTokens: number | null
  /** Its calls to providers, written by the router alone. */
  readonly log: AttemptLog
  readonly account: ReservationState
}

/** The candidate of the order that goes by these names. */
export const rankedAs = ({ ranked }: Order<unknown>, provider: string, model: string): Candidate | undefined =>
  ranked.find((candidate) => candidate.provider.slug === provider && candidate.offer.id === model)
