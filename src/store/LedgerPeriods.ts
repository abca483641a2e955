/** The periods that an overview looks at, as Unix milliseconds: each begins then and lasts until now. */
import { monthOf } from "../domain/Money.ts"

const FIVE_MINUTES_MS = 300_000
const DAY_MS = 86_400_000

export interface Periods {
  readonly last5mMs: number
  readonly last24hMs: number
  /** The UTC day and calendar month of now. */
  readonly todayMs: number
  readonly monthMs: number
  readonly month: string
}

export const periodsOf = (nowMs: number): Periods => {
  const month = monthOf(nowMs)
  return {
    last5mMs: nowMs - FIVE_MINUTES_MS,
    last24hMs: nowMs - DAY_MS,
    todayMs: nowMs - (nowMs % DAY_MS),
    monthMs: Date.parse(`${month}-01T00:00:00Z`),
    month
  }
}
