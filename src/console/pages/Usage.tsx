/** What a user's keys have used: figures, by day, by model and by key. */
import { useMemo, useState } from "preact/hooks"
import { type OwnUsage } from "../../api/Portal.ts"
import { call, withQuery } from "../client.ts"
import { count, usd } from "../format.ts"
import { Chart } from "../parts/Chart.tsx"
import { Facts } from "../parts/Facts.tsx"
import { Choice } from "../parts/Field.tsx"
import { Page, Panel } from "../parts/Page.tsx"
import { Empty, Loaded } from "../parts/States.tsx"
import { Table } from "../parts/Table.tsx"
import { Link } from "../router.tsx"
import { useLoad } from "../useLoad.ts"

type Day = OwnUsage["by_day"][number]
type Figures = OwnUsage["total"]

const DAY = 86_400_000
const nothing: Figures = { requests: 0, prompt_tokens: 0, completion_tokens: 0, billed_usd: 0 }

/** The first moment of the UTC day `days - 1` days ago: so many days, today among them. */
const since = (days: string): string => new Date(Math.floor(Date.now() / DAY - Number(days) + 1) * DAY).toISOString()

export const Usage = () => {
  const [days, setDays] = useState("30")
  const usage = useLoad(
    `usage ${days}`,
    (signal) => call<OwnUsage>(withQuery("/v1/portal/usage", { from: since(days) }), { signal }),
    { everyMs: 30_000, isSteady: true }
  )
  return (
    <Page
      title="Usage"
      lead="What your keys have used, revoked ones too. Days are those of UTC."
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
        {(data) => <Report of={data} />}
      </Loaded>
    </Page>
  )
}

const Report = ({ of }: { readonly of: OwnUsage }) => {
  const { by_key, by_model, total } = of
  return (
    <div class="stack">
      <Facts
        facts={[
          ["Requests", count(total.requests)],
          ["Billed", usd(total.billed_usd)],
          ["Prompt tokens", count(total.prompt_tokens)],
          ["Completion tokens", count(total.completion_tokens)]
        ]}
      />
      {total.requests === 0 ? (
        <Panel title="By day">
          <Empty title="Nothing used in these days">
            Make a key under <Link to="/keys">Keys</Link> and call the gateway with it, or try a model in the{" "}
            <Link to="/playground">playground</Link>.
          </Empty>
        </Panel>
      ) : (
        <>
          <ByDay of={of} />
          <div class="columns">
            <Panel title="By model" class="flush">
              <Share caption="By model" rows={by_model.map((row) => ({ ...row, name: row.model }))} />
            </Panel>
            <Panel title="By key" class="flush">
              <Share caption="By key" rows={by_key.map((row) => ({ ...row, name: row.name ?? row.key_id }))} />
            </Panel>
          </div>
        </>
      )}
    </div>
  )
}

/** Every day of the time, those without a call too. */
const daysOf = ({ by_day, from, to }: OwnUsage): ReadonlyArray<Day> => {
  const known = new Map(by_day.map((day) => [day.date, day]))
  const first = Math.floor(Date.parse(from) / DAY)
  const last = Math.floor((Date.parse(to) - 1) / DAY)
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const date = new Date((first + index) * DAY).toISOString().slice(0, 10)
    return known.get(date) ?? { date, ...nothing }
  })
}

const ByDay = ({ of }: { readonly of: OwnUsage }) => {
  const { charts, times } = useMemo(() => {
    const days = daysOf(of)
    const line = (label: string, color: string, member: keyof Figures) => ({
      label,
      color,
      values: days.map((day) => day[member])
    })
    return {
      // Midnight here, so that the day has the same name as in UTC.
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
  readonly rows: ReadonlyArray<Figures & { readonly name: string }>
}

const Share = ({ caption, rows }: ShareProps) => (
  <Table
    caption={caption}
    rows={rows}
    keyOf={({ name }) => name}
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
