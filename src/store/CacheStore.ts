/** A bounded store of strings with a time to live: what the prompt cache keeps its entries in. It may forget anything at any time. */
import { Context, type Effect, type Option } from "effect"
import { type StoreError } from "./StoreError.ts"

export class CacheStore extends Context.Service<
  CacheStore,
  {
    readonly get: (key: string, nowMs: number) => Effect.Effect<Option.Option<string>, StoreError>
    readonly set: (key: string, value: string, ttlMs: number, nowMs: number) => Effect.Effect<void, StoreError>
    /** How many entries there are, for the operator; may be approximate. */
    readonly size: Effect.Effect<number, StoreError>
    readonly ping: Effect.Effect<void, StoreError>
  }
>()("tollgate/store/CacheStore") {}
