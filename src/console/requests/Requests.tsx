/**
 * The requests of all keys or of a user's own, refused ones too, newest first. All filters are in
 * the address. A click on a row opens the receipt, or the page of the refusal.
 */
import { call, withQuery } from "../client.ts"
import { type Source } from "../keys/source.ts"
import { DownloadCsv } from "../parts/Download.tsx"
import { ListPanel, LiveSwitch } from "../parts/ListPanel.tsx"
import { Page } from "../parts/Page.tsx"
import { SearchField } from "../parts/SearchField.tsx"
import { boundsOf, SpanFields } from "../parts/Span.tsx"
import { Empty } from "../parts/States.tsx"
import { go, Link } from "../router.tsx"
import { useSorting } from "../sorting.ts"
import { type ListPage, useList } from "../useList.ts"
import { useQuery } from "../useQuery.ts"
import { Chips, Filters } from "./Filters.tsx"
import { activeFilters, filterNames, type FilterQuery } from "./filters.ts"
import { Histogram } from "./Histogram.tsx"
import { type Row, RequestTable } from "./RequestTable.tsx"

const liveNames = ["live"] as const

/** The API has one direction of each: the newest, the dearest, the slowest first. */
const sorts: Readonly<Record<string, "cost" | "latency">> = { "-cost": "cost", "-latency": "latency" }
const NEWEST = "-time"
const MOST_SORTED = 100

const load = (path: string, signal: AbortSignal) => call<ListPage<Row>>(path, { signal })

/** The list's path with the filters. A quick span ends now, so it is read at each request. */
const pathOf = (source: Source, query: FilterQuery, more: Readonly<Record<string, string | number | undefined>>) => {
  const { cache, fallback, from: _from, span: _span, to: _to, ...same } = query
  return withQuery(source.requests, {
    ...same,
    fallback: fallback === "" ? undefined : "true",
    cache_hit: cache === "" ? undefined : "true",
    ...boundsOf(query),
    ...more
  })
}

export const Requests = ({ source }: { readonly source: Source }) => {
  const [query, set] = useQuery(filterNames)
  const [{ live }, setLive] = useQuery(liveNames)
  const { onValue, value } = useSorting(["time", "cost", "latency"], NEWEST)
  const sort = sorts[value]
  const sorting = {
    value: sort === undefined ? NEWEST : value,
    isOneWay: true,
    // Another click on the same heading returns to the newest.
    onValue: (picked: string) => onValue(picked in sorts ? picked : NEWEST)
  }
  const isLive = live === "on" && sort === undefined
  const list = useList<Row>({
    what: `${source.requests} ${JSON.stringify(query)} ${sort ?? ""}`,
    load: (asked, signal) =>
      load(pathOf(source, query, sort === undefined ? { ...asked } : { sort, limit: MOST_SORTED }), signal),
    keyOf: ({ id }) => id,
    isLive
  })
  const active = activeFilters(query, list.rows ?? [])
  // The time series has these spans, and no other filters.
  const histogram =
    !source.isOwn && active.length === 1 && (query.span === "hour" || query.span === "day") ? query.span : undefined
  const clear = () => set(Object.fromEntries(filterNames.map((name) => [name, ""])))
  /** An id opens what it names, or filters by it. */
  const enter = (text: string) => {
    if (/^(?:gen|ref)_[0-9a-f]{32}$/.test(text)) go(`/requests/${text}`)
    else if (/^key_[0-9a-f]{32}$/.test(text)) set({ q: "", key: text })
    else if (!source.isOwn && /^usr_[0-9a-f]{32}$/.test(text)) set({ q: "", user: text })
    else set({ q: text })
  }
  return (
    <Page
      title="Requests"
      lead={`Every request ${source.isOwn ? "of your keys" : "of this gateway"}, refused ones too. Prompts and answers are not stored.`}
    >
      <SearchField
        label="Search"
        value={query.q}
        onValue={(q) => set({ q }, "replace")}
        onEnter={enter}
        placeholder={
          source.isOwn
            ? "Generation, request or key id; part of a model or key name"
            : "Generation, request, key or user id; part of a model, key name or address"
        }
      />
      <SpanFields query={query} set={set} />
      <Filters source={source} query={query} set={set} active={active.length} />
      <Chips of={active} onRemove={(name) => set({ [name]: "" })} onClear={clear} />
      {histogram === undefined ? null : <Histogram range={histogram} />}
      <ListPanel
        of={list}
        nouns={["request", "requests"]}
        what="The list of requests"
        actions={
          <>
            <LiveSwitch
              isLive={isLive}
              isPossible={sort === undefined}
              onLive={(on) => setLive({ live: on ? "on" : "" }, "replace")}
            />
            <DownloadCsv
              name="requests"
              path={() =>
                pathOf(source, query, { format: "csv", sort, limit: sort === undefined ? undefined : MOST_SORTED })
              }
            />
          </>
        }
        empty={
          active.length === 0 ? (
            <Empty title="No requests yet">
              Make a call in the <Link to="/playground">playground</Link>.
            </Empty>
          ) : (
            <Empty
              title="No request matches"
              action={
                <button type="button" class="button" onClick={clear}>
                  Clear all filters
                </button>
              }
            >
              Nothing has {active.map(({ words }) => words).join(" and ")}.
            </Empty>
          )
        }
      >
        {(rows) => (
          <>
            {sort === undefined ? null : (
              <p class="bound">
                The {sort === "cost" ? "dearest" : "slowest"} {MOST_SORTED} of the newest{" "}
                {query.q === "" ? "5,000" : "1,000"} that match, without refused ones.
              </p>
            )}
            <RequestTable rows={rows} source={source} sorting={sorting} />
          </>
        )}
      </ListPanel>
    </Page>
  )
}
