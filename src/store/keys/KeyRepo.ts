/**
 * Stores API keys. The caller makes ids, hashes and timestamps, and the store writes them
 * atomically. A key is never deleted: revoking keeps the row, so that generations keep their owner.
 */
import { Context, type Effect, type Option } from "effect"
import { type GatewayError } from "../../domain/Errors.ts"
import { type KeyRecord, type KeyState, type KeyStatus, type Tier } from "../../domain/Key.ts"
import { type NanoUsd } from "../../domain/pricing/Money.ts"
import { type StoreError } from "../StoreError.ts"

/** Members to change. An absent member stays as it is. */
export type KeyPatch = Partial<
  Pick<
    KeyRecord,
    | "name"
    | "tier"
    | "scopes"
    | "state"
    | "monthlyBudgetNano"
    | "allowedModels"
    | "privacy"
    | "expiresAtMs"
    | "revokedAtMs"
    | "publicId"
    | "secretHash"
    | "previousSecretHash"
    | "previousValidUntilMs"
    | "prefix"
  >
>

export interface SecretRotation {
  readonly id: string
  /** The hash that the key must have now; otherwise the rotation changes nothing. */
  readonly oldHash: string
  readonly newHash: string
  /** When the old secret stops working; null means at once. */
  readonly oldUntilMs: number | null
  readonly nowMs: number
}

export interface KeyPage {
  readonly keys: ReadonlyArray<KeyRecord>
  /** The id to pass as `cursor` for the next page; null on the last page. */
  readonly nextCursor: string | null
}

export interface KeyFilter {
  /** Absent: the keys of all owners. */
  readonly ownerId?: string
  /** A part of the name, in any case, or the whole id or prefix. */
  readonly search?: string
  readonly status?: KeyStatusFilter
}

/** `live`: active or disabled. */
export interface KeyStatusFilter {
  readonly is: KeyStatus | "live"
  readonly nowMs: number
}

/**
 * `created` and `last_used`: the latest first. `expires`: the earliest first, and keys without an
 * expiry last. `spent`: the most expensive of a month first.
 */
export const keySorts = ["created", "name", "last_used", "expires", "spent"] as const
export type KeySort = (typeof keySorts)[number]

export interface KeyQuery extends KeyFilter {
  readonly limit: number
  /** The id of the last key of the page before. */
  readonly cursor: string | null
  /** Default: `created`. */
  readonly sort?: KeySort
  /** The other direction of the order. */
  readonly isReversed?: boolean
  /** The month of the order `spent`, such as `2026-11`. */
  readonly month?: string
}

/** The keys of a bulk change, as they are afterwards. */
export interface KeysChanged {
  readonly keys: ReadonlyMap<string, KeyRecord>
  /** The ids of those that had another state before. */
  readonly changed: ReadonlySet<string>
}

/** What the keys of an owner add up to. */
export interface OwnerFigures {
  /** Number of keys that are not revoked. */
  readonly keys: number
  /** Of all keys, in one month. */
  readonly spentNano: NanoUsd
  readonly reservedNano: NanoUsd
}

export interface CappedKey {
  readonly id: string
  readonly capNano: NanoUsd
}

export interface KeyCounts {
  readonly byStatus: Readonly<Record<KeyStatus, number>>
  readonly byTier: Readonly<Record<Tier, number>>
}

export class KeyRepo extends Context.Service<
  KeyRepo,
  {
    readonly insert: (key: KeyRecord) => Effect.Effect<void, StoreError>
    /** The key with this public id. None while its owner is suspended. */
    readonly findByPublicId: (publicId: string) => Effect.Effect<Option.Option<KeyRecord>, StoreError>
    /** The tier that an admin granted to a key's owner, or null. */
    readonly ownerTier: (ownerId: string) => Effect.Effect<Tier | null, StoreError>
    readonly get: (id: string) => Effect.Effect<Option.Option<KeyRecord>, StoreError>
    /**
     * In the order of the query, and of ids. `limit` is 1 to 1,000.
     */
    readonly list: (query: KeyQuery) => Effect.Effect<KeyPage, StoreError>
    /** The number of keys that a list has, on all its pages. */
    readonly total: (query: KeyFilter) => Effect.Effect<number, StoreError>
    /** The names of keys by their ids. Unknown ids are left out. */
    readonly named: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, string>, StoreError>
    /**
     * Applies a patch and returns the new record, or none when there is no such key. A revoked key
     * stays revoked.
     */
    readonly update: (id: string, patch: KeyPatch, nowMs: number) => Effect.Effect<Option.Option<KeyRecord>, StoreError>
    /**
     * Sets the state of several keys in one step: of all of them, or of none if it fails. Revoked
     * keys stay revoked, and unknown ids are left out.
     */
    readonly setState: (
      ids: ReadonlyArray<string>,
      state: KeyState,
      nowMs: number
    ) => Effect.Effect<KeysChanged, StoreError>
    /** The figures of owners by their ids. Owners without keys are left out. */
    readonly ofOwners: (
      ownerIds: ReadonlyArray<string>,
      month: string
    ) => Effect.Effect<ReadonlyMap<string, OwnerFigures>, StoreError>
    /**
     * Replaces a key's secret. None when the secret has changed since, or the key is revoked or
     * absent.
     */
    readonly rotate: (rotation: SecretRotation) => Effect.Effect<Option.Option<KeyRecord>, StoreError>
    /**
     * Runs a decision about an owner's keys, one at a time across all processes. Its writes to the
     * stores of this database apply together when it succeeds, and not at all when it fails. The
     * decision must wait for stores only.
     */
    readonly exclusively: <A, R>(
      ownerId: string,
      decision: Effect.Effect<A, GatewayError | StoreError, R>
    ) => Effect.Effect<A, GatewayError | StoreError, R>
    /**
     * Suspends an owner or lifts the suspension. While it lasts, `findByPublicId` finds no key of
     * the owner, including keys made later.
     */
    readonly suspendOwner: (ownerId: string, suspended: boolean) => Effect.Effect<void, StoreError>
    /** Records the last use of several keys at once. A time never moves backwards. */
    readonly touch: (uses: ReadonlyMap<string, number>) => Effect.Effect<void, StoreError>
    /** The active keys that have a cap, ordered by id. `limit` is 1 to 1,000. */
    readonly capped: (options: {
      readonly limit: number
      readonly afterId: string | null
      readonly nowMs: number
    }) => Effect.Effect<ReadonlyArray<CappedKey>, StoreError>
    /** `byTier` counts active keys only. */
    readonly counts: (nowMs: number) => Effect.Effect<KeyCounts, StoreError>
  }
>()("tollgate/store/keys/KeyRepo") {}
