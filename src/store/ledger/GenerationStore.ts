/**
 * The generations of the ledger: those that it has settled, and of those that it has reserved that they are under way. Old
 * ones may move to an archive, where they are found as before, or be deleted; what they cost stays in the ledger's books.
 */
import { Context, type Effect, type Option } from "effect"
import { type Generation } from "../../domain/Generation.ts"
import { type StoreError } from "../StoreError.ts"

/** `Pending`: reserved and not settled yet. `isOver`: its lease has run out. */
export type GenerationState =
  { readonly _tag: "Settled"; readonly generation: Generation } | { readonly _tag: "Pending"; readonly isOver: boolean }

export interface GenerationPage {
  readonly generations: ReadonlyArray<Generation>
  readonly nextCursor: string | null
}

/** `fromMs` inclusive, `toMs` exclusive. */
export interface GenerationQuery {
  /** `null`: every key's. */
  readonly keyId: string | null
  /** Only those of this user's keys. */
  readonly ownerId?: string
  readonly limit: number
  readonly cursor: string | null
  readonly fromMs?: number
  readonly toMs?: number
  readonly model?: string
  readonly provider?: string
  /** An error type; `any`: those that failed; `none`: those that did not. */
  readonly error?: string
}

export class GenerationStore extends Context.Service<
  GenerationStore,
  {
    /** The generation, if it is this key's, and this owner's; another's answers none. `null`: whosever it is. */
    readonly find: (
      id: string,
      keyId: string | null,
      ownerId?: string | null
    ) => Effect.Effect<Option.Option<GenerationState>, StoreError>
    /** Settled generations, newest first (by id, descending). */
    readonly list: (query: GenerationQuery) => Effect.Effect<GenerationPage, StoreError>
    /**
     * Deletes at most `limit` generations that began before a moment and are not archived, and waits for nobody; answers how many. What
     * they cost stays.
     */
    readonly forget: (beforeMs: number, limit: number) => Effect.Effect<number, StoreError>
    /**
     * Moves at most `limit` generations that began before a moment, at least a day ago, out of the way of the requests, and waits for
     * nobody; answers how many: none where another process is at it. Whoever reads finds them as before.
     */
    readonly archive: (beforeMs: number, limit: number) => Effect.Effect<number, StoreError>
    /** Deletes the archived generations of each UTC month that was over before a moment, a month as a whole. What they cost stays. */
    readonly forgetArchived: (beforeMs: number) => Effect.Effect<void, StoreError>
  }
>()("tollgate/store/ledger/GenerationStore") {}
