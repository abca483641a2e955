/** Generations of all keys or of a user's own, filtered and paged. Each links to its receipt. */
import { useEffect, useState } from "preact/hooks"
import { type OwnedGenerationRecord } from "../../api/Generations.ts"
import { type ApiKey } from "../../api/Keys.ts"
import { asFailure, call, type Failure, withQuery } from "../client.ts"
import { count, momentSeconds, ms, usd, words } from "../format.ts"
import { Badge } from "../parts/Badge.tsx"
import { SelectField, TextField } from "../parts/Field.tsx"
import { Page, Panel } from "../parts/Page.tsx"
import { Empty, Loaded } from "../parts/States.tsx"
import { Table } from "../parts/Table.tsx"
import { Link } from "../router.tsx"
import { useLoad } from "../useLoad.ts"
import { type Source } from "../keys/source.ts"

type Record = typeof OwnedGenerationRecord.Type

interface Listing {
  readonly data: ReadonlyArray<Record>
  readonly next_cursor: string | null
}

const PAGE = 50
const HOUR = 3_600_000

const errorTypes = [
  ["", "whatever the end"],
  ["none", "that were answered"],
  ["any", "that failed"],
  ["provider_error", "failed: provider error"],
  ["provider_timeout", "failed: provider timeout"],
  ["provider_unavailable", "failed: provider unavailable"],
  ["provider_rate_limited", "failed: provider rate limited"],
  ["invalid_request", "failed: invalid request"]
] as const

const times = [
  ["", "of all time"],
  [String(HOUR), "of the last hour"],
  [String(24 * HOUR), "of the last day"],
  [String(7 * 24 * HOUR), "of the last week"]
] as const

interface Offers {
  readonly data: ReadonlyArray<{ readonly id: string; readonly providers: ReadonlyArray<{ readonly slug: string }> }>
}

/** All models, for operators. Users enter a model as text. */
const useOffers = ({ isOwn }: Source): Offers["data"] => {
  const offers = useLoad("models", async (signal) =>
    isOwn ? { data: [] } : await call<Offers>("/v1/admin/models", { signal })
  )
  return offers.data?.data ?? []
}

export const Generations = ({ source }: { readonly source: Source }) => {
  const [key, setKey] = useState("")
  const [model, setModel] = useState("")
  const [provider, setProvider] = useState("")
  const [error, setError] = useState("")
  const [age, setAge] = useState("")
  const keys = useLoad("keys", (signal) =>
    call<{ readonly data: ReadonlyArray<ApiKey> }>(withQuery(source.keys, { limit: 1_000 }), { signal })
  )
  const offers = useOffers(source)
  const slugs = [...new Set(offers.flatMap(({ providers }) => providers.map(({ slug }) => slug)))].sort()
  const names = new Map(keys.data?.data.map(({ id, name }) => [id, name]))
  const query = withQuery(source.generations, { limit: PAGE, key, model: model.trim(), provider, error })
  return (
    <Page
      title="Generations"
      lead={`Every call ${source.isOwn ? "of your keys " : ""}that reached a provider or the cache. Prompts and answers are not stored.`}
    >
      <div class="filters">
        <SelectField
          label="Key"
          value={key}
          onValue={setKey}
          options={[["", "any key"], ...(keys.data?.data ?? []).map(({ id, name }) => [id, name] as const)]}
        />
        <TextField
          label="Model"
          value={model}
          onValue={setModel}
          placeholder="any model"
          list={offers.map(({ id }) => id)}
        />
        {source.isOwn ? null : (
          <SelectField
            label="Provider"
            value={provider}
            onValue={setProvider}
            options={[["", "any provider"], ...slugs.map((slug) => [slug, slug] as const)]}
          />
        )}
        <SelectField label="End" value={error} onValue={setError} options={errorTypes} />
        <SelectField label="Time" value={age} onValue={setAge} options={times} />
      </div>
      <Results key={`${query} ${age}`} query={query} ageMs={age === "" ? null : Number(age)} names={names} />
    </Page>
  )
}

interface ResultsProps {
  readonly query: string
  readonly ageMs: number | null
  readonly names: ReadonlyMap<string, string>
}

