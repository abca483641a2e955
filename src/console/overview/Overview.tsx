/**
 * The overview: the figures of a span, charts over time, spending by model, providers, refusals.
 * Each leads to its requests. It refreshes itself.
 */
import { useEffect, useState } from "preact/hooks"
import { type Overview as Figures } from "../../api/Admin.ts"
import { type HealthReport } from "../../api/Health.ts"
import { type Timeseries } from "../../api/Series.ts"
import { call, failureOf, send, withQuery } from "../client.ts"
import { count, ms, NONE, percent, usd, words } from "../format.ts"
import { Choice } from "../parts/Field.tsx"
import { Facts } from "../parts/Facts.tsx"
import { Page, Panel } from "../parts/Page.tsx"
import { Empty, Loaded, Skeleton } from "../parts/States.tsx"
import { Table } from "../parts/Table.tsx"
import { Link } from "../router.tsx"
import { sortRows, useSorting } from "../sorting.ts"
import { type Loading, useLoad } from "../useLoad.ts"
import { useQuery } from "../useQuery.ts"
import { type ListedProviders, useProviders } from "../providers/useProviders.ts"
import { LagChart, OverviewCharts, totalsOf } from "./Charts.tsx"
import { Health } from "./Health.tsx"
import { ProviderList } from "./ProviderList.tsx"

const spanNames = ["span"] as const

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
  const [{ span }, set] = useQuery(spanNames)
  const range: Range = span === "day" ? "day" : "hour"
  const figures = useLoad("overview", (signal) => call<Figures>("/v1/admin/overview", { signal }), { everyMs: 5_000 })
  const health = useLoad("health", readHealth, { everyMs: 5_000 })
  const series = useLoad(
    `series ${range}`,
    (signal) => call<Timeseries>(withQuery("/v1/admin/timeseries", { range }), { signal }),
    { everyMs: range === "hour" ? 5_000 : 30_000, isSteady: true }
  )
  const providers = useProviders()
  const lag = useLag(figures.data)
  return (
    <Page
      title="Overview"
      lead={<Health of={health} />}
      actions={
        <Choice
          legend="Time"
          value={range}
          onValue={(value) => set({ span: value === "day" ? "day" : "" })}
          options={[
            ["hour", "Last hour"],
            ["day", "Last 24 hours"]
          ]}
        />
      }
    >
      {isAwaited(figures) || isAwaited(series) || isAwaited(providers) ? (
        // Waits for all, so that the layout does not shift when the last one arrives.
        <Skeleton rows={20} />
      ) : (
        <div class="stack">
          <Loaded of={series} what="The charts">
            {(data) => (
              <div class="stack">
                {figures.data === undefined ? null : <Totals figures={figures.data} series={data} />}
                <OverviewCharts series={data} />
                {figures.data === undefined ? null : (
                  <Lists figures={figures.data} series={data} providers={providers} />
                )}
              </div>
            )}
          </Loaded>
          <Loaded of={figures} what="The overview">
            {({ ledger }) => <Ledger of={ledger} lag={lag} />}
          </Loaded>
        </div>
      )}
    </Page>
  )
}

interface PartProps {
  readonly figures: Figures
  readonly series: Timeseries
}

const spans = { hour: "the last hour", day: "the last 24 hours" } as const

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((all, one) => all + one, 0)

/** The figures of the chosen span, each with a link to its requests. */
const Totals = ({ figures: { cache, keys, latency_ms, spend_usd }, series: { data, range: span } }: PartProps) => {
  const requests = sum(data.map((one) => one.requests))
  const failed = sum(totalsOf(data, "errors").map(([, times]) => times))
  const refused = sum(totalsOf(data, "refusals").map(([, times]) => times))
  const hits = sum(data.map(({ cache_hits }) => cache_hits))
  const list = (figure: string, filters: Readonly<Record<string, string>> = {}) => (
    <Link to={withQuery("/requests", { span, ...filters })}>{figure}</Link>
  )
  return (
    <Facts
      facts={[
        ["Requests", list(count(requests + refused)), `in ${spans[span]}, refused ones too`],
        [
          "Failed",
          list(requests === 0 ? NONE : percent(failed / requests), { end: "failed" }),
          `${count(failed)} of ${count(requests)} that were not refused`
        ],
        ["Refused", list(count(refused), { end: "refused" }), "before a provider was called"],
        ["Latency, p50, 24 h", ms(latency_ms.p50), `p95 ${ms(latency_ms.p95)}, p99 ${ms(latency_ms.p99)}`],
        [
          "Spent",
          usd(sum(data.map((one) => one.spend_usd))),
          `${usd(spend_usd.today)} today, ${usd(spend_usd.month)} this month, ${usd(spend_usd.reserved)} reserved`
        ],
        [
          "Cache hits",
          list(requests === 0 ? NONE : percent(hits / requests), { cache: "yes" }),
          `${usd(sum(data.map((one) => one.saved_usd)))} saved, ${count(cache.entries)} entries`
        ],
        [
          "Keys",
          <Link to="/keys">{count(keys.active)}</Link>,
          `active; ${count(keys.disabled)} disabled, ${count(keys.expired)} expired`
        ]
      ]}
    />
  )
}

interface LedgerProps {
  readonly of: Figures["ledger"]
  readonly lag: ReadonlyArray<LagSample>
}

const Ledger = ({ lag, of: { flush_lag_ms, oldest_pending_s, pending } }: LedgerProps) => (
  <details>
    <summary>
      Ledger: {count(pending)} pending, {ms(flush_lag_ms)} behind
    </summary>
    <p class="quiet">
      Settled requests are written in batches. The oldest reservation is{" "}
      {oldest_pending_s === null ? NONE : ms(oldest_pending_s * 1_000)} old.
    </p>
    <LagChart lag={lag} />
  </details>
)

interface ListsProps extends PartProps {
  readonly providers: ListedProviders
}

const Lists = ({ figures: { requests, spend_usd }, providers, series: { data, range: span } }: ListsProps) => {
  const refused = totalsOf(data, "refusals")
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
        <ProviderList of={providers} span={span} />
        <Panel title="Refused" note={`in ${spans[span]}`} class="flush">
          {refused.length === 0 ? (
            <Empty title="Nothing was refused" />
          ) : (
            <Table
              caption="Refused"
              rows={refused}
              keyOf={([type]) => type}
              isClickable
              columns={[
                {
                  head: "Error",
                  cell: ([type]) => (
                    <Link to={withQuery("/requests", { span, end: "refused", type })}>{words(type)}</Link>
                  )
                },
                { head: "Requests", numeric: true, cell: ([, times]) => count(times) }
              ]}
            />
          )}
        </Panel>
        <Panel title="Answers by status" note="of this process, since its start">
          <p class="badges">
            {Object.entries(requests.by_status).map(([status, answers]) => (
              <span key={status}>
                <Link to={withQuery("/requests", { status })}>{status}</Link>: {count(answers)}
              </span>
            ))}
          </p>
        </Panel>
      </div>
    </div>
  )
}
