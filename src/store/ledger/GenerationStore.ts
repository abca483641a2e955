/**
 * The generations of the ledger: the settled ones, and whether a reserved one is still running. Old
 * generations may move to an archive, where they are found as before, or be deleted. Their cost
 * stays in the ledger.
 */
import { Context, type Effect, type Option } from "effect"
import { type Generation } from "../../domain/Generation.ts"
import { type Among } from "../Among.ts"
import { type StoreError } from "../StoreError.ts"

/** `Pending`: reserved and not settled yet. `isOver`: its lease has expired. */
export type GenerationState =
  { readonly _tag: "Settled"; readonly generation: Generation } | { readonly _tag: "Pending"; readonly isOver: boolean }

export interface GenerationPage {
  readonly generations: ReadonlyArray<Generation>
  readonly nextCursor: string | null
}

/** `fromMs` is inclusive, `toMs` exclusive. */
export interface GenerationQuery {
  /** `null`: all keys. */
  readonly keyId: string | null
  /** Only keys of this user. */
  readonly ownerId?: string
  readonly limit: number
  readonly cursor: string | null
  readonly fromMs?: number
  readonly toMs?: number
  readonly model?: string
  readonly provider?: string
  /** An error type, `any` for all failed generations, or `none` for the others. */
  readonly error?: string
  readonly id?: string
  /** `X-Request-Id`. */
  readonly requestId?: string
  /** The status that was sent. */
  readonly status?: number
  /** A provider that was called, whether it answered or not. */
  readonly attempted?: string
  readonly fallbackUsed?: true
  readonly cacheHit?: true
  readonly cancelled?: boolean
  /**
   * Only generations of one of these models, keys, owners or requests. Not together with
   * `attempted`.
   */
  readonly among?: Among
}

/**
 * A list is sorted among the newest matches, so that each sort reads a bounded number of rows: of a
 * search that many for each name that it finds.
 */
export const mostSorted = ({ among }: Pick<GenerationQuery, "among">): number => (among === undefined ? 5_000 : 1_000)

/** `cost`: the dearest first. `latency`: the slowest first. */
export type GenerationSort = "cost" | "latency"

export class GenerationStore extends Context.Service<
  GenerationStore,
  {
    /** The generation, if it belongs to this key and this owner. `null`: any key, any owner. */
    readonly find: (
      id: string,
      keyId: string | null,
      ownerId?: string | null
    ) => Effect.Effect<Option.Option<GenerationState>, StoreError>
    /** Settled generations, newest first (by descending id). */
    readonly list: (query: GenerationQuery) => Effect.Effect<GenerationPage, StoreError>
    /**
     * The dearest or slowest of the newest that match (`mostSorted`), at most `limit`. It has no
     * cursor.
     */
    readonly top: (
      query: Omit<GenerationQuery, "cursor">,
      by: GenerationSort
    ) => Effect.Effect<ReadonlyArray<Generation>, StoreError>
    /**
     * Deletes at most `limit` generations that began before a moment and are not archived, without
     * waiting for locks. Returns how many. Their cost stays in the ledger.
     */
    readonly deleteBefore: (beforeMs: number, limit: number) => Effect.Effect<number, StoreError>
    /**
     * Archives at most `limit` generations that began before a moment, which is at least a day ago,
     * without waiting for locks. Returns how many; 0 while another process does this. Reads find
     * them as before.
     */
    readonly archive: (beforeMs: number, limit: number) => Effect.Effect<number, StoreError>
    /**
     * Deletes the archived generations of each UTC month that ended before a moment, a month at a
     * time. Their cost stays in the ledger.
     */
    readonly deleteArchivedBefore: (beforeMs: number) => Effect.Effect<void, StoreError>
  }
>()("tollgate/store/ledger/GenerationStore") {}
