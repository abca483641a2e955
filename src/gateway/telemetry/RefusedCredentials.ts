/**
 * Counts refused credentials by network address, minute and kind. Counting takes no time of the
 * request: counts are written together once a second. A flood is bounded: in each minute a process
 * tells a certain number of addresses apart, and counts the others together. While the database is
 * away the counts of a bounded number of minutes wait.
 */
import { Clock, Effect, Latch, Schedule } from "effect"
import { DAY_MS } from "../../domain/pricing/Money.ts"
import { type RefusedCount, RefusedCredentialStore } from "../../store/audit/RefusedCredentialStore.ts"

const MINUTE_MS = 60_000
const EVERY = "1 second"
/** Addresses and kinds that are told apart in a minute. */
const MOST_TOLD_APART = 200
/** The address under which the others are counted. */
export const OTHERS = "others"
const MOST_WAITING = 2_000
const KEPT_MS = 30 * DAY_MS
const MOST_STORED = 100_000
const DELETE_EVERY = "1 hour"

export type CountRefused = (address: string | null, credential: string) => void

export const makeRefusedCredentials = Effect.gen(function* () {
  const store = yield* RefusedCredentialStore
  const clock = yield* Clock.Clock
  const isNeeded = Latch.makeUnsafe()
  let waiting = new Map<string, RefusedCount>()
  const seen = { minuteMs: 0, names: new Set<string>() }

  const add = (one: RefusedCount): void => {
    const key = `${one.minuteMs} ${one.credential} ${one.address}`
    const old = waiting.get(key)
    if (old === undefined && waiting.size >= MOST_WAITING) return
    waiting.set(key, {
      ...one,
      count: (old?.count ?? 0) + one.count,
      lastMs: Math.max(old?.lastMs ?? 0, one.lastMs)
    })
  }

  const count: CountRefused = (address, credential) => {
    const nowMs = clock.currentTimeMillisUnsafe()
    const minuteMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS
    if (minuteMs !== seen.minuteMs) {
      seen.minuteMs = minuteMs
      seen.names.clear()
    }
    const name = `${credential} ${address}`
    const isTold = seen.names.has(name) || seen.names.size < MOST_TOLD_APART
    if (isTold) seen.names.add(name)
    add({ minuteMs, address: isTold ? (address ?? "unknown") : OTHERS, credential, count: 1, lastMs: nowMs })
    isNeeded.openUnsafe()
  }

  const write = Effect.suspend(() => {
    const counts = [...waiting.values()]
    waiting = new Map()
    return counts.length === 0
      ? Effect.void
      : Effect.catch(store.add(counts), () => Effect.sync(() => counts.forEach(add)))
  })

  const writeSoon = Effect.gen(function* () {
    yield* isNeeded.await
    yield* Effect.sleep(EVERY)
    yield* write
    if (waiting.size === 0) yield* isNeeded.close
  })
  yield* Effect.addFinalizer(() => write)
  yield* Effect.forkScoped(Effect.forever(writeSoon))
  return count
})

/** Deletes old counts while the scope lasts. */
export const deleteOldCounts = Effect.gen(function* () {
  const store = yield* RefusedCredentialStore
  const deleteOld = Effect.flatMap(Clock.currentTimeMillis, (nowMs) => store.deleteOld(nowMs - KEPT_MS, MOST_STORED))
  yield* Effect.forkScoped(Effect.repeat(Effect.ignore(deleteOld), Schedule.spaced(DELETE_EVERY)))
})
