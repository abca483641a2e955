/** Usage as pages show it: totals, days and groups, of all keys or of one key or user. */
import { type OwnUsage } from "../../api/signin/Portal.ts"
import { type UsageReport } from "../../api/Usage.ts"
import { call, withQuery } from "../client.ts"
import { type Source } from "../keys/source.ts"

export interface Figures {
  readonly requests: number
  readonly failed: number
  readonly refusals: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly billed_usd: number
}

export type Day = Figures & { readonly date: string }

/** `to`: the page of the row. */
export type Row = Figures & { readonly name: string; readonly to?: string }

export interface Part {
  readonly title: string
  /** Most expensive first. */
  readonly rows: ReadonlyArray<Row>
  /** The path of the rows as CSV. */
  readonly csv?: string
}

export interface Usage {
  readonly from: string
  readonly to: string
  readonly total: Figures & { readonly saved_usd?: number; readonly cache_hits?: number }
  readonly byDay: ReadonlyArray<Day>
  /** The days of the most expensive models. */
  readonly models: ReadonlyArray<{ readonly model: string; readonly byDay: ReadonlyArray<Day> }>
  readonly parts: ReadonlyArray<Part>
}

export interface UsageOf {
  readonly from: string | undefined
  readonly to: string | undefined
  readonly key?: string
  readonly owner?: string
}

type Group = UsageReport["group_by"]
type ReportRow = UsageReport["data"][number]

/** Models that have a colour of their own in the chart. */
const MOST_MODELS = 4
const NO_MODEL = "refused before a model was found"

const titles = { model: "By model", provider: "By provider", owner: "By user", key: "By key" } as const

const requestsOf = ({ from, key, owner, to }: UsageOf, more: Readonly<Record<string, string | undefined>>): string =>
  withQuery("/requests", { from, to, key, user: owner, ...more })

const rowOf = (of: UsageOf, by: keyof typeof titles, row: ReportRow): Row => {
  switch (by) {
    case "model":
      return row.model == null
        ? { ...row, name: NO_MODEL, to: requestsOf(of, { end: "refused" }) }
        : { ...row, name: row.model, to: requestsOf(of, { model: row.model }) }
    case "provider":
      return row.provider == null
        ? { ...row, name: "refused before a call", to: requestsOf(of, { end: "refused" }) }
        : { ...row, name: row.provider, to: requestsOf(of, { provider: row.provider }) }
    case "owner":
      return row.owner == null
        ? { ...row, name: "keys of no user" }
        : { ...row, name: row.owner_name ?? row.owner, to: `/users/${row.owner}` }
    case "key":
      return row.key == null
        ? { ...row, name: "no valid key", to: requestsOf(of, { status: "401" }) }
        : { ...row, name: row.key_name ?? row.key, to: `/keys/${row.key}` }
  }
}

const daysOf = ({ data }: UsageReport): ReadonlyArray<Day> => data.map((row) => ({ ...row, date: row.day ?? "" }))

/** For operators. `groups`: the tables below the charts. */
export const loadUsage = async (
  of: UsageOf,
  groups: ReadonlyArray<keyof typeof titles>,
  signal: AbortSignal
): Promise<Usage> => {
  const path = (group_by: Group, more: Readonly<Record<string, string>> = {}) =>
    withQuery("/v1/admin/usage", { ...of, group_by, ...more })
  const by = (group_by: Group, more?: Readonly<Record<string, string>>) =>
    call<UsageReport>(path(group_by, more), { signal })
  const [days, ...reports] = await Promise.all([by("day"), ...groups.map((group) => by(group))])
  const parts = reports.flatMap((report, at): ReadonlyArray<Part> => {
    const group = groups[at]
    if (group === undefined) return []
    const rows = report.data.map((row) => rowOf(of, group, row))
    return [{ title: titles[group], rows, csv: path(group, { format: "csv" }) }]
  })
  const found = reports[groups.indexOf("model")]?.data.flatMap(({ billed_usd, model }) =>
    model == null || billed_usd === 0 ? [] : [model]
  )
  const models = (found ?? []).slice(0, MOST_MODELS)
  const byModel = await Promise.all(models.map((model) => by("day", { model })))
  return {
    from: days.from,
    to: days.to,
    total: days.total,
    byDay: daysOf(days),
    models: byModel.map((report, at) => ({ model: models[at] ?? "", byDay: daysOf(report) })),
    parts
  }
}

/** For a user's own keys. */
export const loadOwnUsage = async (of: UsageOf, signal: AbortSignal): Promise<Usage> => {
  const { from, key, to } = of
  const read = (more: Readonly<Record<string, string>> = {}) =>
    call<OwnUsage>(withQuery("/v1/portal/usage", { from, to, key, ...more }), { signal })
  const { by_day, by_key, by_model, ...whole } = await read()
  const models = by_model.flatMap(({ billed_usd, model }) => (model === null || billed_usd === 0 ? [] : [model]))
  const shown = models.slice(0, MOST_MODELS)
  const byModel = await Promise.all(shown.map((model) => read({ model })))
  return {
    ...whole,
    byDay: by_day,
    models: byModel.map((report, at) => ({ model: shown[at] ?? "", byDay: report.by_day })),
    parts: [
      {
        title: titles.model,
        rows: by_model.map((row) => rowOf(of, "model", { ...noSums, ...row }))
      },
      {
        title: titles.key,
        rows: by_key.map((row) => rowOf(of, "key", { ...noSums, ...row, key: row.key_id, key_name: row.name }))
      }
    ]
  }
}

const noSums = { cache_hits: 0, cached_tokens: 0, total_cost_usd: 0, markup_usd: 0, saved_usd: 0 }

/** Usage of one key or user, for the source's readers. */
export const loadUsageOf = (source: Source, of: UsageOf, signal: AbortSignal): Promise<Usage> =>
  source.isOwn
    ? loadOwnUsage(of, signal)
    : loadUsage(of, of.key === undefined ? ["model", "key"] : ["model", "provider"], signal)
