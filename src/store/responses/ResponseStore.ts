/**
 * Responses that the gateway keeps for its clients, each under its key and its id, until it
 * expires. Their contents are opaque bytes here. No operation of one key reads or changes another
 * key's.
 */
import { Context, type Effect, type Option } from "effect"
import { type StoreError } from "../StoreError.ts"

/** Names a response. The id alone does not: a key finds only its own responses. */
export interface ResponseRef {
  readonly keyId: string
  readonly id: string
}

export interface StoredResponse extends ResponseRef {
  readonly sealed: Uint8Array
  /** When it can no longer be read. It is deleted soon after. */
  readonly expiresAtMs: number
}

export class ResponseStore extends Context.Service<
  ResponseStore,
  {
    /** Stores a response. A stored one of the same name stays as it is. */
    readonly insert: (response: StoredResponse) => Effect.Effect<void, StoreError>
    readonly find: (ref: ResponseRef, nowMs: number) => Effect.Effect<Option.Option<Uint8Array>, StoreError>
    /** Deletes a response, and returns whether it could still be read. */
    readonly remove: (ref: ResponseRef, nowMs: number) => Effect.Effect<boolean, StoreError>
    /** Deletes the oldest responses of a key until the rest has at most `maxBytes`. */
    readonly trim: (keyId: string, maxBytes: number) => Effect.Effect<void, StoreError>
    /** Deletes all responses of a key. */
    readonly removeAll: (keyId: string) => Effect.Effect<void, StoreError>
    /** Deletes at most `limit` expired responses and returns how many. */
    readonly deleteExpired: (nowMs: number, limit: number) => Effect.Effect<number, StoreError>
  }
>()("tollgate/store/responses/ResponseStore") {}
