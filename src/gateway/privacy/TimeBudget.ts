/**
 * Limits the time that the search of one request may take, in total and per turn. All patterns are
 * linear and each candidate's check is bounded, but there may be very many candidates, such as a
 * megabyte of near-numbers.
 *
 * A search is a generator that yields wherever it may pause. After a turn has lasted long enough,
 * other work runs. If all turns together take too long, the search fails, and unsearched text is
 * not sent.
 */
import { Clock, Effect } from "effect"
import { makeTurns, TURN_MS } from "../../domain/runtime/Turns.ts"

/** Limit of all turns of one search together. */
export const LIMIT_MS = 700

const NANOS_A_MS = 1_000_000n

/** A search that yields wherever it may pause. */
export type Steps<A> = Generator<void, A>

export class TimeBudget {
  readonly #nowNanos: () => bigint
  readonly #turnNanos: bigint
  #leftNanos: bigint
  #startedNanos: bigint
  #over = false

  /** `nowNanos` is a monotonic clock. Starts the first turn. */
  constructor(nowNanos: () => bigint, limitMs: number = LIMIT_MS, turnMs: number = TURN_MS) {
    this.#nowNanos = nowNanos
    this.#leftNanos = BigInt(limitMs) * NANOS_A_MS
    this.#turnNanos = BigInt(turnMs) * NANOS_A_MS
    this.#startedNanos = nowNanos()
  }

  /** Time between turns does not count. */
  beginTurn(): void {
    this.#startedNanos = this.#nowNanos()
  }

  /** `over`: the time is used up, permanently. `turn`: other work should run now. */
  check(): "on" | "turn" | "over" {
    if (this.#over) return "over"
    const taken = this.#nowNanos() - this.#startedNanos
    this.#over = taken > this.#leftNanos
    return this.#over ? "over" : taken > this.#turnNanos ? "turn" : "on"
  }

  endTurn(): void {
    this.#leftNanos -= this.#nowNanos() - this.#startedNanos
  }

  isOver(): boolean {
    return this.check() === "over"
  }

  /** Ends the search early: it cannot be finished, whatever time is left. */
  end(): void {
    this.#over = true
  }
}

/** Runs a search without a pause; null when the time was over. */
export const runAtOnce = <A>(steps: Steps<A>, budget: TimeBudget): A | null => {
  for (;;) {
    const step = steps.next()
    if (budget.isOver()) return null
    if (step.done === true) return step.value
  }
}

/** Runs a search in turns; null when the time was over. */
export type InTurns = <A>(search: (budget: TimeBudget) => Steps<A>) => Effect.Effect<A | null>

/** The result of a turn. */
interface Turn<A> {
  readonly isLast: boolean
  readonly value: A | null
}

/**
 * The first turn runs as this is called. For each further turn the search waits in a queue
 * (Turns.ts).
 */
export const makeInTurns: Effect.Effect<InTurns> = Effect.gen(function* () {
  const turns = yield* makeTurns
  const clock = yield* Clock.Clock
  const nowNanos = () => clock.monotonicTimeNanosUnsafe()
  return <A>(search: (budget: TimeBudget) => Steps<A>) => {
    const budget = new TimeBudget(nowNanos)
    const steps = search(budget)
    const rest = (turn: Turn<A>): Effect.Effect<A | null> =>
      turn.isLast ? Effect.succeed(turn.value) : Effect.flatMap(turns.next, () => rest(turnOf(steps, budget)))
    return rest(turnOf(steps, budget))
  }
})

const turnOf = <A>(steps: Steps<A>, budget: TimeBudget): Turn<A> => {
  budget.beginTurn()
  for (;;) {
    const step = steps.next()
    const verdict = budget.check()
    if (verdict === "over") return { isLast: true, value: null }
    if (step.done === true) return { isLast: true, value: step.value }
    if (verdict === "on") continue
    budget.endTurn()
    return { isLast: false, value: null }
  }
}
