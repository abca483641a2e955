/** The usage page, for all keys or a user's own: totals, charts by day, and further groupings. */
import { type ComponentChildren } from "preact"
import { useMemo, useState } from "preact/hooks"
import { count, usd } from "../format.ts"
import { Chart } from "../parts/Chart.tsx"
import { Facts } from "../parts/Facts.tsx"
import { Choice } from "../parts/Field.tsx"
import { Page, Panel } from "../parts/Page.tsx"
import { Empty, Loaded } from "../parts/States.tsx"
import { Table } from "../parts/Table.tsx"
import { useLoad } from "../useLoad.ts"

export interface Figures {
  readonly requests: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly billed_usd: number
}

type Day = Figures & { readonly date: string }

export interface Usage {
  readonly from: string
  readonly to: string
  readonly total: Figures
  /** Additional totals, each with a note. */
  readonly facts: ReadonlyArray<readonly [name: string, figure: string, aside: string]>
  readonly byDay: ReadonlyArray<Day>
  /** Most expensive first. */
  readonly parts: ReadonlyArray<{
    readonly title: string
    readonly rows: ReadonlyArray<Figures & { readonly name: string }>
  }>
}

const DAY = 86_400_000
/** In each group. */
const MOST_ROWS = 10
const nothing: Figures = { requests: 0, prompt_tokens: 0, completion_tokens: 0, billed_usd: 0 }

/** The start of a UTC day, so that the span covers `days` days including today. */
const since = (days: string): string => new Date(Math.floor(Date.now() / DAY - Number(days) + 1) * DAY).toISOString()

interface UsagePageProps {
  readonly lead: string
  readonly load: (from: string, signal: AbortSignal) => Promise<Usage>
  /** Shown if there was no usage. */
  readonly empty: ComponentChildren
}

export const UsagePage = ({ empty, lead, load }: UsagePageProps) => {
  const [days, setDays] = useState("30")
  const usage = useLoad(`usage ${days}`, (signal) => load(since(days), signal), { everyMs: 30_000, isSteady: true })
  return (
    <Page
      title="Usage"
      lead={lead}
      actions={
        <Choice
          legend="Time"
          value={days}
          onValue={setDays}
          options={[
            ["7", "7 days"],
            ["30", "30 days"],
            ["90", "90 days"]
          ]}
        />
      }
    >
      <Loaded of={usage} what="Usage" rows={14}>
        {(data) => <Report of={data} empty={empty} />}
      </Loaded>
    </Page>
  )
}

const Report = ({ empty, of }: { readonly of: Usage; readonly empty: ComponentChildren }) => {
  const { facts, parts, total } = of
  return (
    <div class="stack">
      <Facts
        facts={[
          ["Requests", count(total.requests)],
          ["Billed", usd(total.billed_usd)],
          ["Prompt tokens", count(total.prompt_tokens)],
          ["Completion tokens", count(total.completion_tokens)],
          ...facts
        ]}
      />
      {total.requests === 0 ? (
        <Panel title="By day">
          <Empty title="Nothing used in these days">{empty}</Empty>
        </Panel>
      ) : (
        <>
          <ByDay of={of} />
          <div class="columns">
            {parts.map(({ rows, title }) => (
              <Panel
                key={title}
                title={title}
                note={rows.length > MOST_ROWS ? `the most expensive ${MOST_ROWS} of ${rows.length}` : undefined}
                class="flush"
              >
                <Share caption={title} rows={rows.slice(0, MOST_ROWS)} />
              </Panel>
            ))}
          </div>
        </>
      )}
    </div>
  )
}

/** All days of the span, including those without requests. */
const daysOf = ({ byDay, from, to }: Usage): ReadonlyArray<Day> => {
  const known = new Map(byDay.map((day) => [day.date, day]))
  const first = Math.floor(Date.parse(from) / DAY)
  const last = Math.floor((Date.parse(to) - 1) / DAY)
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const date = new Date((first + index) * DAY).toISOString().slice(0, 10)
    return known.get(date) ?? { date, ...nothing }
  })
}

const ByDay = ({ of }: { readonly of: Usage }) => {
  const { charts, times } = useMemo(() => {
    const days = daysOf(of)
    const line = (label: string, color: string, member: keyof Figures) => ({
      label,
      color,
      values: days.map((day) => day[member])
    })
    return {
      // Local midnight, so that the day has the same name as in UTC.
      times: days.map(({ date }) => Date.parse(`${date}T00:00`) / 1_000),
      charts: [
        { title: "Billed a day", format: usd, lines: [line("billed", "c4", "billed_usd")] },
        { title: "Requests a day", format: count, lines: [line("requests", "c1", "requests")] },
        {
          title: "Tokens a day",
          format: count,
          lines: [line("completion", "c5", "completion_tokens"), line("prompt", "c4", "prompt_tokens")]
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

interface ShareProps {
  readonly caption: string
  readonly rows: Usage["parts"][number]["rows"]
}

const Share = ({ caption, rows }: ShareProps) => (
  <Table
    caption={caption}
    // Two keys may have the same name.
    rows={rows.map((row, index) => ({ ...row, index }))}
    keyOf={({ index }) => String(index)}
    columns={[
      { head: "Name", cell: ({ name }) => name },
      { head: "Requests", numeric: true, cell: ({ requests }) => count(requests) },
      {
        head: "Tokens",
        numeric: true,
        cell: ({ completion_tokens, prompt_tokens }) => `${count(prompt_tokens)} + ${count(completion_tokens)}`
      },
      { head: "Billed", numeric: true, cell: ({ billed_usd }) => usd(billed_usd) }
    ]}
  />
)
