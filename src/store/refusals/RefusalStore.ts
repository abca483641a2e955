/** The refused requests of the last months, stored in batches and read newest first. */
import { Context, type Effect } from "effect"
import { type Refusal } from "../../domain/Refusal.ts"
import { type Among } from "../Among.ts"
import { type StoreError } from "../StoreError.ts"

/** An absent or null member does not filter. `fromMs` is inclusive, `toMs` exclusive. */
export interface RefusalQuery {
  readonly limit: number
  /** Only ids below this one. */
  readonly cursor: string | null
  readonly keyId?: string | null
  readonly ownerId?: string
  readonly fromMs?: number
  readonly toMs?: number
  readonly model?: string
  readonly status?: number
  readonly type?: string
  readonly requestId?: string
  readonly id?: string
  /** Only refusals of one of these models, keys, owners or requests. */
  readonly among?: Among
}

/** Buckets begin at multiples of `bucketMs` since 1970. */
export interface RefusalSpan {
  readonly fromMs: number
  readonly toMs: number
  readonly bucketMs: number
}

/** The number of refusals of one type in one bucket. */
export interface RefusalBucket {
  readonly startMs: number
  readonly type: string
  readonly count: number
}

export type RefusalGroup = "day" | "model" | "key" | "owner"

/** `fromMs` inclusive, `toMs` exclusive. An absent or null member does not filter. */
export interface RefusalSums {
  readonly fromMs: number
  readonly toMs: number
  readonly keyId?: string | null
  readonly ownerId?: string | null
  readonly model?: string | null
  /** Null: one sum of all. */
  readonly groupBy: RefusalGroup | null
  /** The most groups. */
  readonly limit: number
}

/** `group`: a day (`2026-11-21`) or a name. Null: refusals without one, such as without a key. */
export interface RefusalSum {
  readonly group: string | null
  readonly count: number
}

export class RefusalStore extends Context.Service<
  RefusalStore,
  {
    readonly add: (refusals: ReadonlyArray<Refusal>) => Effect.Effect<void, StoreError>
    /** Newest first, by descending id. At most `limit`. */
    readonly list: (query: RefusalQuery) => Effect.Effect<ReadonlyArray<Refusal>, StoreError>
    /** Includes the refusals that a row stands for. */
    readonly series: (span: RefusalSpan) => Effect.Effect<ReadonlyArray<RefusalBucket>, StoreError>
    /** The number of refusals of each group, greatest first. */
    readonly sums: (query: RefusalSums) => Effect.Effect<ReadonlyArray<RefusalSum>, StoreError>
    /** Deletes at most `limit` refusals from before a moment. Returns how many. */
    readonly deleteBefore: (beforeMs: number, limit: number) => Effect.Effect<number, StoreError>
  }
>()("tollgate/store/refusals/RefusalStore") {}
