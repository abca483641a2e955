/** Refused keys, tokens and codes of the last 30 days, by network address. Never a credential. */
import { type RefusedAddressRecord } from "../../api/Audit.ts"
import { call, withQuery } from "../client.ts"
import { count, moment, words } from "../format.ts"
import { Panel } from "../parts/Page.tsx"
import { boundsOf, SpanFields, spanNames } from "../parts/Span.tsx"
import { Empty, Loaded } from "../parts/States.tsx"
import { Table } from "../parts/Table.tsx"
import { useLoad } from "../useLoad.ts"
import { useQuery } from "../useQuery.ts"

interface Found {
  readonly data: ReadonlyArray<RefusedAddressRecord>
  readonly has_more: boolean
}

export const RefusedCredentials = () => {
  const [query, set] = useQuery(spanNames)
  const found = useLoad(
    `refused ${JSON.stringify(query)}`,
    (signal) => call<Found>(withQuery("/v1/admin/refused-credentials", { limit: 200, ...boundsOf(query) }), { signal }),
    { everyMs: 10_000 }
  )
  return (
    <>
      <SpanFields query={query} set={set} />
      <Loaded of={found} what="Counts of refused credentials" rows={6}>
        {({ data, has_more }) => (
          <Panel
            title={`${count(data.length)}${has_more ? "+" : ""} ${data.length === 1 ? "address" : "addresses"}`}
            class="flush"
          >
            {data.length === 0 ? (
              <Empty title="No credential was refused">Wrong keys, tokens and codes are counted here.</Empty>
            ) : (
              <Table
                caption="Refused credentials by address"
                rows={data}
                keyOf={({ address }) => address}
                columns={[
                  { head: "Address", cell: ({ address }) => <code>{address}</code> },
                  { head: "Refused", numeric: true, cell: (row) => count(row.count) },
                  {
                    head: "Kinds",
                    cell: ({ by_credential }) =>
                      Object.entries(by_credential)
                        .map(([kind, times]) => `${words(kind)} ${count(times)}`)
                        .join(", ")
                  },
                  { head: "First", cell: ({ first_at }) => moment(first_at) },
                  { head: "Last", cell: ({ last_at }) => moment(last_at) }
                ]}
              />
            )}
          </Panel>
        )}
      </Loaded>
    </>
  )
}
