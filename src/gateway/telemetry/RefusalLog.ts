/**
 * Records refused requests. Recording takes no time of the request: rows are sampled, wait in
 * memory, and are written together once a second. While the database is away a bounded number of
 * them waits; the log tells how many were lost.
 */
import { Clock, Context, Effect, Latch, Layer, Result } from "effect"
import { Ids } from "../../domain/Ids.ts"
import { type Refusal } from "../../domain/Refusal.ts"
import { RefusalStore } from "../../store/refusals/RefusalStore.ts"
import { Catalog } from "../routing/Catalog.ts"
import { type Counted, RefusalSampler } from "./RefusalSampler.ts"

/** A refused request. `model`: as the client named it. */
export type Refused = Omit<Refusal, "id" | "count">

const EVERY = "1 second"
const MOST_WAITING = 1_000
/** Longer names are no names of models. */
const LONGEST_NAME = 200

export class RefusalLog extends Context.Service<RefusalLog, { readonly record: (refused: Refused) => void }>()(
  "tollgate/gateway/telemetry/RefusalLog"
) {
  static readonly layer = Layer.effect(
    RefusalLog,
    Effect.gen(function* () {
      const store = yield* RefusalStore
      const catalog = yield* Catalog
      const ids = yield* Ids
      const clock = yield* Clock.Clock
      const sampler = new RefusalSampler<Refused>()
      const isNeeded = Latch.makeUnsafe()
      let waiting: ReadonlyArray<Refusal> = []
      let lost = 0

      /** A name that no model has is the client's text. */
      const modelOf = (name: string | null): string | null =>
        name === null || name.length > LONGEST_NAME
          ? null
          : Result.match(catalog.resolve(name), { onFailure: () => null, onSuccess: ({ id }) => id })

      const push = (rows: ReadonlyArray<Counted<Refused>>): void => {
        if (rows.length === 0) return
        const added = rows.map(({ count, refused }) => ({
          ...refused,
          id: ids.next("ref", refused.createdAtMs),
          model: modelOf(refused.model),
          count
        }))
        const all = [...waiting, ...added]
        waiting = all.slice(-MOST_WAITING)
        lost += all.length - waiting.length
      }

      const write = Effect.suspend(() => {
        const rows = waiting
        if (rows.length === 0) return Effect.void
        waiting = []
        return Effect.matchEffect(store.add(rows), {
          onFailure: () => Effect.sync(() => void (waiting = [...rows, ...waiting].slice(0, MOST_WAITING))),
          onSuccess: () => {
            if (lost === 0) return Effect.void
            const count = lost
            lost = 0
            return Effect.logWarning(`${count} refused request(s) were not recorded while the database was away`)
          }
        })
      })

      const writeSoon = Effect.gen(function* () {
        yield* isNeeded.await
        yield* Effect.sleep(EVERY)
        push(sampler.endMinute(clock.currentTimeMillisUnsafe()))
        yield* write
        if (waiting.length === 0 && !sampler.hasOthers) yield* isNeeded.close
      })

      yield* Effect.addFinalizer(() =>
        Effect.suspend(() => {
          push(sampler.end())
          return write
        })
      )
      yield* Effect.forkScoped(Effect.forever(writeSoon))

      return RefusalLog.of({
        record: (refused) => {
          push(sampler.add(refused, clock.currentTimeMillisUnsafe()))
          isNeeded.openUnsafe()
        }
      })
    })
  )
}
