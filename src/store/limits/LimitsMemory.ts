/** Rate limits in the memory of one process. They are lost when it ends. */
import { Effect, Layer } from "effect"
import { LimitTable } from "./LimitTable.ts"
import { Limits } from "./Limits.ts"

/** Limits of this process alone, lost when it ends. Never fails. */
export const layer = Layer.sync(Limits, () => {
  const table = new LimitTable()
  return {
    acquire: (request) => Effect.sync(() => table.acquire(request)),
    take: (request) => Effect.sync(() => table.take(request)),
    renew: (leases, leaseMs, nowMs) => Effect.sync(() => table.renew(leases, leaseMs, nowMs)),
    release: (lease) => Effect.sync(() => table.release(lease)),
    correct: (correction) => Effect.sync(() => table.correct(correction)),
    ping: Effect.void
  }
})
