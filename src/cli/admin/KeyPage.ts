/** An API key as text. */
import type { ApiKey } from "../../api/Keys.ts"
import { count, moment, usd } from "../Figures.ts"
import type { Style } from "../Look.ts"
import { type Cell, facts, type Page, table } from "../Table.ts"

export const keyStyles: Readonly<Record<ApiKey["status"], Style>> = {
  active: "green",
  disabled: "yellow",
  expired: "yellow",
  revoked: "red"
}

const budgetOf = ({ monthly_budget_usd, usage }: ApiKey): string =>
  monthly_budget_usd === null
    ? `${usd(usage.month_spent_usd)} this month, no cap`
    : `${usd(usage.month_spent_usd)} of ${usd(monthly_budget_usd)} this month`

const ownerOf = ({ owner, owner_name }: ApiKey): string | null =>
  owner === null || owner_name == null ? owner : `${owner_name} (${owner})`

/** Describes a key as text. `secret`: present if it was just created. */
export const describeKey = (key: ApiKey, secret: string | null): Page =>
  facts([
    ["id", key.id],
    ["key", secret === null ? key.prefix : `${secret}   (shown only once)`],
    ["name", key.name],
    ["status", { text: key.status, style: keyStyles[key.status] }],
    ["tier", key.tier],
    [
      "limits",
      `${count(key.rate_limits.requests_per_minute)} requests and ${count(key.rate_limits.tokens_per_minute)} tokens a minute, ${count(key.rate_limits.concurrency)} at once`
    ],
    ["spent", budgetOf(key)],
    ["models", key.allowed_models === null ? "all" : key.allowed_models.join(" ")],
    ["scopes", key.scopes.join(" ")],
    ["owner", ownerOf(key)],
    ["expires", key.expires_at === null ? null : moment(key.expires_at)],
    ["last used", key.last_used_at === null ? null : moment(key.last_used_at)]
  ])

export const keyTable = (keys: ReadonlyArray<ApiKey>): Page =>
  table(
    ["ID", "KEY", "STATUS", "TIER", "SPENT", "BUDGET", "LAST USED", "OWNER", "NAME"],
    keys.map((key): ReadonlyArray<Cell> => [
      key.id,
      key.prefix,
      { text: key.status, style: keyStyles[key.status] },
      key.tier,
      usd(key.usage.month_spent_usd),
      key.monthly_budget_usd === null ? "-" : usd(key.monthly_budget_usd),
      moment(key.last_used_at),
      key.owner_name ?? key.owner ?? "-",
      key.name
    ]),
    "There are no such keys."
  )
