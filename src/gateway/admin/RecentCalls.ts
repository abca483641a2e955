/**
 * The calls of providers in the last day, from the ledger. A quarter of an hour that ended a while
 * ago no longer changes, so it is read once and kept in memory: a page costs what the last half
 * hour costs. The first page after a start reads the day, an hour at a time. A settlement that
 * comes later than a quarter of an hour after its quarter does not count.
 */
import { Clock, Effect } from "effect"
import { type CallBucket } from "../../domain/Calls.ts"
import { type LedgerReports } from "../../store/ledger/reports/LedgerReports.ts"
import { type StoreError } from "../../store/StoreError.ts"

export const HOUR_MS = 3_600_000
export const HOURS = 24
const SLOT_MS = 900_000
/** How long a slot may change after its end. */
const UNSETTLED_MS = 900_000
/** How long an answer is kept, whatever the number of readers. */
const TTL = "5 seconds"

/** The first instant of the oldest hour. The last hour is still running. */
export const firstHourMs = (nowMs: number): number => Math.floor(nowMs / HOUR_MS) * HOUR_MS - (HOURS - 1) * HOUR_MS

export const makeRecentCalls = (
  reports: LedgerReports["Service"]
): Effect.Effect<Effect.Effect<ReadonlyArray<CallBucket>, StoreError>> => {
  /** What is known of each slot that no longer changes. */
  const slots = new Map<number, ReadonlyArray<CallBucket>>()

  const read = Effect.gen(function* () {
    const nowMs = yield* Clock.currentTimeMillis
    const firstMs = firstHourMs(nowMs)
    for (const startMs of slots.keys()) if (startMs < firstMs) slots.delete(startMs)
    const recent: Array<CallBucket> = []
    let fromMs = firstMs
    while (fromMs <= nowMs) {
      if (slots.has(fromMs)) {
        fromMs += SLOT_MS
        continue
      }
      const toMs = Math.floor(fromMs / HOUR_MS) * HOUR_MS + HOUR_MS
      const found = Map.groupBy(yield* reports.calls({ fromMs, toMs, bucketMs: SLOT_MS }), ({ startMs }) => startMs)
      for (; fromMs < toMs; fromMs += SLOT_MS) {
        const calls = found.get(fromMs) ?? []
        if (fromMs + SLOT_MS + UNSETTLED_MS <= nowMs) slots.set(fromMs, calls)
        else recent.push(...calls)
      }
    }
    return [...[...slots.values()].flat(), ...recent]
  })
  return Effect.cachedWithTTL(read, TTL)
}
