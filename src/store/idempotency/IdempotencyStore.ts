/**
 * The state of requests with an `Idempotency-Key`: running, or finished with a stored reply. One
 * request at a time claims a key and holds it under a lease. A holder that stops renewing loses the
 * key. The holder ends its claim once: it completes it with a reply, which is stored until it
 * expires, or it releases the key. Replies are opaque bytes here.
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
 * `Claimed`: the caller now holds the key. `Running` and `Completed` carry the fingerprint of the
 * request that came first: it still runs, or its reply is stored.
 */
export type ClaimResult =
  | { readonly _tag: "Claimed" }
  | { readonly _tag: "Running"; readonly fingerprint: string }
  | { readonly _tag: "Completed"; readonly fingerprint: string; readonly reply: Uint8Array }

/** Names a claim: the key and its holder. */
export type ClaimRef = Pick<Claim, "id" | "holder">

export class IdempotencyStore extends Context.Service<
  IdempotencyStore,
  {
    /**
     * Claims a free key for one of the callers that ask at once. A key is free when it is absent,
     * or when its lease or the key itself has expired.
     */
    readonly claim: (claim: Claim) => Effect.Effect<ClaimResult, StoreError>
    /** Renews the leases of those claims that are still held. */
    readonly renew: (claims: ReadonlyArray<ClaimRef>, leaseUntilMs: number) => Effect.Effect<void, StoreError>
    /** Stores the reply of the key's holder. A call by anyone else has no effect. */
    readonly complete: (claim: ClaimRef, reply: Uint8Array, expiresAtMs: number) => Effect.Effect<void, StoreError>
    /** Releases a key whose holder has not ended its claim. A call by anyone else has no effect. */
    readonly release: (claim: ClaimRef) => Effect.Effect<void, StoreError>
    /** Deletes at most `limit` expired keys and returns how many. */
    readonly deleteExpired: (nowMs: number, limit: number) => Effect.Effect<number, StoreError>
  }
>()("tollgate/store/idempotency/IdempotencyStore") {}
