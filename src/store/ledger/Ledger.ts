/**
 * The ledger: what each key has spent and reserved in each UTC month. Every request is reserved,
 * and then settled or voided, once. A replayed answer is checked and settled in one step. The
 * counters of a key and month change in the same transaction as the entries they sum up. For a key
 * with a cap, spent + reserved never exceeds the cap. The writes of one process for one id are
 * applied in call order. An interrupted call was either applied or not. `GenerationStore` reads the
 * settled generations, and `LedgerReports` sums them up.
 */
import { Context, type Effect } from "effect"
import { type AnsweredRequest, type Generation } from "../../domain/Generation.ts"
import { type BillLine, type NanoUsd, type Prices } from "../../domain/pricing/Money.ts"
import { type StoreError } from "../StoreError.ts"

/**
 * A reservation for one request. `month` is the month in which the request began, such as
 * `2026-11`.
 */
export interface Reservation {
  readonly generationId: string
  readonly keyId: string
  readonly ownerId: string | null
  readonly model: string
  readonly month: string
  readonly amountNano: NanoUsd
  /** `null`: the key has no cap. The reservation is recorded nevertheless. */
  readonly capNano: NanoUsd | null
  readonly createdAtMs: number
  /**
   * How long the reservation belongs to its process. Without a heartbeat in this time, any process
   * may settle it.
   */
  readonly leaseMs: number
  /** The process that serves the request. */
  readonly processId: string
  /** Progress that is known before the work begins. Absent or null: none. */
  readonly progress?: Progress | null
}

/**
 * The progress of a request: what it has produced and what that costs. It is charged if the process
 * dies.
 */
export interface Progress {
  readonly provider: string
  readonly model: string
  readonly streamed: boolean
  readonly promptTokens: number
  readonly completionTokens: number
  readonly promptNano: NanoUsd
  readonly completionNano: NanoUsd
  readonly markupNano: NanoUsd
  /** They add up to the prompt and the completion. */
  readonly lines: ReadonlyArray<BillLine>
  readonly latencyMs: number
  readonly timeToFirstTokenMs: number | null
  readonly price: Prices
  readonly request?: AnsweredRequest
}

/** A running request of a process. `progress: null` leaves the recorded progress unchanged. */
export interface Running {
  readonly generationId: string
  readonly progress: Progress | null
}

export interface Balance {
  readonly spentNano: NanoUsd
  readonly reservedNano: NanoUsd
}

/** `Refused`: the amount does not fit below the key's cap. Nothing was written. */
export type ReserveResult = { readonly _tag: "Reserved" } | { readonly _tag: "Refused"; readonly balance: Balance }

export class Ledger extends Context.Service<
  Ledger,
  {
    /**
     * Records the reservation and, for a key with a cap, holds `amountNano` if it fits. A second
     * call with the same id changes nothing.
     */
    readonly reserve: (reservation: Reservation) => Effect.Effect<ReserveResult, StoreError>
    /**
     * Adds to the amount of a pending reservation, if it fits. It is also refused when the id is
     * not pending. Not idempotent: after a `StoreError` the amount may have been added. The end of
     * the reservation releases it in any case.
     */
    readonly extend: (
      generationId: string,
      amountNano: NanoUsd,
      capNano: NanoUsd | null
    ) => Effect.Effect<ReserveResult, StoreError>
    /** A heartbeat: renews the leases of these reservations and records their progress. */
    readonly renew: (running: ReadonlyArray<Running>, leaseMs: number) => Effect.Effect<void, StoreError>
    /**
     * Ends a reservation: releases its whole amount, adds the billed amount, stores the generation.
     * Once: a second call with the same id changes nothing. A generation without a reservation is
     * stored and counted too; `month` is the month in which it began. If recovery has settled it as
     * an estimate, the generation replaces the estimate, and an amount that does not fit below the
     * key's cap is not charged.
     */
    readonly settle: (generation: Generation, month: string) => Effect.Effect<void, StoreError>
    /**
     * Settles a replayed answer, which bills nothing and needs no reservation, if `amountNano`
     * would fit below the cap. That is the amount that a fresh answer would reserve; it is never
     * held. A known generation is settled without this check, once.
     */
    readonly replay: (
      generation: Generation,
      month: string,
      amountNano: NanoUsd,
      capNano: NanoUsd | null
    ) => Effect.Effect<ReserveResult, StoreError>
    /**
     * Ends a reservation without a charge: releases its amount and removes it, or the estimate that
     * recovery made of it. Once.
     */
    readonly void: (generationId: string) => Effect.Effect<void, StoreError>
    /** The balance of each requested key. A key without entries has zeros. */
    readonly balances: (
      keyIds: ReadonlyArray<string>,
      month: string
    ) => Effect.Effect<ReadonlyMap<string, Balance>, StoreError>
    /**
     * Settles the reservations whose lease has expired. Each is charged by the progress of its last
     * heartbeat and stored as a generation marked `estimated`. Returns how many; 0 at once while
     * another process does this.
     */
    readonly settleExpired: Effect.Effect<number, StoreError>
    /**
     * A write without effect, for health checks: a ledger that cannot be written to is unhealthy.
     */
    readonly ping: Effect.Effect<void, StoreError>
  }
>()("tollgate/store/ledger/Ledger") {}
