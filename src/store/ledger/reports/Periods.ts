/**
 * The periods of an overview. Each is given by its beginning in Unix milliseconds and lasts until
 * now.
 */
import { DAY_MS, monthOf, monthStartMs } from "../../../domain/pricing/Money.ts"
import type { ModelSpend, Report, ReportQuery } from "./LedgerReports.ts"

const FIVE_MINUTES_MS = 300_000
/** Later than any day, and within a Postgres integer. */
const NEVER = 2_147_483_647
const MODELS_SHOWN = 20

export interface Periods {
  readonly last5mMs: number
  readonly last24hMs: number
  /** The current UTC day and month. */
  readonly todayMs: number
  readonly month: string
}

export const periodsOf = (nowMs: number): Periods => ({
  last5mMs: nowMs - FIVE_MINUTES_MS,
  last24hMs: nowMs - DAY_MS,
  todayMs: nowMs - (nowMs % DAY_MS),
  month: monthOf(nowMs)
})

/**
 * The part of an overview that comes from a report: the models with the highest cost this month.
 */
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
