/** Events that a webhook did not accept, stored for the operator. */
import { Context, type Effect } from "effect"
import { type EventType } from "../../domain/Events.ts"
import { type StoreError } from "../StoreError.ts"

/** An event that could not be delivered to one address. */
export interface DeadLetter {
  /** `dlv_…`. Ids sort by time. */
  readonly id: string
  readonly eventId: string
  readonly type: EventType
  readonly url: string
  /** The body of the delivery, so that an operator can send it again. */
  readonly body: string
  readonly attempts: number
  /** `status 500`, `Unreachable`: our own text, never the receiver's. */
  readonly lastError: string
  readonly createdAtMs: number
  readonly failedAtMs: number
}

export interface DeadLetterPage {
  /** Newest first. */
  readonly letters: ReadonlyArray<DeadLetter>
  readonly nextCursor: string | null
}

export class DeadLetterStore extends Context.Service<
  DeadLetterStore,
  {
    /** Stores a dead letter. A second call with the same id has no effect. */
    readonly add: (letter: DeadLetter) => Effect.Effect<void, StoreError>
    /** `limit` is at least 1. */
    readonly list: (page: {
      readonly limit: number
      readonly cursor: string | null
    }) => Effect.Effect<DeadLetterPage, StoreError>
    /** Deletes the letters that failed before a moment. */
    readonly deleteBefore: (failedAtMs: number) => Effect.Effect<void, StoreError>
  }
>()("tollgate/store/webhooks/DeadLetterStore") {}
