/**
 * Which requests with an `Idempotency-Key` run, and what those answered that have run. A key is claimed by one request at a time, which
 * holds it under a lease: a holder that is never heard of again loses it. Whoever holds a key ends it once: with a reply, which is
 * kept until it expires, or by freeing it. Replies are opaque bytes here.
 */
import { Context, type Effect, Layer } from "effect"
import { makeIdempotencyMemory } from "./IdempotencyMemory.ts"
import { makeIdempotencySql } from "./IdempotencySql.ts"
import { type StoreError } from "../StoreError.ts"

/** What a request asks of its key. */
export interface Claim {
  readonly id: string
  /** Who asks: differs for every request. */
  readonly holder: string
  /** Says what the request is, without telling it. */
  readonly fingerprint: string
  readonly nowMs: number
  readonly leaseUntilMs: number
  /** When the key is forgotten, whatever became of it. */
  readonly expiresAtMs: number
}

/** `Claimed`: the caller holds it now. Else who was first, by its fingerprint: it runs, or its reply is kept. */
export type ClaimResult =
  | { readonly _tag: "Claimed" }
  | { readonly _tag: "Running"; readonly fingerprint: string }
  | { readonly _tag: "Kept"; readonly fingerprint: string; readonly reply: Uint8Array }

/** A key and who holds it. */
export type Held = Pick<Claim, "id" | "holder">

export class IdempotencyStore extends Context.Service<
  IdempotencyStore,
  {
    /** Of many that ask for a free key at once, one gets it. A key is free when nobody has it, its lease is over or it has expired. */
    readonly claim: (claim: Claim) => Effect.Effect<ClaimResult, StoreError>
    /** Moves the leases of what is still held by these. */
    readonly renew: (held: ReadonlyArray<Held>, leaseUntilMs: number) => Effect.Effect<void, StoreError>
    /** Keeps the reply of a key's holder; of anybody else nothing. */
    readonly keep: (held: Held, reply: Uint8Array, expiresAtMs: number) => Effect.Effect<void, StoreError>
    /** Forgets a key that its holder has not ended; of anybody else nothing. */
    readonly free: (held: Held) => Effect.Effect<void, StoreError>
    /** Deletes at most `limit` expired keys; answers how many. */
    readonly forget: (nowMs: number, limit: number) => Effect.Effect<number, StoreError>
  }
>()("tollgate/store/idempotency/IdempotencyStore") {
  static readonly layer = Layer.effect(IdempotencyStore, makeIdempotencySql)

  /** Each build starts empty. */
  static readonly layerMemory = Layer.sync(IdempotencyStore, makeIdempotencyMemory)
}
