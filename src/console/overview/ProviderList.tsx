/** The providers on the overview: those in trouble first. */
import { withQuery } from "../client.ts"
import { Panel } from "../parts/Page.tsx"
import { Loaded } from "../parts/States.tsx"
import { Table } from "../parts/Table.tsx"
import { CircuitState } from "../providers/CircuitState.tsx"
import { troubleOf } from "../providers/trouble.ts"
import { type ListedProviders } from "../providers/useProviders.ts"
import { UptimeStrip } from "../providers/UptimeStrip.tsx"
import { Link } from "../router.tsx"
import { sortRows } from "../sorting.ts"

interface ProviderListProps {
  readonly of: ListedProviders
  /** The span of the requests that a row leads to. */
  readonly span: "hour" | "day"
}

export const ProviderList = ({ of, span }: ProviderListProps) => {
  return (
    <Panel title="Providers" note="the last 24 hours" class="flush">
      <Loaded of={of} what="The list of providers">
        {({ data }) => (
          <Table
            caption="Providers"
            rows={sortRows(data, "-trouble", { trouble: troubleOf })}
            keyOf={({ slug }) => slug}
            isClickable
            columns={[
              { head: "Provider", cell: ({ slug }) => <Link to={`/providers/${slug}`}>{slug}</Link> },
              { head: "State", cell: (one) => <CircuitState of={one} /> },
              { head: "Uptime", cell: (one) => <UptimeStrip of={one} /> },
              {
                head: "Traffic",
                cell: ({ slug }) => (
                  <Link to={withQuery("/requests", { span, provider: slug })}>
                    Requests<span class="unseen"> that called {slug}</span>
                  </Link>
                )
              }
            ]}
          />
        )}
      </Loaded>
    </Panel>
  )
}
