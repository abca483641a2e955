/** A user's grants, and the part that is left. */
import { type OwnGrants } from "../../api/signin/Portal.ts"
import { count, NONE, usd } from "../format.ts"
import { Facts } from "../parts/Facts.tsx"

const capped = (cap: number | null | undefined): string => (cap === null ? "no cap" : usd(cap))

/** Has the same height while loading. */
export const Granted = ({ of }: { readonly of: OwnGrants | undefined }) => (
  <div class="above">
    <Facts
      facts={[
        ["Tier, at most", of?.tier ?? NONE, "sets the rate limits"],
        ["Budget a month", capped(of?.monthly_budget_usd), "all keys together"],
        [
          "Left this month",
          of === undefined || of.monthly_budget_usd === null
            ? capped(of?.monthly_budget_usd)
            : usd(Math.max(0, of.monthly_budget_usd - of.month_used_usd)),
          of === undefined ? NONE : `${usd(of.month_used_usd)} used`
        ],
        ["Left to give", capped(of?.available_usd), "to new keys"],
        ["Keys", of === undefined ? NONE : count(of.keys), `of ${of?.most_keys ?? NONE} at most`]
      ]}
    />
  </div>
)
