/** Totals, charts by day, and tables of groups with a link to each. */
import { useMemo, useState } from "preact/hooks"
import { type ComponentChildren } from "preact"
import { count, percent, usd } from "../format.ts"
import { Chart } from "../parts/Chart.tsx"
import { DownloadCsv } from "../parts/Download.tsx"
import { Facts } from "../parts/Facts.tsx"
import { Panel } from "../parts/Page.tsx"
import { Empty } from "../parts/States.tsx"
import { Table } from "../parts/Table.tsx"
import { Link } from "../router.tsx"
import { type Day, type Figures, type Part, type Usage } from "./usage.ts"

const DAY = 86_400_000
/** In each table, until all are asked for. */
const MOST_ROWS = 10
const nothing: Figures = {
  requests: 0,
  failed: 0,
  refusals: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  billed_usd: 0
}

/** `empty`: shown if there was no usage. */
export const Report = ({ empty, of }: { readonly of: Usage; readonly empty: ComponentChildren }) => {
  const { parts, total } = of
  return (
    <div class="stack">
      <Facts
        facts={[
          ["Requests", count(total.requests)],
          ["Billed", usd(total.billed_usd)],
          ["Prompt tokens", count(total.prompt_tokens)],
          ["Completion tokens", count(total.completion_tokens)],
          [
            "Failed",
            percent(total.requests === 0 ? null : total.failed / total.requests),
            `${count(total.failed)} of the requests`
          ],
          ["Refused", count(total.refusals), "before a provider was called"],
          ...(total.saved_usd === undefined
            ? []
            : ([["Saved by the cache", usd(total.saved_usd), `${count(total.cache_hits ?? 0)} hits`]] as const))
        ]}
      />
      {total.requests + total.refusals === 0 ? (
        <Panel title="By day">
          <Empty title="Nothing used in these days">{empty}</Empty>
        </Panel>
      ) : (
        <>
          <ByDay of={of} />
          <div class="columns broad">
            {parts.map((part) => (
              <Groups key={part.title} of={part} />
            ))}
          </div>
        </>
      )}
    </div>
  )
}

const Groups = ({ of: { csv, rows, title } }: { readonly of: Part }) => {
  const [isWhole, setWhole] = useState(false)
  const isLong = rows.length > MOST_ROWS
  return (
    <Panel
      title={title}
      note={
        <span class="actions">
          {isLong ? (
            <button type="button" class="button small" onClick={() => setWhole(!isWhole)}>
              {isWhole ? `Show ${MOST_ROWS}` : `Show all ${count(rows.length)}`}
            </button>
          ) : null}
          {csv === undefined ? null : <DownloadCsv name={`usage ${title.toLowerCase()}`} path={() => csv} />}
        </span>
      }
      class="flush"
    >
      <Table
        caption={title}
        isClickable
        // Two keys may have the same name.
        rows={(isWhole ? rows : rows.slice(0, MOST_ROWS)).map((row, index) => ({ ...row, index }))}
        keyOf={({ index }) => String(index)}
        columns={[
          { head: "Name", cell: ({ name, to }) => (to === undefined ? name : <Link to={to}>{name}</Link>) },
          { head: "Requests", numeric: true, cell: ({ requests }) => count(requests) },
          {
            head: "Failed, refused",
            numeric: true,
            cell: ({ failed, refusals }) => <span class="nowrap">{`${count(failed)}, ${count(refusals)}`}</span>
          },
          {
            head: "Tokens",
            numeric: true,
            cell: ({ completion_tokens, prompt_tokens }) => (
              <span class="nowrap">{`${count(prompt_tokens)} + ${count(completion_tokens)}`}</span>
            )
          },
          { head: "Billed", numeric: true, cell: ({ billed_usd }) => usd(billed_usd) }
        ]}
      />
    </Panel>
  )
}

/** All days of the span, including those without requests. */
const daysOf = (byDay: ReadonlyArray<Day>, { from, to }: Usage): ReadonlyArray<Day> => {
  const known = new Map(byDay.map((day) => [day.date, day]))
  const first = Math.floor(Date.parse(from) / DAY)
  const last = Math.floor((Date.parse(to) - 1) / DAY)
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const date = new Date((first + index) * DAY).toISOString().slice(0, 10)
    return known.get(date) ?? { date, ...nothing }
  })
}

const colors = ["c4", "c1", "c5", "c2"]

const ByDay = ({ of }: { readonly of: Usage }) => {
  const { charts, times } = useMemo(() => {
    const days = daysOf(of.byDay, of)
    const line = (label: string, color: string, read: (day: Day, index: number) => number) => ({
      label,
      color,
      values: days.map(read)
    })
    const models = of.models.map(({ byDay, model }) => ({ model, days: daysOf(byDay, of) }))
    const others = (day: Day, index: number) =>
      Math.max(0, day.billed_usd - models.reduce((sum, one) => sum + (one.days[index]?.billed_usd ?? 0), 0))
    const billed =
      models.length < 2
        ? [line("billed", "c4", (day) => day.billed_usd)]
        : [
            ...models.map(({ days, model }, at) =>
              line(model, colors[at] ?? "c3", (_, index) => days[index]?.billed_usd ?? 0)
            ),
            line("others", "c6", others)
          ]
    return {
      // Local midnight, so that the day has the same name as in UTC.
      times: days.map(({ date }) => Date.parse(`${date}T00:00`) / 1_000),
      charts: [
        { title: "Billed a day", format: usd, lines: billed },
        {
          title: "Requests a day",
          format: count,
          lines: [
            line("succeeded", "c1", (day) => day.requests - day.failed),
            line("failed", "c5", (day) => day.failed),
            line("refused", "c3", (day) => day.refusals)
          ]
        },
        {
          title: "Tokens a day",
          format: count,
          lines: [
            line("completion", "c5", (day) => day.completion_tokens),
            line("prompt", "c4", (day) => day.prompt_tokens)
          ]
        }
      ]
    }
  }, [of])
  return (
    <div class="charts three">
      {charts.map((chart) => (
        <Chart key={chart.title} times={times} kind="bars" {...chart} />
      ))}
    </div>
  )
}
