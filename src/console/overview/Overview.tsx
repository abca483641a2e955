/**
 * The overview: current figures, charts over time, spending by model, providers, rejections. It
 * refreshes itself.
 */
import { useEffect, useState } from "preact/hooks"
import { type Overview as Figures } from "../../api/Admin.ts"
import { type HealthReport } from "../../api/Health.ts"
import { type Timeseries } from "../../api/Series.ts"
import { call, failureOf, send, withQuery } from "../client.ts"
import { count, duration, ms, NONE, percent, relative, usd } from "../format.ts"
import { Badge } from "../parts/Badge.tsx"
import { Choice } from "../parts/Field.tsx"
import { Facts } from "../parts/Facts.tsx"
import { Page, Panel } from "../parts/Page.tsx"
import { Empty, Loaded, Skeleton } from "../parts/States.tsx"
import { Table } from "../parts/Table.tsx"
import { Link } from "../router.tsx"
import { sortRows, useSorting } from "../sorting.ts"
import { type Loading, useLoad } from "../useLoad.ts"
import { OverviewCharts } from "./Charts.tsx"

type Range = "hour" | "day"
export interface LagSample {
  readonly time: number
  readonly flushMs: number
  readonly pending: number
}

const SAMPLES = 120

/** Samples of the ledger's lag since the page was opened. The gateway keeps no history of it. */
const useLag = (figures: Figures | undefined): ReadonlyArray<LagSample> => {
  const [samples, setSamples] = useState<ReadonlyArray<LagSample>>([])
  useEffect(() => {
    if (figures === undefined) return
    const { flush_lag_ms, pending } = figures.ledger
    const sample = { time: Date.parse(figures.generated_at) / 1_000, flushMs: flush_lag_ms, pending }
    setSamples((before) => [...before.slice(1 - SAMPLES), sample])
  }, [figures])
  return samples
}

/** An unhealthy gateway answers 503 with the same report. */
const readHealth = async (signal: AbortSignal): Promise<HealthReport> => {
  const response = await send("/health", { signal })
  if (!response.ok && response.status !== 503) throw await failureOf(response)
  return (await response.json()) as HealthReport
}

const isAwaited = ({ data, failure }: Loading<unknown>): boolean => data === undefined && failure === undefined

export const Overview = () => {
  const [range, setRange] = useState<Range>("hour")
  const figures = useLoad("overview", (signal) => call<Figures>("/v1/admin/overview", { signal }), { everyMs: 5_000 })
  const health = useLoad("health", readHealth, { everyMs: 5_000 })
  const series = useLoad(
    `series ${range}`,
    (signal) => call<Timeseries>(withQuery("/v1/admin/timeseries", { range }), { signal }),
    { everyMs: range === "hour" ? 5_000 : 30_000, isSteady: true }
  )
  const lag = useLag(figures.data)
  return (
    <Page
      title="Overview"
      lead={<Health report={health.data} />}
      actions={
        <Choice
          legend="Time"
          value={range}
          onValue={(value) => setRange(value === "day" ? "day" : "hour")}
          options={[
            ["hour", "Last hour"],
            ["day", "Last 24 hours"]
          ]}
        />
      }
    >
      {isAwaited(figures) || isAwaited(series) ? (
        // Waits for both, so that the layout does not shift when the second arrives.
        <Skeleton rows={20} />
      ) : (
        <div class="stack">
          <Loaded of={figures} what="The overview">
            {(data) => <Totals figures={data} />}
          </Loaded>
          <Loaded of={series} what="The charts">
            {(data) => <OverviewCharts series={data} lag={lag} />}
          </Loaded>
          {figures.data === undefined ? null : <Lists figures={figures.data} />}
        </div>
      )}
    </Page>
  )
}

const Health = ({ report }: { readonly report: HealthReport | undefined }) => {
  if (report === undefined) return <span class="health">Reading the health</span>
  const down = Object.entries(report.dependencies).filter(([, { status }]) => status !== "ok")
  return (
    <span class="health">
      <Badge text={report.status} />
      {down.length === 0 ? null : (
        <span>{down.map(([name]) => name.replaceAll("_", " ")).join(", ")} does not answer</span>
      )}
      <span>
        version {report.version}, up {duration(report.uptime_s)}
      </span>
    </span>
  )
}

