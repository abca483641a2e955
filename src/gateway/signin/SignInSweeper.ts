/**
 * Deletes old sign-in data: codes a day after they were made, flows and sessions a day after they
 * expired. Any number of processes may run it.
 */
import { Clock, Effect, Layer, Schedule } from "effect"
import { Challenges } from "../../store/people/Challenges.ts"
import { Sessions } from "../../store/people/Sessions.ts"

const EVERY = "10 minutes"
const RETENTION_MS = 86_400_000

export const SignInSweeper = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const challenges = yield* Challenges
      const sessions = yield* Sessions
      const sweep = Effect.gen(function* () {
        const beforeMs = (yield* Clock.currentTimeMillis) - RETENTION_MS
        yield* challenges.deleteBefore(beforeMs)
        yield* sessions.deleteBefore(beforeMs)
      })
      // The first sweep runs after one interval, so that it does not slow the start.
      yield* Effect.forkScoped(Effect.repeat(Effect.delay(Effect.ignore(sweep), EVERY), Schedule.forever))
    })
  )
}
