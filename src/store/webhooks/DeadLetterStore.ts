/** Events that a webhook did not accept, stored for the operator. */
import { Context, type Effect, type Option } from "effect"
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
  /** When it was queued again; null: it was not, or it failed again since. */
  readonly retriedAtMs: number | null
}

export interface DeadLetterPage {
  /** Newest first. */
  readonly letters: ReadonlyArray<DeadLetter>
  readonly nextCursor: string | null
}

export class DeadLetterStore extends Context.Service<
  DeadLetterStore,
  {
    /** Stores a dead letter. One with the same id is replaced. */
    readonly add: (letter: DeadLetter) => Effect.Effect<void, StoreError>
    /** Those that were not retried. `limit` is at least 1. */
    readonly list: (page: {
      readonly limit: number
      readonly cursor: string | null
    }) => Effect.Effect<DeadLetterPage, StoreError>
    readonly get: (id: string) => Effect.Effect<Option.Option<DeadLetter>, StoreError>
    /** Marks a letter as queued again. */
    readonly markRetried: (id: string, retriedAtMs: number) => Effect.Effect<void, StoreError>
    /** Deletes the letters that failed before a moment. */
    readonly deleteBefore: (failedAtMs: number) => Effect.Effect<void, StoreError>
  }
>()("tollgate/store/webhooks/DeadLetterStore") {}