const Totals = ({ figures }: { readonly figures: Figures }) => {
  const { cache, keys, latency_ms, ledger, requests, spend_usd } = figures
  return (
    <Facts
      facts={[
        ["Requests, 24 h", count(requests.last_24h), `${count(requests.last_5m)} in the last 5 min`],
        ["Failed, 24 h", requests.last_24h === 0 ? NONE : percent(requests.error_rate), "of all generations"],
        ["Latency, p50", ms(latency_ms.p50), `p95 ${ms(latency_ms.p95)}, p99 ${ms(latency_ms.p99)}`],
        [
          "Spent today",
          usd(spend_usd.today),
          `${usd(spend_usd.month)} this month, ${usd(spend_usd.reserved)} reserved`
        ],
        ["Cache hits, 24 h", percent(cache.hit_rate), `${usd(cache.saved_usd)} saved, ${count(cache.entries)} entries`],
        ["Keys", count(keys.active), `active; ${count(keys.disabled)} disabled, ${count(keys.expired)} expired`],
        [
          "Ledger",
          count(ledger.pending),
          `pending; oldest ${ledger.oldest_pending_s === null ? NONE : ms(ledger.oldest_pending_s * 1_000)}`
        ]
      ]}
    />
  )
}

const Lists = ({ figures: { providers, rejections, requests, spend_usd } }: { readonly figures: Figures }) => {
  const sorting = useSorting(["model", "requests", "spent"], "-spent")
  return (
    <div class="columns">
      <Panel title="Spending by model" note="this month" class="flush">
        {spend_usd.by_model.length === 0 ? (
          <Empty title="Nothing spent yet">
            Try a call in the <Link to="/playground">playground</Link>.
          </Empty>
        ) : (
          <Table
            caption="Spending by model"
            rows={sortRows(spend_usd.by_model, sorting.value, {
              model: ({ model }) => model,
              requests: (row) => row.requests,
              spent: (row) => row.spend_usd
            })}
            keyOf={({ model }) => model}
            sorting={sorting}
            isClickable
            columns={[
              {
                head: "Model",
                sort: "model",
                cell: ({ model }) => <Link to={withQuery("/requests", { model })}>{model}</Link>
              },
              { head: "Requests", sort: "-requests", numeric: true, cell: (row) => count(row.requests) },
              { head: "Spent", sort: "-spent", numeric: true, cell: (row) => usd(row.spend_usd) }
            ]}
          />
        )}
      </Panel>
      <div class="stack">
        <Panel title="Providers" class="flush">
          <Table
            caption="Providers"
            rows={providers}
            keyOf={({ slug }) => slug}
            columns={[
              { head: "Provider", cell: ({ slug }) => slug },
              {
                head: "Circuit",
                cell: ({ open_until, state }) => (
                  <>
                    <Badge text={state} />{" "}
                    {open_until === null ? null : <span class="quiet">retried {relative(open_until)}</span>}
                  </>
                )
              },
              { head: "Answered", numeric: true, cell: ({ success_rate }) => percent(success_rate) },
              { head: "First token, p50", numeric: true, cell: ({ ttft_p50_ms }) => ms(ttft_p50_ms) }
            ]}
          />
        </Panel>
        <Panel title="Rejected by policy" note="this process, since its start">
          <dl class="pairs">
            <dt>Rate limit</dt>
            <dd>{count(rejections.rate_limit)}</dd>
            <dt>Budget</dt>
            <dd>{count(rejections.budget)}</dd>
            <dt>Model not allowed</dt>
            <dd>{count(rejections.model)}</dd>
            <dt>Privacy</dt>
            <dd>{count(rejections.privacy)}</dd>
            <dt>Answers by status</dt>
            <dd>
              {Object.entries(requests.by_status)
                .map(([status, answers]) => `${status}: ${count(answers)}`)
                .join(", ") || NONE}
            </dd>
          </dl>
        </Panel>
      </div>
    </div>
  )
}
