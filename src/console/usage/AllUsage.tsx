/** Usage of all keys, by model, provider, user and key. */
import { type ApiKey } from "../../api/Keys.ts"
import { type UsageReport } from "../../api/Usage.ts"
import { type Account } from "../../api/signin/Users.ts"
import { call, withQuery } from "../client.ts"
import { count, percent, usd } from "../format.ts"
import { Link } from "../router.tsx"
import { type Usage, UsagePage } from "./UsagePage.tsx"

type Row = UsageReport["data"][number]

interface List<A> {
  readonly data: ReadonlyArray<A>
}

const load = async (from: string, signal: AbortSignal): Promise<Usage> => {
  const by = (group_by: UsageReport["group_by"]) =>
    call<UsageReport>(withQuery("/v1/admin/usage", { from, group_by }), { signal })
  const [days, models, providers, owners, ofKeys, keys, users] = await Promise.all([
    by("day"),
    by("model"),
    by("provider"),
    by("owner"),
    by("key"),
    call<List<ApiKey>>("/v1/keys?limit=1000", { signal }),
    call<List<Account>>("/v1/admin/users?limit=1000", { signal })
  ])
  const keyNames = new Map(keys.data.map(({ id, name }) => [id, name]))
  const userNames = new Map(users.data.map(({ email, id, phone }) => [id, email ?? phone ?? id]))
  const part = (title: string, { data }: UsageReport, nameOf: (row: Row) => string | undefined) => ({
    title,
    rows: data.map((row) => ({ ...row, name: nameOf(row) ?? "unknown" }))
  })
  const { total } = days
  return {
    from: days.from,
    to: days.to,
    total,
    facts: [
      [
        "Failed",
        percent(total.requests === 0 ? null : total.failed / total.requests),
        `${count(total.failed)} of the requests`
      ],
      ["Saved by the cache", usd(total.saved_usd), `${count(total.cache_hits)} hits`]
    ],
    byDay: days.data.map((row) => ({ ...row, date: row.day ?? "" })),
    parts: [
      part("By model", models, ({ model }) => model),
      part("By provider", providers, ({ provider }) => provider),
      part("By user", owners, ({ owner }) =>
        owner === null || owner === undefined ? "keys of no user" : (userNames.get(owner) ?? owner)
      ),
      part("By key", ofKeys, ({ key }) => keyNames.get(key ?? "") ?? key)
    ]
  }
}

export const AllUsage = () => (
  <UsagePage
    lead="What everyone has used and what it cost. Days are those of UTC."
    load={load}
    empty={
      <>
        Issue a key under <Link to="/keys">Keys</Link>, or try a model in the <Link to="/playground">playground</Link>.
      </>
    }
  />
)
