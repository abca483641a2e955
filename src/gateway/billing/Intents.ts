/**
 * Intents: the reservations of keys without a cap. A request starts while its intent is not written
 * yet. An intent is written before the first byte of the answer leaves, and after a few
 * milliseconds at the latest. If a whole answer is there before that, its settlement is written
 * instead, so that a fast provider costs one write.
 */
import { Effect, Fiber } from "effect"
import { type GatewayError } from "../../domain/Errors.ts"

/** An intent waits for one to two of these. */
const TICK_MS = 5

export class Intent {
  readonly #send: () => Fiber.Fiber<void, GatewayError>
  #writing: Fiber.Fiber<void, GatewayError> | null = null
  #isWithdrawn = false

  constructor(send: () => Fiber.Fiber<void, GatewayError>) {
    this.#send = send
  }

  /** Writes it, unless it was withdrawn or is being written. */
  send(): void {
    if (!this.#isWithdrawn) this.#writing ??= this.#send()
  }

  /** False: it is written or being written. */
  withdraw(): boolean {
    if (this.#writing !== null) return false
    this.#isWithdrawn = true
    return true
  }

  /** What should have taken its place was not written. */
  restore(): void {
    this.#isWithdrawn = false
  }

  /** Writes it now, and waits until it is durable. Known at once if it is. */
  get durable(): Effect.Effect<void, GatewayError> {
    this.send()
    return this.#writing === null ? Effect.void : (this.#writing.pollUnsafe() ?? Fiber.join(this.#writing))
  }
}

/** Returns a function that sends an intent later. */
export const makeIntents = Effect.gen(function* () {
  const runFork = Effect.runForkWith(yield* Effect.context())
  const scope = yield* Effect.scope
  let older: Array<Intent> = []
  let newer: Array<Intent> = []
  const tick = Effect.sync(() => {
    for (const intent of older) intent.send()
    older = newer
    newer = []
    return older.length > 0
  })
  const ticks = Effect.repeat(Effect.delay(tick, TICK_MS), { while: (isBusy) => isBusy })

  return (intent: Intent): void => {
    const isIdle = older.length === 0 && newer.length === 0
    newer.push(intent)
    if (isIdle) runFork(Effect.forkIn(ticks, scope))
  }
})
