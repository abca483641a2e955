/** The periods that an overview looks at: each begins then, in Unix milliseconds, and lasts until now. */
import { DAY_MS, monthOf, monthStartMs } from "../../../domain/Money.ts"
import type { ModelSpend, Report, ReportQuery } from "./LedgerReports.ts"

const FIVE_MINUTES_MS = 300_000
/** After every day that there can be, and within a Postgres integer. */
const NEVER = 2_147_483_647
const MODELS_SHOWN = 20

export interface Periods {
  readonly last5mMs: number
  readonly last24hMs: number
  /** The UTC day and calendar month of now. */
  readonly todayMs: number
  readonly month: string
}

export const periodsOf = (nowMs: number): Periods => ({
  last5mMs: nowMs - FIVE_MINUTES_MS,
  last24hMs: nowMs - DAY_MS,
  todayMs: nowMs - (nowMs % DAY_MS),
  month: monthOf(nowMs)
})

/** What an overview asks of the report: this month's dearest models. */
export const monthByModel = (nowMs: number): ReportQuery => ({
  keyId: null,
  ownerId: null,
  fromDay: monthStartMs(monthOf(nowMs)) / DAY_MS,
  toDay: NEVER,
  groupBy: ["model"],
  limit: MODELS_SHOWN
})

export const modelSpendOf = ({ parts }: Report): ReadonlyArray<ModelSpend> =>
  (parts.get("model")?.rows ?? []).map(({ billedNano, group, requests }) => ({
    model: group ?? "",
    billedNano,
    requests
  }))
