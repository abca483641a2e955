/** Turns for tests that take no time: one that never ends, and turns that end at once. */
import { Effect } from "effect"
import { type Turns } from "../../src/domain/runtime/Turns.ts"

/** For synchronous tests: nothing waits. */
export const oneTurn: Turns = { begin: () => {}, isOver: () => false, next: Effect.void }

/** Pauses at every check, and counts the pauses. */
export const shortTurns = () => {
  const taken = { turns: 0 }
  const turns: Turns = {
    begin: () => {},
    isOver: () => true,
    next: Effect.andThen(
      Effect.yieldNow,
      Effect.sync(() => void taken.turns++)
    )
  }
  return { taken, turns }
}
