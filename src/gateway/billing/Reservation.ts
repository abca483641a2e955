/**
 * What one request holds: tokens of the minute's limit and, once reserved, money of the month's
 * budget. It also records whether the request is reserved and settled. The meter makes and changes
 * it; outside of billing it is an opaque value.
 */
import { Deferred, Duration, Effect, Option } from "effect"
import { type ChatRequest } from "../../domain/Chat.ts"
import { type EmbeddingRequest } from "../../domain/Embedding.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { type NanoUsd } from "../../domain/pricing/Money.ts"
import { type Answer } from "../request/Answer.ts"
import { type Attempts } from "../request/AttemptRecord.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { type Note } from "../request/ResponseMetadata.ts"
import { type ReceivedAnswer } from "./ClientDisconnect.ts"
import { type Intent } from "./Intents.ts"

/** A running request: its plan, its reservation, and its calls so far. */
export interface MeteredRequest<Request = ChatRequest | EmbeddingRequest> {
  readonly plan: RequestPlan<Request>
  readonly reservation: Reservation
  readonly log: Attempts
}

/** The part of an answer that was received, for a settlement before its end. */
export interface ShownAnswer {
  readonly answer: Answer
  readonly seen: ReceivedAnswer
  readonly timeToFirstTokenMs: number
}

/** The amount reserved in the ledger before the call. */
export interface Held {
  readonly amountNano: NanoUsd
  /**
   * Output tokens of all choices together that the amount pays for. Null, for a key without a cap
   * or a model without a price: they are not counted.
   */
  readonly tokens: number | null
  /**
   * Completion tokens a choice that the amount affords; null for no limit beyond the client's own.
   */
  readonly affordableTokens: number | null
  /** A slice of the worst case is held, and more is reserved while the answer arrives. */
  readonly isSliced: boolean
  /** The budget limited the output to less than the client asked for. */
  readonly isClamped: boolean
}

export const nothingHeld: Held = {
  amountNano: 0,
  tokens: null,
  affordableTokens: null,
  isSliced: false,
  isClamped: false
}

/** How long a reply waits for a settlement that was not written at once. */
const WRITTEN_WITHIN = Duration.seconds(5)

export class Reservation {
  /** Receives the request's generation, and the tokens that remain of the limits. */
  readonly note: Note
  /** Undefined until an answer is streamed. */
  shown: ShownAnswer | undefined
  #takenTokens: number
  #held = nothingHeld
  #extendedNano = 0
  #isOpen = false
  #isSettled = false
  #intent: Intent | null = null
  #late: Deferred.Deferred<boolean> | null = null

  /** `takenTokens`: what the rate limit already took for the prompt. */
  constructor(takenTokens: number, note: Note) {
    this.#takenTokens = takenTokens
    this.note = note
  }

  /** The tokens that the rate limit took. */
  get takenTokens(): number {
    return this.#takenTokens
  }

  setTakenTokens(tokens: number): void {
    this.#takenTokens = tokens
  }

  /** The reservation before the call. */
  get held(): Held {
    return this.#held
  }

  /** What was reserved in addition since. */
  get extendedNano(): NanoUsd {
    return this.#extendedNano
  }

  get heldNano(): NanoUsd {
    return this.#held.amountNano + this.#extendedNano
  }

  /** Whether the reservation is in the ledger, is being written or will be. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** `intent`: the ledger entry, if the request does not wait for it. */
  open(held: Held, intent: Intent | null = null): void {
    this.#held = held
    this.#intent = intent
    this.#isOpen = true
  }

  /** `tokens`: the output tokens that the additional amount pays for. */
  extend(amountNano: NanoUsd, tokens = 0): void {
    this.#extendedNano += amountNano
    if (tokens > 0) this.#held = { ...this.#held, tokens: (this.#held.tokens ?? 0) + tokens }
  }

  /** The budget ended before the answer did. */
  clamp(): void {
    this.#held = { ...this.#held, isClamped: true }
  }

  /** Whether the ledger entry may still be in the process of being written. */
  get isBeingWritten(): boolean {
    return this.#intent !== null
  }

  /** Takes the entry back if its write has not begun. True: there is no entry. */
  withdraw(): boolean {
    return this.#intent?.withdraw() === true
  }

  /** There is an entry again: what should take its place was not written. */
  restore(): void {
    this.#intent?.restore()
  }

  /** Waits until the entry is durable. */
  get durable(): Effect.Effect<void, GatewayError> {
    return this.#intent === null ? Effect.void : this.#intent.durable
  }

  get isSettled(): boolean {
    return this.#isSettled
  }

  /** Claims the settlement. False: it is claimed already. */
  settle(): boolean {
    if (this.#isSettled) return false
    this.#isSettled = true
    return true
  }

  /** The settlement failed before a write and may be tried again. */
  reopen(): void {
    this.#isSettled = false
  }

  /** The database did not take the settlement at once. */
  delay(): void {
    this.#late = Deferred.makeUnsafe()
  }

  /** Tells the waiting reply whether the settlement was written. */
  finish(isWritten: boolean): void {
    if (!isWritten) this.#late ??= Deferred.makeUnsafe()
    if (this.#late !== null) Deferred.doneUnsafe(this.#late, Effect.succeed(isWritten))
  }

  /**
   * Waits up to 5 s until the settlement is written. False: it is not yet written. Known once the
   * settlement has returned.
   */
  get written(): Effect.Effect<boolean> {
    return this.#late === null
      ? Effect.succeed(true)
      : Effect.map(
          Effect.timeoutOption(Deferred.await(this.#late), WRITTEN_WITHIN),
          Option.getOrElse(() => false)
        )
  }
}