const Results = ({ ageMs, names, query }: ResultsProps) => {
  const [from] = useState(() => (ageMs === null ? null : new Date(Date.now() - ageMs).toISOString()))
  const path = from === null ? query : `${query}&from=${encodeURIComponent(from)}`
  const first = useLoad(path, (signal) => call<Listing>(path, { signal }))
  const [more, setMore] = useState<Listing>({ data: [], next_cursor: null })
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Failure>()
  useEffect(() => setMore({ data: [], next_cursor: first.data?.next_cursor ?? null }), [first.data])
  const goOn = (cursor: string) => {
    setBusy(true)
    setFailure(undefined)
    call<Listing>(`${path}&cursor=${cursor}`).then(
      (next) => {
        setMore({ data: [...more.data, ...next.data], next_cursor: next.next_cursor })
        setBusy(false)
      },
      (thrown: unknown) => {
        setFailure(asFailure(thrown))
        setBusy(false)
      }
    )
  }
  return (
    <Loaded of={first} what="The list of generations" rows={12}>
      {({ data }) => {
        const rows = [...data, ...more.data]
        const { next_cursor: cursor } = more
        if (rows.length === 0) {
          return (
            <Panel title="No generations">
              <Empty title="Nothing here">
                No call matches. Loosen the filter, or make a call in the <Link to="/playground">playground</Link>.
              </Empty>
            </Panel>
          )
        }
        return (
          <Panel
            title={`${count(rows.length)}${cursor === null ? "" : "+"} generations`}
            note={
              <button type="button" class="button small" onClick={first.reload}>
                Look again
              </button>
            }
            class="flush"
          >
            <GenerationTable rows={rows} names={names} />
            {cursor === null ? null : (
              <div class="more">
                {failure === undefined ? null : <p class="alert">{failure.message}</p>}
                <button
                  type="button"
                  class="button"
                  aria-disabled={busy}
                  onClick={() => (busy ? undefined : goOn(cursor))}
                >
                  Show older ones
                </button>
              </div>
            )}
          </Panel>
        )
      }}
    </Loaded>
  )
}

interface GenerationTableProps {
  readonly rows: ReadonlyArray<Record>
  readonly names: ReadonlyMap<string, string>
}

const GenerationTable = ({ names, rows }: GenerationTableProps) => (
  <Table
    caption="Generations"
    rows={rows}
    keyOf={({ id }) => id}
    columns={[
      {
        head: "When",
        cell: ({ created_at, id }) => (
          <Link to={`/generations/${id}`} class="nowrap">
            {momentSeconds(created_at)}
          </Link>
        )
      },
      {
        head: "Model",
        cell: ({ model, provider }) => (
          <span class="two-lines">
            <span>{model}</span>
            <span>{provider}</span>
          </span>
        )
      },
      { head: "Key", cell: ({ key_id }) => names.get(key_id) ?? <code title={key_id}>{key_id.slice(0, 12)}…</code> },
      { head: "End", cell: (row) => <End of={row} /> },
      {
        head: "Tokens",
        numeric: true,
        cell: ({ usage }) => `${count(usage.prompt_tokens)} + ${count(usage.completion_tokens)}`
      },
      { head: "First token", numeric: true, cell: ({ time_to_first_token_ms }) => ms(time_to_first_token_ms) },
      { head: "Whole", numeric: true, cell: ({ latency_ms }) => ms(latency_ms) },
      { head: "Billed", numeric: true, cell: ({ cost }) => usd(cost.billed_usd) }
    ]}
  />
)

type Ended = Pick<Record, "attempts" | "cache_hit" | "cancelled" | "error_type" | "fallback_used" | "finish_reason">

/** The outcome of a generation, with its peculiarities. */
export const End = ({ of }: { readonly of: Ended }) => (
  <span class="badges">
    {of.error_type !== null ? (
      <Badge text={of.error_type} tone="bad" />
    ) : of.cancelled ? (
      <Badge text="cancelled" />
    ) : (
      <Badge text={words(of.finish_reason ?? "ended")} tone={of.finish_reason === "stop" ? "good" : "calm"} />
    )}
    {of.cache_hit ? <Badge text="cache" tone="calm" /> : null}
    {of.fallback_used ? <Badge text="fallback" tone="warn" /> : null}
  </span>
)
