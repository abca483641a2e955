/** Rate limits in the memory of one process. They are lost when it ends. */
import { Effect, Layer } from "effect"
import { LimitTable } from "./LimitTable.ts"
import { Limits } from "./Limits.ts"

/**
 * Limits of this process alone, lost when it ends. Never fails. A call decides as it is made: its
 * effect is the verdict, and does not ask again.
 */
export const layer = Layer.sync(Limits, () => {
  const table = new LimitTable()
  return {
    acquire: (request) => Effect.succeed(table.acquire(request)),
    take: (request) => Effect.succeed(table.take(request)),
    renew: (leases, leaseMs, nowMs) => Effect.sync(() => table.renew(leases, leaseMs, nowMs)),
    release: (lease) => {
      table.release(lease)
      return Effect.void
    },
    correct: (correction) => Effect.succeed(table.correct(correction)),
    ping: Effect.void
  }
})
