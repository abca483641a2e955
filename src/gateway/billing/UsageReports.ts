/**
 * Usage and cost by day, model, key, owner or provider, over whole UTC days: of one key, one owner
 * or all. The figures are summed as generations are settled, so they include generations that were
 * deleted since. A report covers a year at most, which limits what it reads. Two reports run at a
 * time, which leaves the database free for requests.
 */
import { Clock, Context, Effect, Layer, Semaphore } from "effect"
import { gatewayError, type GatewayError, InvalidRequest } from "../../domain/Errors.ts"
import { DAY_MS, monthOf, monthStartMs } from "../../domain/Money.ts"
import { LedgerReports, type Report, type ReportQuery } from "../../store/ledger/reports/LedgerReports.ts"
import { orUnavailable } from "../StoreUnavailable.ts"

export type UsageQuery = Pick<ReportQuery, "keyId" | "ownerId" | "groupBy"> & {
  /**
   * A moment within the first day, and the end of the last day. Null: the first day of the month of
   * `toMs`, and the end of today.
   */
  readonly fromMs: number | null
  readonly toMs: number | null
}

/** `fromMs` inclusive, `toMs` exclusive; both are starts of days. */
export interface UsageFigures extends Report {
  readonly fromMs: number
  readonly toMs: number
}

const MOST_DAYS = 366
const MOST_GROUPS = 1_000
const AT_ONCE = 2

export class UsageReports extends Context.Service<
  UsageReports,
  {
    /**
     * Fails with `InvalidRequest` if the span ends before it begins or is longer than 366 days.
     * Returns at most 1,000 groups of each kind.
     */
    readonly read: (query: UsageQuery) => Effect.Effect<UsageFigures, GatewayError>
  }
>()("tollgate/gateway/billing/UsageReports") {
  static readonly layer = Layer.effect(
    UsageReports,
    Effect.gen(function* () {
      const reports = yield* LedgerReports
      const turns = yield* Semaphore.make(AT_ONCE)

      const read = Effect.fn("UsageReports.read")(function* ({ fromMs, toMs, ...of }: UsageQuery) {
        const nowMs = yield* Clock.currentTimeMillis
        const toDay = toMs === null ? Math.floor(nowMs / DAY_MS) + 1 : Math.ceil(toMs / DAY_MS)
        const fromDay = Math.floor((fromMs ?? monthStartMs(monthOf(toDay * DAY_MS - 1))) / DAY_MS)
        if (fromDay > toDay || toDay - fromDay > MOST_DAYS) {
          const message = `\`from\` must be at most ${MOST_DAYS} days before \`to\`.`
          return yield* gatewayError(
            new InvalidRequest({ message, param: "from", code: "invalid_span", provider: null })
          )
        }
        const report = yield* Semaphore.withPermit(turns, reports.report({ ...of, fromDay, toDay, limit: MOST_GROUPS }))
        return { ...report, fromMs: fromDay * DAY_MS, toMs: toDay * DAY_MS } satisfies UsageFigures
      }, orUnavailable)

      return UsageReports.of({ read })
    })
  )
}
