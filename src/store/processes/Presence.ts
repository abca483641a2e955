/**
 * Registers this process among those that use the same database. A process that counts limits for
 * itself starts only when it is alone, because a second one would double what each key may do. It
 * waits until a dead process would have expired, then fails. A process that counts limits in Redis
 * starts next to any other.
 */
import { Data, Effect, Layer, Option, Schedule } from "effect"
import { randomUUID } from "node:crypto"
import { hostname } from "node:os"
import { LIFE_MS, LiveProcesses, type ProcessEntry, type Rival } from "./LiveProcesses.ts"

const TRY_EVERY_MS = 1_000
const RENEW_EVERY_MS = 3_000

/** Another process uses this database, and the two do not share limits. */
export class LimitsNotShared extends Data.TaggedError("LimitsNotShared")<{ readonly rival: Rival }> {
  override get message(): string {
    return `${describe(this.rival)}. Each process would count limits for itself, which multiplies them: set REDIS_URL for every process, or stop the other one`
  }
}

const describe = ({ host, pid, startedAtMs }: Rival): string =>
  `process ${pid} on ${host} has used the same database since ${new Date(startedAtMs).toISOString()}`

/** Enters when built, renews its entry in the background, and leaves when the scope closes. */
export const layer = ({ sharesLimits }: Pick<ProcessEntry, "sharesLimits">) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const processes = yield* LiveProcesses
      const entry: ProcessEntry = { id: randomUUID(), host: hostname(), pid: process.pid, sharesLimits }
      const enter = Effect.flatMap(
        processes.enter(entry),
        Option.match({ onNone: () => Effect.void, onSome: (rival) => Effect.fail(new LimitsNotShared({ rival })) })
      )

      // Registered before entering, so that an interruption leaves no entry behind.
      yield* Effect.addFinalizer(() => Effect.ignore(processes.leave(entry.id)))
      yield* Effect.catchTag(enter, "LimitsNotShared", ({ rival }) =>
        Effect.andThen(
          Effect.logWarning(`${describe(rival)}; waiting until it ends`),
          Effect.retry(Effect.delay(enter, TRY_EVERY_MS), {
            times: LIFE_MS / TRY_EVERY_MS - 1,
            while: ({ _tag }) => _tag === "LimitsNotShared"
          })
        )
      )

      let reported = false
      const renew = Effect.gen(function* () {
        const rival = yield* processes.renew(entry)
        if (Option.isSome(rival) && !reported)
          yield* Effect.logError(new LimitsNotShared({ rival: rival.value }).message)
        reported = Option.isSome(rival)
      })
      yield* Effect.forkScoped(Effect.repeat(Effect.ignore(renew), Schedule.spaced(RENEW_EVERY_MS)))
    })
  )
