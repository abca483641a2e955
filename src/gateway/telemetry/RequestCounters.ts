/**
 * Counters of recent responses: statuses, rejections by policy, and the time that the gateway
 * itself took. They are in memory and describe this process. Money and history are in the ledger.
 */
import { Context, Effect, Layer } from "effect"

export type Rejection = "rate_limit" | "budget" | "model" | "privacy"

export interface RequestCounts {
  /** Responses since the start, by status. */
  readonly byStatus: Readonly<Record<string, number>>
  /** Since the start. */
  readonly rejections: Readonly<Record<Rejection, number>>
  /**
   * The 99th percentile of the time that the gateway added to its last 1,024 provider responses;
   * null before the first.
   */
  readonly overheadP99Ms: number | null
}

const WINDOW = 1_024

export class RequestCounters extends Context.Service<
  RequestCounters,
  {
    readonly countAnswer: (status: number, rejection: Rejection | null) => void
    readonly recordOverhead: (ms: number) => void
    readonly snapshot: Effect.Effect<RequestCounts>
  }
>()("tollgate/gateway/telemetry/RequestCounters") {
  static readonly layer = Layer.sync(RequestCounters, () => {
    const byStatus = new Map<number, number>()
    const rejections: Record<Rejection, number> = { rate_limit: 0, budget: 0, model: 0, privacy: 0 }
    const overheads: Array<number> = []
    let next = 0
    return {
      countAnswer: (status, rejection) => {
        byStatus.set(status, (byStatus.get(status) ?? 0) + 1)
        if (rejection !== null) rejections[rejection]++
      },
      recordOverhead: (ms) => {
        overheads[next] = ms
        next = (next + 1) % WINDOW
      },
      snapshot: Effect.sync(() => {
        const sorted = overheads.toSorted((a, b) => a - b)
        return {
          byStatus: Object.fromEntries(Array.from(byStatus, ([status, count]) => [String(status), count])),
          rejections: { ...rejections },
          overheadP99Ms: sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))] ?? null
        }
      })
    }
  })
}
