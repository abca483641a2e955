/**
 * The providers: state, since when and why, the last 24 hours, and the way to the traffic. Those in
 * trouble come first.
 */
import { useState } from "preact/hooks"
import { type ProviderRecord } from "../../api/Providers.ts"
import { withQuery } from "../client.ts"
import { count, NONE, zone } from "../format.ts"
import { Icon } from "../parts/Icon.tsx"
import { Page, Panel } from "../parts/Page.tsx"
import { SearchField } from "../parts/SearchField.tsx"
import { Empty, Loaded } from "../parts/States.tsx"
import { Table } from "../parts/Table.tsx"
import { Link } from "../router.tsx"
import { sortRows, useSorting } from "../sorting.ts"
import { useQuery } from "../useQuery.ts"
import { AddProvider } from "./AddProvider.tsx"
import { CircuitState } from "./CircuitState.tsx"
import { failureWords, troubleOf } from "./trouble.ts"
import { UptimeStrip } from "./UptimeStrip.tsx"
import { useProviders } from "./useProviders.ts"

const names = ["q"] as const

export const trafficOf = (slug: string): string => withQuery("/requests", { provider: slug })

/** The failures by kind, most frequent first. */
export const Failures = ({ of }: { readonly of: Pick<ProviderRecord, "errors"> }) =>
  of.errors.length === 0 ? (
    <>{NONE}</>
  ) : (
    <span class="lines">
      {of.errors.slice(0, 4).map((error) => (
        <span key={failureWords(error)}>
          {count(error.count)} {failureWords(error)}
        </span>
      ))}
    </span>
  )

export const Providers = () => {
  const [{ q }, set] = useQuery(names)
  const sorting = useSorting(["name", "trouble", "calls", "failed"], "-trouble")
  const providers = useProviders()
  const [isAdding, setAdding] = useState(false)
  const text = q.toLowerCase()
  const matches = ({ address, models, name, slug }: ProviderRecord) =>
    `${slug} ${name} ${address ?? ""} ${models.map(({ id }) => id).join(" ")}`.toLowerCase().includes(text)
  return (
    <Page
      title="Providers"
      lead={`Calls and failures of the last 24 hours are counted by attempts, retries included. Local time, ${zone()}.`}
      actions={
        <button type="button" class="button primary" onClick={() => setAdding(true)}>
          <Icon name="plus" />
          Add a provider
        </button>
      }
    >
      {isAdding ? (
        <AddProvider
          onClose={() => setAdding(false)}
          onAdded={() => {
            setAdding(false)
            providers.reload()
          }}
        />
      ) : null}
      <SearchField
        label="Search"
        value={q}
        onValue={(value) => set({ q: value }, "replace")}
        placeholder="Part of a provider's name, address or model"
      />
      <Loaded of={providers} what="The list of providers" rows={12}>
        {({ data }) => {
          const rows = sortRows(data.filter(matches), sorting.value, {
            name: ({ slug }) => slug,
            trouble: troubleOf,
            calls: ({ calls }) => calls,
            failed: ({ failed }) => failed
          })
          return (
            <Panel title={`${count(rows.length)} of ${count(data.length)} providers`} class="flush">
              {rows.length === 0 ? (
                <Empty title="No provider matches" />
              ) : (
                <Table
                  caption="Providers"
                  rows={rows}
                  keyOf={({ slug }) => slug}
                  sorting={sorting}
                  isClickable
                  columns={[
                    {
                      head: "Provider",
                      sort: "name",
                      cell: ({ address, name, slug }) => (
                        <span class="lines">
                          <Link to={`/providers/${slug}`}>{name}</Link>
                          {name === slug ? null : <code>{slug}</code>}
                          {address === null ? null : <span>{address}</span>}
                        </span>
                      )
                    },
                    { head: "State", sort: "-trouble", cell: (one) => <CircuitState of={one} /> },
                    { head: "Last 24 hours", cell: (one) => <UptimeStrip of={one} /> },
                    { head: "Calls", sort: "-calls", numeric: true, cell: ({ calls }) => count(calls) },
                    { head: "Failures", sort: "-failed", cell: (one) => <Failures of={one} /> },
                    {
                      head: "Traffic",
                      cell: ({ name, slug }) => (
                        <Link to={trafficOf(slug)}>
                          Requests<span class="unseen"> that called {name}</span>
                        </Link>
                      )
                    }
                  ]}
                />
              )}
            </Panel>
          )
        }}
      </Loaded>
    </Page>
  )
}
