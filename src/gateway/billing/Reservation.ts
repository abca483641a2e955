/**
 * What one request holds: tokens of the minute's limit and, once the budget was asked, money of the month's. It also says how far its
 * book-keeping is. The meter makes and changes it; outside of billing a reservation is an opaque value.
 */
import { Deferred, Duration, Effect, Fiber, Option } from "effect"
import { type ChatRequest } from "../../domain/Chat.ts"
import { type EmbeddingRequest } from "../../domain/Embedding.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { type NanoUsd } from "../../domain/Money.ts"
import { type Attempts } from "../request/AttemptRecord.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { type Note } from "../request/ResponseMetadata.ts"

/** A request under way: its plan, what it holds, and its calls so far. */
export interface MeteredRequest<Request = ChatRequest | EmbeddingRequest> {
  readonly plan: RequestPlan<Request>
  readonly reservation: Reservation
  readonly log: Attempts
}

/** What is held in the ledger before the work begins. */
export interface Held {
  readonly amountNano: NanoUsd
  /** Output tokens, of all choices together, that the amount pays for; null: they are not counted, without a cap or a price. */
  readonly tokens: number | null
  /** Completion tokens a choice that the amount affords; `null`: no bound beyond the client's own. */
  readonly affordableTokens: number | null
  /** A slice of the worst case is held: more is held while the answer comes. */
  readonly isSliced: boolean
  /** The output was bounded by the budget to less than the client asked for. */
  readonly isClamped: boolean
}

export const nothingHeld: Held = {
  amountNano: 0,
  tokens: null,
  affordableTokens: null,
  isSliced: false,
  isClamped: false
}

/** How long a reply waits for an ending that the database did not take at once. */
const WRITTEN_WITHIN = Duration.seconds(5)

export class Reservation {
  /** Told of the generation that the request leaves, and of the tokens that the limits have left in the end. */
  readonly note: Note
  #takenTokens: number
  #held = nothingHeld
  #extendedNano = 0
  #isOpen = false
  #isSettled = false
  #write: Fiber.Fiber<void, GatewayError> | null = null
  #late: Deferred.Deferred<boolean> | null = null

  /** `takenTokens`: what the rate limit has taken for the prompt already. */
  constructor(takenTokens: number, note: Note) {
    this.#takenTokens = takenTokens
    this.note = note
  }

  /** Tokens that the rate limit took. */
  get takenTokens(): number {
    return this.#takenTokens
  }

  took(tokens: number): void {
    this.#takenTokens = tokens
  }

  /** What was held before the work began. */
  get held(): Held {
    return this.#held
  }

  /** What was held in addition since. */
  get extendedNano(): NanoUsd {
    return this.#extendedNano
  }

  get heldNano(): NanoUsd {
    return this.#held.amountNano + this.#extendedNano
  }

  /** Whether there is a reservation in the ledger, or one is being written. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** `write`: of the ledger entry, where the work does not wait for it. */
  open(held: Held, write: Fiber.Fiber<void, GatewayError> | null = null): void {
    this.#held = held
    this.#write = write
    this.#isOpen = true
  }

  /** `tokens`: output tokens that the further amount pays for. */
  extend(amountNano: NanoUsd, tokens = 0): void {
    this.#extendedNano += amountNano
    if (tokens > 0) this.#held = { ...this.#held, tokens: (this.#held.tokens ?? 0) + tokens }
  }

  /** The budget ended before the answer. */
  clamp(): void {
    this.#held = { ...this.#held, isClamped: true }
  }

  /** Whether the entry may still be on its way to the ledger. */
  get isBeingWritten(): boolean {
    return this.#write !== null
  }

  /** Waits until the entry is durable. */
  get durable(): Effect.Effect<void, GatewayError> {
    return this.#write === null ? Effect.void : Fiber.join(this.#write)
  }

  get isSettled(): boolean {
    return this.#isSettled
  }

  /** Claims the settlement. False: somebody else has it. */
  settle(): boolean {
    if (this.#isSettled) return false
    this.#isSettled = true
    return true
  }

  /** The settlement failed before anything was written: it may be tried once more. */
  reopen(): void {
    this.#isSettled = false
  }

  /** The database did not take the ending at once. */
  delay(): void {
    this.#late = Deferred.makeUnsafe()
  }

  /** Tells those who wait whether the ending was written. */
  finish(isWritten: boolean): void {
    if (!isWritten) this.#late ??= Deferred.makeUnsafe()
    if (this.#late !== null) Deferred.doneUnsafe(this.#late, Effect.succeed(isWritten))
  }

  /** Waits a while until the ending is written. False: it is not yet. */
  get written(): Effect.Effect<boolean> {
    return Effect.suspend(() =>
      this.#late === null
        ? Effect.succeed(true)
        : Effect.map(
            Effect.timeoutOption(Deferred.await(this.#late), WRITTEN_WITHIN),
            Option.getOrElse(() => false)
          )
    )
  }
}
