/**
 * Usage and cost by day, model, key, owner or provider, over whole UTC days: of one key, one owner
 * or all. The figures are summed as generations are settled, so they include generations that were
 * deleted since. A report covers a year at most, which limits what it reads. Two reports run at a
 * time, which leaves the database free for requests.
 */
import { Clock, Context, Effect, Layer, Semaphore } from "effect"
import { gatewayError, type GatewayError, InvalidRequest } from "../../domain/Errors.ts"
import { DAY_MS, monthOf, monthStartMs } from "../../domain/pricing/Money.ts"
import {
  LedgerReports,
  noFigures,
  type ReportFigures,
  type ReportGroup,
  type ReportPart,
  type ReportQuery
} from "../../store/ledger/reports/LedgerReports.ts"
import {
  type RefusalGroup,
  RefusalStore,
  type RefusalSum,
  type RefusalSums
} from "../../store/refusals/RefusalStore.ts"
import { orUnavailable } from "../StoreUnavailable.ts"

export type UsageQuery = Pick<ReportQuery, "keyId" | "ownerId" | "model" | "provider" | "groupBy"> & {
  /** The most groups of each kind. Default: 1,000. */
  readonly limit?: number
  /**
   * A moment within the first day, and the end of the last day. Null: the first day of the month of
   * `toMs`, and the end of today.
   */
  readonly fromMs: number | null
  readonly toMs: number | null
}

/** With the number of requests that were refused, which are not among `requests`. */
export type UsageSums = ReportFigures & { readonly refusals: number }

/** A group of null has no name: keys without an owner, refused requests without a key. */
export type UsageRow = UsageSums & { readonly group: string | null }

/** `fromMs` inclusive, `toMs` exclusive; both are starts of days. */
export interface UsageFigures {
  readonly fromMs: number
  readonly toMs: number
  readonly total: UsageSums
  readonly parts: ReadonlyMap<ReportGroup, { readonly rows: ReadonlyArray<UsageRow>; readonly hasMore: boolean }>
}

const MOST_DAYS = 366
const MOST_GROUPS = 1_000
/** Above any number of keys, models and owners that a report shows. */
const MOST_REFUSED = 100_000
const AT_ONCE = 2

export class UsageReports extends Context.Service<
  UsageReports,
  {
    /**
     * Fails with `InvalidRequest` if the span ends before it begins or is longer than 366 days.
     * Days are in their order. Other groups have the most expensive first, then those of which
     * requests were only refused.
     */
    readonly read: (query: UsageQuery) => Effect.Effect<UsageFigures, GatewayError>
  }
>()("tollgate/gateway/billing/UsageReports") {
  static readonly layer = Layer.effect(
    UsageReports,
    Effect.gen(function* () {
      const reports = yield* LedgerReports
      const refused = yield* RefusalStore
      const turns = yield* Semaphore.make(AT_ONCE)

      /** Refused requests have no provider. */
      const refusalsBy = (
        groupBy: RefusalGroup | null,
        { provider, ...of }: Omit<RefusalSums, "groupBy"> & ByProvider
      ) => (provider === undefined ? refused.sums({ ...of, groupBy }) : Effect.succeed([]))

      const read = Effect.fn("UsageReports.read")(function* ({ fromMs, limit = MOST_GROUPS, toMs, ...of }: UsageQuery) {
        const nowMs = yield* Clock.currentTimeMillis
        const toDay = toMs === null ? Math.floor(nowMs / DAY_MS) + 1 : Math.ceil(toMs / DAY_MS)
        const fromDay = Math.floor((fromMs ?? monthStartMs(monthOf(toDay * DAY_MS - 1))) / DAY_MS)
        if (fromDay > toDay || toDay - fromDay > MOST_DAYS) {
          const message = `\`from\` must be at most ${MOST_DAYS} days before \`to\`.`
          return yield* gatewayError(
            new InvalidRequest({ message, param: "from", code: "invalid_span", provider: null })
          )
        }
        const span = { fromMs: fromDay * DAY_MS, toMs: toDay * DAY_MS }
        return yield* Semaphore.withPermit(
          turns,
          Effect.gen(function* () {
            const report = yield* reports.report({ ...of, fromDay, toDay, limit })
            const { groupBy, ...rest } = of
            const query = { ...rest, ...span, limit: MOST_REFUSED }
            const [all] = yield* refusalsBy(null, query)
            const parts = new Map<ReportGroup, UsagePart>()
            for (const by of groupBy) {
              const part = report.parts.get(by) ?? { rows: [], hasMore: false }
              const sums =
                by === "provider" ? (all === undefined ? [] : [{ ...all, group: null }]) : yield* refusalsBy(by, query)
              parts.set(by, withRefusals(by, part, sums, limit))
            }
            return { ...span, total: { ...report.total, refusals: all?.count ?? 0 }, parts } satisfies UsageFigures
          })
        )
      }, orUnavailable)

      return UsageReports.of({ read })
    })
  )
}

type ByProvider = Pick<UsageQuery, "provider">
type UsagePart = { readonly rows: ReadonlyArray<UsageRow>; readonly hasMore: boolean }

/** Adds the refusals to the rows of their groups, and a row for each group that has no other. */
const withRefusals = (
  by: ReportGroup,
  { hasMore, rows }: ReportPart,
  sums: ReadonlyArray<RefusalSum>,
  limit: number
): UsagePart => {
  const counts = new Map(sums.map(({ count, group }) => [group, count]))
  const used = rows.map((row) => ({ ...row, refusals: counts.get(row.group) ?? 0 }))
  if (hasMore) return { rows: used, hasMore }
  const known = new Set(rows.map(({ group }) => group))
  const others = sums.flatMap(({ count, group }) =>
    known.has(group) ? [] : [{ ...noFigures, group, refusals: count }]
  )
  const all = [...used, ...others]
  if (by === "day") all.sort((a, b) => ((a.group ?? "") < (b.group ?? "") ? -1 : 1))
  return { rows: all.slice(0, limit), hasMore: all.length > limit }
}
