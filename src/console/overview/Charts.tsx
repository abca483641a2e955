/**
 * The charts of the overview: traffic, errors, latencies, spending, cache, tokens and ledger lag.
 */
import { useMemo } from "preact/hooks"
import { type Timeseries } from "../../api/Series.ts"
import { count, ms, usd, words } from "../format.ts"
import { Chart } from "../parts/Chart.tsx"
import { type Line } from "../parts/chartData.ts"
import { type LagSample } from "./Overview.tsx"

type Bucket = Timeseries["data"][number]

const errorColors = ["c3", "c2", "c5", "c4"]

/** The most frequent error types have their own colours. The others share one. */
const errorLines = (buckets: ReadonlyArray<Bucket>): ReadonlyArray<Line> => {
  const totals = new Map<string, number>()
  for (const { errors } of buckets) {
    for (const [type, times] of Object.entries(errors)) totals.set(type, (totals.get(type) ?? 0) + times)
  }
  const types = [...totals].sort(([, a], [, b]) => b - a).map(([type]) => type)
  const shown = types.slice(0, errorColors.length)
  const rest = types.slice(errorColors.length)
  const others = (bucket: Bucket) => rest.reduce((sum, type) => sum + (bucket.errors[type] ?? 0), 0)
  return [
    ...shown.map((type, index) => ({
      label: words(type),
      color: errorColors[index] ?? "c6",
      values: buckets.map(({ errors }) => errors[type] ?? 0)
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

interface OverviewChartsProps {
  readonly series: Timeseries
  readonly lag: ReadonlyArray<LagSample>
}

export const OverviewCharts = ({ lag, series }: OverviewChartsProps) => {
  const each = series.bucket_s === 60 ? "per minute" : "per hour"
  const charts = useMemo(() => {
    const { data } = series
    const one = (label: string, color: string, value: (bucket: Bucket) => number): Line => ({
      label,
      color,
      values: data.map(value)
    })
    return {
      times: data.map(({ start }) => Date.parse(start) / 1_000),
      requests: [one("requests", "c1", ({ requests }) => requests)],
      errors: errorLines(data),
      latency: quantileLines(data, "latency_ms"),
      firstToken: quantileLines(data, "time_to_first_token_ms"),
      spend: [one("spent", "c4", ({ spend_usd }) => spend_usd)],
      cache: [
        one("hits", "c1", ({ cache_hits }) => cache_hits),
        one("misses", "c6", ({ cache_hits, requests }) => requests - cache_hits)
      ],
      tokens: [
        one("completion", "c5", ({ completion_tokens }) => completion_tokens),
        one("prompt", "c4", ({ prompt_tokens }) => prompt_tokens)
      ]
    }
  }, [series])
  const behind = useMemo(
    () => ({
      times: lag.map(({ time }) => time),
      lines: [{ label: "oldest unwritten entry", color: "c2", values: lag.map(({ flushMs }) => flushMs) }]
    }),
    [lag]
  )
  const { times } = charts
  return (
    <div class="charts">
      <Chart title={`Requests ${each}`} times={times} lines={charts.requests} format={count} kind="bars" />
      <Chart title="Errors by type" times={times} lines={charts.errors} format={count} kind="bars" />
      <Chart title="Latency" times={times} lines={charts.latency} format={ms} kind="lines" />
      <Chart title="Time to first token" times={times} lines={charts.firstToken} format={ms} kind="lines" />
      <Chart title={`Spend ${each}`} times={times} lines={charts.spend} format={usd} kind="bars" />
      <Chart title="Cache" times={times} lines={charts.cache} format={count} kind="bars" />
      <Chart title={`Tokens ${each}`} times={times} lines={charts.tokens} format={count} kind="bars" />
      <Chart title="Ledger lag, while open" times={behind.times} lines={behind.lines} format={ms} kind="lines" />
    </div>
  )
}
