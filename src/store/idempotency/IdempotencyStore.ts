/**
 * The state of requests with an `Idempotency-Key`: running, or finished with a stored reply. One
 * request at a time claims a key and holds it under a lease. A holder that stops renewing loses the
 * key. The holder ends its claim once: with a reply, which is stored until it expires, or by
 * freeing the key. Replies are opaque bytes here.
 */
import { Context, type Effect } from "effect"
import { type StoreError } from "../StoreError.ts"

/** A request's claim of its key. */
export interface Claim {
  readonly id: string
  /** Identifies the request; unique per request. */
  readonly holder: string
  /** A digest that identifies the content of the request without revealing it. */
  readonly fingerprint: string
  readonly nowMs: number
  readonly leaseUntilMs: number
  /** When the key is deleted, whatever its state. */
  readonly expiresAtMs: number
}

/**
 * `Claimed`: the caller now holds the key. `Running` and `Kept` carry the fingerprint of the
 * request that came first: it still runs, or its reply is stored.
 */
export type ClaimResult =
  | { readonly _tag: "Claimed" }
  | { readonly _tag: "Running"; readonly fingerprint: string }
  | { readonly _tag: "Kept"; readonly fingerprint: string; readonly reply: Uint8Array }

/** A key and its holder. */
export type Held = Pick<Claim, "id" | "holder">

export class IdempotencyStore extends Context.Service<
  IdempotencyStore,
  {
    /**
     * Claims a free key for one of the callers that ask at once. A key is free when it is absent,
     * or when its lease or the key itself has expired.
     */
    readonly claim: (claim: Claim) => Effect.Effect<ClaimResult, StoreError>
    /** Renews the leases of those claims that are still held. */
    readonly renew: (held: ReadonlyArray<Held>, leaseUntilMs: number) => Effect.Effect<void, StoreError>
    /** Stores the reply of the key's holder. A call by anyone else has no effect. */
    readonly keep: (held: Held, reply: Uint8Array, expiresAtMs: number) => Effect.Effect<void, StoreError>
    /** Frees a key whose holder has not ended its claim. A call by anyone else has no effect. */
    readonly free: (held: Held) => Effect.Effect<void, StoreError>
    /** Deletes at most `limit` expired keys and returns how many. */
    readonly forget: (nowMs: number, limit: number) => Effect.Effect<number, StoreError>
  }
>()("tollgate/store/idempotency/IdempotencyStore") {}
