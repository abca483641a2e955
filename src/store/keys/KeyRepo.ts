/**
 * Where API keys live. Business code makes ids, hashes and timestamps; the store writes what it is given, atomically, and
 * reads it back. A key is never deleted: revoking keeps the row, so that generations keep their owner.
 */
import { Context, type Effect, Layer, type Option } from "effect"
import { type GatewayError } from "../../domain/Errors.ts"
import { type KeyRecord, type KeyStatus, type Tier } from "../../domain/Key.ts"
import { type NanoUsd } from "../../domain/Money.ts"
import { makeKeyRepoMemory } from "./KeyRepoMemory.ts"
import { makeKeyRepoSql } from "./KeyRepoSql.ts"
import { type StoreError } from "../StoreError.ts"

/** Members to change; an absent member stays as it is. */
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
  /** What the key's hash is, or nothing is changed. */
  readonly oldHash: string
  readonly newHash: string
  /** How long the old secret goes on opening; `null`: it stops now. */
  readonly oldUntilMs: number | null
  readonly nowMs: number
}

export interface KeyPage {
  readonly keys: ReadonlyArray<KeyRecord>
  /** The id to pass as `cursor` for the next page; `null`: this was the last. */
  readonly nextCursor: string | null
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
    /** The key that a secret names; none while its owner is suspended. */
    readonly findByPublicId: (publicId: string) => Effect.Effect<Option.Option<KeyRecord>, StoreError>
    /** The tier that an admin granted to a key's owner; null: nobody did. */
    readonly ownerTier: (ownerId: string) => Effect.Effect<Tier | null, StoreError>
    readonly get: (id: string) => Effect.Effect<Option.Option<KeyRecord>, StoreError>
    /** Newest first (by id, descending). `ownerId` undefined: everyone's. `limit` is 1 to 1,000. */
    readonly list: (options: {
      readonly limit: number
      readonly cursor: string | null
      readonly ownerId?: string
    }) => Effect.Effect<KeyPage, StoreError>
    /** Applies a patch and answers the record as it is then; none when there is no such key. A revoked key stays revoked. */
    readonly update: (id: string, patch: KeyPatch, nowMs: number) => Effect.Effect<Option.Option<KeyRecord>, StoreError>
    /** Replaces a key's secret. None: it is another one by now, or the key is revoked, or there is none. */
    readonly rotate: (rotation: SecretRotation) => Effect.Effect<Option.Option<KeyRecord>, StoreError>
    /**
     * Runs a decision about an owner's keys while no other one runs, in any process. What it writes by the stores of this database holds
     * all at once when it is over, or not at all when it failed. It waits for nothing but stores.
     */
    readonly exclusively: <A, R>(
      ownerId: string,
      decision: Effect.Effect<A, GatewayError | StoreError, R>
    ) => Effect.Effect<A, GatewayError | StoreError, R>
    /** Suspends an owner, or lifts that: no key of a suspended owner, present or to come, is found by its public id. */
    readonly suspendOwner: (ownerId: string, suspended: boolean) => Effect.Effect<void, StoreError>
    /** Records the last use of several keys at once; never moves a time backwards. */
    readonly touch: (uses: ReadonlyMap<string, number>) => Effect.Effect<void, StoreError>
    /** The active keys that have a cap, in the order of their ids. `limit` is 1 to 1,000. */
    readonly capped: (options: {
      readonly limit: number
      readonly afterId: string | null
      readonly nowMs: number
    }) => Effect.Effect<ReadonlyArray<CappedKey>, StoreError>
    /** `byTier` counts active keys only. */
    readonly counts: (nowMs: number) => Effect.Effect<KeyCounts, StoreError>
  }
>()("tollgate/store/keys/KeyRepo") {
  static readonly layer = Layer.effect(KeyRepo, makeKeyRepoSql)

  /** Each build starts empty. */
  static readonly layerMemory = Layer.sync(KeyRepo, makeKeyRepoMemory)
}
