/** What a key or a user has spent of the month's budget and what is left, with further figures. */
import { relative, usd } from "../format.ts"
import { Facts, type FactsProps } from "./Facts.tsx"
import { Meter } from "./Meter.tsx"

interface BudgetProps {
  /** USD a month; null: no cap. */
  readonly cap: number | null
  readonly usage: {
    readonly month_spent_usd: number
    readonly month_reserved_usd: number
    readonly month_remaining_usd: number | null
    readonly resets_at: string
  }
  readonly more: FactsProps["facts"]
}

export const BudgetFacts = ({ cap, more, usage }: BudgetProps) => (
  <>
    <Facts
      facts={[
        ["Spent this month", usd(usage.month_spent_usd), cap === null ? "no budget" : `of ${usd(cap)}`],
        ["Reserved", usd(usage.month_reserved_usd), "by running requests"],
        [
          "Left",
          cap === null ? "no cap" : usd(usage.month_remaining_usd),
          cap === null ? undefined : <>resets {relative(usage.resets_at)}</>
        ],
        ...more
      ]}
    />
    {cap === null ? null : (
      <Meter
        share={cap === 0 ? 1 : (usage.month_spent_usd + usage.month_reserved_usd) / cap}
        label="Share of the budget"
      />
    )}
  </>
)
