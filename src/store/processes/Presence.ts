/**
 * This process among those that live on the same database. One that counts limits for itself starts only alone: with a second one, what a
 * key may do would double. It waits as long as a process that died still counts as alive, then it gives up. One that counts them in Redis starts
 * beside any other.
 */
import { Data, Effect, Layer, Option, Schedule } from "effect"
import { randomUUID } from "node:crypto"
import { hostname } from "node:os"
import { LIFE_MS, LiveProcesses, type ProcessEntry, type Rival } from "./LiveProcesses.ts"

const TRY_EVERY_MS = 1_000
const RENEW_EVERY_MS = 3_000

/** Another process lives on this database, and limits are not shared with it. */
export class NotAlone extends Data.TaggedError("NotAlone")<{ readonly rival: Rival }> {
  override get message(): string {
    return `${describe(this.rival)}, and limits that each process counts for itself would multiply; set REDIS_URL for every process, or stop the other one`
  }
}

const describe = ({ host, pid, startedAtMs }: Rival): string =>
  `process ${pid} on ${host} uses the same database since ${new Date(startedAtMs).toISOString()}`

/** Enters when it is built, renews its entry, and leaves with the scope. */
export const layer = ({ sharesLimits }: Pick<ProcessEntry, "sharesLimits">) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const processes = yield* LiveProcesses
      const entry: ProcessEntry = { id: randomUUID(), host: hostname(), pid: process.pid, sharesLimits }
      const enter = Effect.flatMap(
        processes.enter(entry),
        Option.match({ onNone: () => Effect.void, onSome: (rival) => Effect.fail(new NotAlone({ rival })) })
      )

      // First, so that an interruption leaves nothing behind.
      yield* Effect.addFinalizer(() => Effect.ignore(processes.leave(entry.id)))
      yield* Effect.catchTag(enter, "NotAlone", ({ rival }) =>
        Effect.andThen(
          Effect.logWarning(`${describe(rival)}; waiting for its end`),
          Effect.retry(Effect.delay(enter, TRY_EVERY_MS), {
            times: LIFE_MS / TRY_EVERY_MS - 1,
            while: ({ _tag }) => _tag === "NotAlone"
          })
        )
      )

      let told = false
      const renew = Effect.gen(function* () {
        const rival = yield* processes.renew(entry)
        if (Option.isSome(rival) && !told) yield* Effect.logError(new NotAlone({ rival: rival.value }).message)
        told = Option.isSome(rival)
      })
      yield* Effect.forkScoped(Effect.repeat(Effect.ignore(renew), Schedule.spaced(RENEW_EVERY_MS)))
    })
  )
