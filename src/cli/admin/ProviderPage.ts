/** Providers as text: how each and its models do, now and in the last 24 hours. */
import type { ProviderDetails, ProviderRecord } from "../../api/Providers.ts"
import { count, milliseconds, moment, share } from "../Figures.ts"
import { oneLine } from "../Output.ts"
import { type Cell, type Page, page, table } from "../Table.ts"

const styles = { ok: "green", degraded: "yellow", down: "red" } as const
const circuits = { closed: "green", half_open: "yellow", open: "red" } as const

const causeOf = (why: ProviderRecord["why"]): string => {
  if (why === null) return "-"
  const status = why.status === null ? "" : ` (status ${why.status})`
  return oneLine(`${why.type}${status}${why.message === null ? "" : `: ${why.message}`}`)
}

export const overview = (providers: ReadonlyArray<ProviderRecord>): Page =>
  table(
    ["PROVIDER", "STATUS", "SINCE (UTC)", "UPTIME 24 H", "CALLS", "FAILED", "OPENED", "MODELS", "WHY"],
    providers.map((provider): ReadonlyArray<Cell> => [
      provider.slug,
      { text: provider.status, style: styles[provider.status] },
      moment(provider.since),
      share(provider.uptime),
      count(provider.calls),
      count(provider.failed),
      count(provider.opened_24h),
      count(provider.models.length),
      causeOf(provider.why)
    ]),
    "There are no providers."
  )

export const details = (provider: ProviderDetails): Page =>
  page(
    overview([provider]),
    "",
    table(
      ["MODEL", "CIRCUIT", "UPTIME 24 H", "CALLS", "FAILED", "P50", "P95", "FIRST TOKEN"],
      provider.models.map((model): ReadonlyArray<Cell> => [
        model.id,
        { text: model.state, style: circuits[model.state] },
        share(model.uptime),
        count(model.calls),
        count(model.failed),
        milliseconds(model.latency_ms?.p50 ?? null),
        milliseconds(model.latency_ms?.p95 ?? null),
        milliseconds(model.time_to_first_token_ms?.p50 ?? null)
      ]),
      "It has no models."
    ),
    "",
    table(
      ["OUTAGE FROM (UTC)", "TO", "MODEL", "OPENED", "WHY"],
      provider.outages.map((outage): ReadonlyArray<Cell> => [
        moment(outage.opened_at),
        outage.closed_at === null ? { text: "open", style: "red" } : moment(outage.closed_at),
        outage.model ?? "all",
        count(outage.openings),
        causeOf(outage.why)
      ]),
      "There was no outage in the last 30 days."
    )
  )
