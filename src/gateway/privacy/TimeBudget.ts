/**
 * How long the search through one request may take, and how long of it in one go. Every pattern here is linear and every candidate's
 * check is bounded, but there may be very many candidates: a megabyte of nearly-numbers. A search is a generator that yields wherever
 * it may pause; once a turn has lasted long enough, others run. Once all of its turns together took too long, the search has failed,
 * and what was not searched does not leave.
 */
import { Clock, Effect } from "effect"
import { makeTurns, TURN_MS } from "../../domain/Turns.ts"

/** What all turns of one search may take. */
export const LIMIT_MS = 700

const NANOS_A_MS = 1_000_000n

/** A search that yields wherever it may pause. */
export type Steps<A> = Generator<void, A>

export class TimeBudget {
  readonly #nowNanos: () => bigint
  readonly #turnNanos: bigint
  #leftNanos: bigint
  #begunNanos: bigint
  #over = false

  /** `nowNanos` is a monotonic clock. The first turn begins. */
  constructor(nowNanos: () => bigint, limitMs: number = LIMIT_MS, turnMs: number = TURN_MS) {
    this.#nowNanos = nowNanos
    this.#leftNanos = BigInt(limitMs) * NANOS_A_MS
    this.#turnNanos = BigInt(turnMs) * NANOS_A_MS
    this.#begunNanos = nowNanos()
  }

  /** Between turns no time is taken from the limit. */
  beginTurn(): void {
    this.#begunNanos = this.#nowNanos()
  }

  /** `over`: there is no time left, and never will be. `turn`: it is others' turn. */
  look(): "on" | "turn" | "over" {
    if (this.#over) return "over"
    const taken = this.#nowNanos() - this.#begunNanos
    this.#over = taken > this.#leftNanos
    return this.#over ? "over" : taken > this.#turnNanos ? "turn" : "on"
  }

  endTurn(): void {
    this.#leftNanos -= this.#nowNanos() - this.#begunNanos
  }

  isOver(): boolean {
    return this.look() === "over"
  }

  /** The search cannot be finished, whatever time is left. */
  end(): void {
    this.#over = true
  }
}

/** Runs to the end without a pause; null: the time was over. */
export const atOnce = <A>(steps: Steps<A>, budget: TimeBudget): A | null => {
  for (;;) {
    const step = steps.next()
    if (budget.isOver()) return null
    if (step.done === true) return step.value
  }
}

/** Runs a search in turns; null: the time was over. */
export type InTurns = <A>(search: (budget: TimeBudget) => Steps<A>) => Effect.Effect<A | null>

/** What a turn ended with. */
interface Turn<A> {
  readonly isLast: boolean
  readonly value: A | null
}

/**
 * The first turn runs at once; for another one a search stands in line (Turns.ts).
 */
export const makeInTurns: Effect.Effect<InTurns> = Effect.map(makeTurns, (turns): InTurns => {
  return <A>(search: (budget: TimeBudget) => Steps<A>) =>
    Clock.clockWith((clock) =>
      Effect.suspend(() => {
        const budget = new TimeBudget(() => clock.monotonicTimeNanosUnsafe())
        const steps = search(budget)
        const next = Effect.andThen(
          turns.next,
          Effect.sync(() => turnOf(steps, budget))
        )
        const rest = (turn: Turn<A>): Effect.Effect<A | null> =>
          turn.isLast ? Effect.succeed(turn.value) : Effect.flatMap(next, rest)
        return rest(turnOf(steps, budget))
      })
    )
})

const turnOf = <A>(steps: Steps<A>, budget: TimeBudget): Turn<A> => {
  budget.beginTurn()
  for (;;) {
    const step = steps.next()
    const verdict = budget.look()
    if (verdict === "over") return { isLast: true, value: null }
    if (step.done === true) return { isLast: true, value: step.value }
    if (verdict === "on") continue
    budget.endTurn()
    return { isLast: false, value: null }
  }
}
