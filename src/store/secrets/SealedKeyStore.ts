/**
 * Keys of providers, encrypted, by name. All processes on one database share them. The store cannot
 * read them: who opens them holds the key.
 */
import { Context, type Effect } from "effect"
import { type StoreError } from "../StoreError.ts"

export class SealedKeyStore extends Context.Service<
  SealedKeyStore,
  {
    /** By name. */
    readonly all: Effect.Effect<ReadonlyMap<string, Uint8Array>, StoreError>
    /** Replaces a key of the same name. */
    readonly put: (name: string, sealed: Uint8Array, nowMs: number) => Effect.Effect<void, StoreError>
    /** Whether there was one. */
    readonly remove: (name: string) => Effect.Effect<boolean, StoreError>
  }
>()("tollgate/store/secrets/SealedKeyStore") {}
