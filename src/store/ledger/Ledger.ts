/**
 * The ledger: what each key has spent and reserved in each UTC month. Every request is reserved, then settled or voided,
 * once; an answer given again is checked and settled in one. The counters of a key and month change in the same transaction
 * as the entries that they sum up, and a key with a cap never has spent + reserved above it. What one process writes for one
 * id is written in the order in which it was asked for, also when nobody waited for it; an interrupted call was either
 * written or not. The generations that it settles are read by way of the `GenerationStore`, and summed up by
 * `LedgerReports`.
 */
import { Context, type Effect } from "effect"
import { type Generation } from "../../domain/Generation.ts"
import { type NanoUsd, type Prices } from "../../domain/Money.ts"
import { type StoreError } from "../StoreError.ts"

/** The intent of one request. `month`: `2026-11`, that in which the request began. */
export interface Reservation {
  readonly generationId: string
  readonly keyId: string
  readonly ownerId: string | null
  readonly model: string
  readonly month: string
  readonly amountNano: NanoUsd
  /** `null`: the key has no cap; the reservation is recorded all the same. */
  readonly capNano: NanoUsd | null
  readonly createdAtMs: number
  /** How long the request is its process's alone. After that without a sign of life anybody may settle it. */
  readonly leaseMs: number
  /** The process that works on it. */
  readonly processId: string
  /** What is known before the work begins; absent or null: nothing. */
  readonly progress?: Progress | null
}

/** How far a request is, in what it has produced and what that costs: what is charged should its process die. */
export interface Progress {
  readonly provider: string
  readonly model: string
  readonly streamed: boolean
  readonly promptTokens: number
  readonly completionTokens: number
  readonly promptNano: NanoUsd
  readonly completionNano: NanoUsd
  readonly markupNano: NanoUsd
  readonly latencyMs: number
  readonly timeToFirstTokenMs: number | null
  readonly price: Prices
}

/** A request that its process works on. `progress` null: as before. */
export interface Running {
  readonly generationId: string
  readonly progress: Progress | null
}

export interface Balance {
  readonly spentNano: NanoUsd
  readonly reservedNano: NanoUsd
}

/** `Refused`: what was asked for would have taken the key over its cap; nothing was written. */
export type ReserveResult = { readonly _tag: "Reserved" } | { readonly _tag: "Refused"; readonly balance: Balance }

export class Ledger extends Context.Service<
  Ledger,
  {
    /** Writes the intent and, for a capped key, holds `amountNano` if it still fits. A second call with the same id changes nothing. */
    readonly reserve: (reservation: Reservation) => Effect.Effect<ReserveResult, StoreError>
    /**
     * Adds to what a pending reservation holds, if it still fits. Refused as well when the id is not pending (any more). Not
     * idempotent: after a `StoreError` the amount may have been added; what ends the reservation releases it all the same.
     */
    readonly extend: (
      generationId: string,
      amountNano: NanoUsd,
      capNano: NanoUsd | null
    ) => Effect.Effect<ReserveResult, StoreError>
    /** A heartbeat: the leases of these reservations begin anew, and what is told of their progress is kept. */
    readonly renew: (running: ReadonlyArray<Running>, leaseMs: number) => Effect.Effect<void, StoreError>
    /**
     * Ends a reservation: releases what it held, extensions included, adds what the generation billed, stores the generation. Once: a second call
     * with the same id changes nothing. A generation that was never reserved is stored and counted
     * all the same; `month` is that in which it began. One that recovery has estimated meanwhile takes the estimate's place in all
     * books, and what the key's cap has no room for is not charged.
     */
    readonly settle: (generation: Generation, month: string) => Effect.Effect<void, StoreError>
    /**
     * Settles an answer given again, which bills nothing and needs no reservation, if `amountNano` would fit below the cap: what a fresh
     * answer would have had to reserve. It is held at no time. A generation that is known already is settled without asking, once.
     */
    readonly replay: (
      generation: Generation,
      month: string,
      amountNano: NanoUsd,
      capNano: NanoUsd | null
    ) => Effect.Effect<ReserveResult, StoreError>
    /** Ends a reservation that came to nothing: releases what it held and removes the intent, or what recovery made of it. Once. */
    readonly void: (generationId: string) => Effect.Effect<void, StoreError>
    /** A balance for each key asked for; zeros for one that neither spent nor reserved. */
    readonly balances: (
      keyIds: ReadonlyArray<string>,
      month: string
    ) => Effect.Effect<ReadonlyMap<string, Balance>, StoreError>
    /**
     * Settles the reservations whose lease is over: each is charged what its last sign of life knew, and stored as a generation marked
     * `estimated`. Answers how many: none where another process is at it, which is not waited for.
     */
    readonly settleExpired: Effect.Effect<number, StoreError>
    /** Writes something of no consequence, for health checks: what cannot be written to serves nobody. */
    readonly ping: Effect.Effect<void, StoreError>
  }
>()("tollgate/store/ledger/Ledger") {}
