/** Refused credentials, counted by network address, minute and kind. */
import { Context, type Effect } from "effect"
import { type StoreError } from "../StoreError.ts"

export interface RefusedCount {
  readonly minuteMs: number
  readonly address: string
  /** The kind, such as `api_key`. Never the credential. */
  readonly credential: string
  readonly count: number
  readonly lastMs: number
}

export interface RefusedQuery {
  readonly limit: number
  readonly fromMs: number
  readonly toMs: number
  readonly address?: string
}

export interface RefusedAddress {
  readonly address: string
  readonly count: number
  readonly firstMs: number
  readonly lastMs: number
  readonly byCredential: Readonly<Record<string, number>>
}

export class RefusedCredentialStore extends Context.Service<
  RefusedCredentialStore,
  {
    /** Adds to what is counted already. */
    readonly add: (counts: ReadonlyArray<RefusedCount>) => Effect.Effect<void, StoreError>
    /**
     * The addresses with their counts of whole minutes, the last one seen first. At most `limit`.
     */
    readonly list: (query: RefusedQuery) => Effect.Effect<ReadonlyArray<RefusedAddress>, StoreError>
    /** Deletes the counts from before a moment, and all but the newest `most` rows. */
    readonly deleteOld: (beforeMs: number, most: number) => Effect.Effect<void, StoreError>
  }
>()("tollgate/store/audit/RefusedCredentialStore") {}
