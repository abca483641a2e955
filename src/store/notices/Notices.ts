/**
 * What the gateway told others, as far as it has to be remembered: events that no webhook took, to be read by an operator, and which share
 * of a budget was told of already, so that several processes tell it once.
 */
import { Context, type Effect, Layer } from "effect"
import { type EventType } from "../../domain/Events.ts"
import { type NanoUsd } from "../../domain/Money.ts"
import { makeNoticesMemory } from "./NoticesMemory.ts"
import { makeNoticesSql } from "./NoticesSql.ts"
import { type StoreError } from "../StoreError.ts"

/** An event that could not be delivered to one address. */
export interface DeadLetter {
  /** `dlv_…`; they sort by time. */
  readonly id: string
  readonly eventId: string
  readonly type: EventType
  readonly url: string
  /** What was sent, and can be sent again. */
  readonly body: string
  readonly attempts: number
  /** `status 500`, `Unreachable`: never what the other side said. */
  readonly lastError: string
  readonly createdAtMs: number
  readonly failedAtMs: number
}

/** A share of a key's budget of one month. A budget that is changed is another one. */
export interface BudgetMark {
  readonly keyId: string
  readonly month: string
  readonly percent: number
  readonly capNano: NanoUsd
}

export interface DeadLetterPage {
  /** Newest first. */
  readonly letters: ReadonlyArray<DeadLetter>
  readonly nextCursor: string | null
}

export class Notices extends Context.Service<
  Notices,
  {
    readonly bury: (letter: DeadLetter) => Effect.Effect<void, StoreError>
    /** `limit`: at least 1. */
    readonly buried: (page: {
      readonly limit: number
      readonly cursor: string | null
    }) => Effect.Effect<DeadLetterPage, StoreError>
    /** Whether this is the first call with this mark, of all processes. */
    readonly mark: (mark: BudgetMark) => Effect.Effect<boolean, StoreError>
    /** Forgets letters that failed before a moment, and marks of months before that of `month`. */
    readonly forget: (beforeMs: number, month: string) => Effect.Effect<void, StoreError>
  }
>()("tollgate/store/notices/Notices") {
  static readonly layer = Layer.effect(Notices, makeNoticesSql)

  /** Each build starts empty. */
  static readonly layerMemory = Layer.sync(Notices, makeNoticesMemory)
}
