/**
 * The charts of the overview: traffic, errors, refusals, latencies, spending, cache and tokens; and
 * the ledger's lag.
 */
import { useMemo } from "preact/hooks"
import { type Timeseries } from "../../api/Series.ts"
import { withQuery } from "../client.ts"
import { count, ms, usd, words } from "../format.ts"
import { Chart } from "../parts/Chart.tsx"
import { type Line } from "../parts/chartData.ts"
import { type LagSample } from "./Overview.tsx"

type Bucket = Timeseries["data"][number]

/** The number of each type, the most frequent first. */
export const totalsOf = (
  buckets: ReadonlyArray<Bucket>,
  of: "errors" | "refusals"
): ReadonlyArray<readonly [type: string, times: number]> => {
  const totals = new Map<string, number>()
  for (const bucket of buckets) {
    for (const [type, times] of Object.entries(bucket[of])) totals.set(type, (totals.get(type) ?? 0) + times)
  }
  return [...totals].sort(([, a], [, b]) => b - a)
}

const errorColors = ["c3", "c2", "c5", "c4"]

/** The most frequent types have their own colours. The others share one. */
const typeLines = (
  buckets: ReadonlyArray<Bucket>,
  of: "errors" | "refusals",
  to: (type: string) => string
): ReadonlyArray<Line> => {
  const types = [...totalsOf(buckets, of)].map(([type]) => type)
  const shown = types.slice(0, errorColors.length)
  const rest = types.slice(errorColors.length)
  const others = (bucket: Bucket) => rest.reduce((sum, type) => sum + (bucket[of][type] ?? 0), 0)
  return [
    ...shown.map((type, index) => ({
      label: words(type),
      to: to(type),
      color: errorColors[index] ?? "c6",
      values: buckets.map((bucket) => bucket[of][type] ?? 0)
    })),
    ...(rest.length === 0 ? [] : [{ label: "others", color: "c6", values: buckets.map(others) }])
  ]
}

const quantileLines = (buckets: ReadonlyArray<Bucket>, of: "latency_ms" | "time_to_first_token_ms") =>
  (["p50", "p95", "p99"] as const).map((quantile, index): Line => ({
    label: quantile,
    color: ["c1", "c2", "c3"][index] ?? "c6",
    values: buckets.map((bucket) => bucket[of]?.[quantile] ?? null)
  }))

export const OverviewCharts = ({ series }: { readonly series: Timeseries }) => {
  const each = series.bucket_s === 60 ? "per minute" : "per hour"
  const charts = useMemo(() => {
    const { data, range: span } = series
    const one = (label: string, color: string, value: (bucket: Bucket) => number, to?: string): Line => ({
      label,
      color,
      values: data.map(value),
      ...(to === undefined ? {} : { to })
    })
    const list = (filters: Readonly<Record<string, string>>) => withQuery("/requests", { span, ...filters })
    return {
      times: data.map(({ start }) => Date.parse(start) / 1_000),
      requests: [one("requests", "c1", ({ requests }) => requests, list({}))],
      errors: typeLines(data, "errors", (type) => list({ end: "failed", type })),
      refusals: typeLines(data, "refusals", (type) => list({ end: "refused", type })),
      latency: quantileLines(data, "latency_ms"),
      firstToken: quantileLines(data, "time_to_first_token_ms"),
      spend: [one("spent", "c4", ({ spend_usd }) => spend_usd)],
      cache: [
        one("hits", "c1", ({ cache_hits }) => cache_hits, list({ cache: "yes" })),
        one("misses", "c6", ({ cache_hits, requests }) => requests - cache_hits)
      ],
      tokens: [
        one("completion", "c5", ({ completion_tokens }) => completion_tokens),
        one("prompt", "c4", ({ prompt_tokens }) => prompt_tokens)
      ]
    }
  }, [series])
  const { times } = charts
  return (
    <div class="charts">
      <Chart title={`Requests ${each}`} times={times} lines={charts.requests} format={count} kind="bars" />
      <Chart title="Errors by type" times={times} lines={charts.errors} format={count} kind="bars" />
      <Chart title="Refusals by type" times={times} lines={charts.refusals} format={count} kind="bars" />
      <Chart title="Latency" times={times} lines={charts.latency} format={ms} kind="lines" />
      <Chart title="Time to first token" times={times} lines={charts.firstToken} format={ms} kind="lines" />
      <Chart title={`Spend ${each}`} times={times} lines={charts.spend} format={usd} kind="bars" />
      <Chart title="Cache" times={times} lines={charts.cache} format={count} kind="bars" />
      <Chart title={`Tokens ${each}`} times={times} lines={charts.tokens} format={count} kind="bars" />
    </div>
  )
}

/** How far the writing of the ledger lags behind, since the page was opened. */
export const LagChart = ({ lag }: { readonly lag: ReadonlyArray<LagSample> }) => {
  const behind = useMemo(
    () => ({
      times: lag.map(({ time }) => time),
      lines: [{ label: "oldest unwritten entry", color: "c2", values: lag.map(({ flushMs }) => flushMs) }]
    }),
    [lag]
  )
  return <Chart title="Ledger lag, while open" times={behind.times} lines={behind.lines} format={ms} kind="lines" />
}
