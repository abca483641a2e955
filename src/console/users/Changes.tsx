/** The last changes of a key or a user from the audit trail, with a link to all of them. */
import { type AuditEventRecord } from "../../api/Audit.ts"
import { call, withQuery } from "../client.ts"
import { momentSeconds, NONE, words } from "../format.ts"
import { Badge } from "../parts/Badge.tsx"
import { Panel } from "../parts/Page.tsx"
import { Empty, Loaded } from "../parts/States.tsx"
import { Table } from "../parts/Table.tsx"
import { Link } from "../router.tsx"
import { type ListPage } from "../useList.ts"
import { useLoad } from "../useLoad.ts"

const SHOWN = 10

export const Changes = ({ target }: { readonly target: string }) => {
  const path = withQuery("/v1/admin/audit", { target, limit: SHOWN })
  const changes = useLoad(path, (signal) => call<ListPage<AuditEventRecord>>(path, { signal }))
  return (
    <Panel
      title="Changes"
      note={
        <Link to={withQuery("/audit", { target })} class="button small">
          All changes
        </Link>
      }
      class="flush"
    >
      <Loaded of={changes} what="The audit trail" rows={4}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No changes are kept" />
          ) : (
            <Table
              caption="Changes"
              rows={data}
              keyOf={({ id }) => id}
              columns={[
                { head: "Time", cell: ({ created_at }) => <span class="nowrap">{momentSeconds(created_at)}</span> },
                {
                  head: "What",
                  cell: ({ action, details }) => (
                    <span class="two-lines">
                      <span>{action}</span>
                      <span>{Array.isArray(details["members"]) ? details["members"].join(", ") : ""}</span>
                    </span>
                  )
                },
                {
                  head: "Outcome",
                  cell: ({ outcome }) => (
                    <Badge text={outcome} tone={outcome === "done" ? "good" : outcome === "failed" ? "bad" : "warn"} />
                  )
                },
                { head: "By", cell: ({ actor, actor_id, actor_name }) => actor_name ?? actor_id ?? words(actor) },
                { head: "From", cell: ({ address }) => (address === null ? NONE : <code>{address}</code>) }
              ]}
            />
          )
        }
      </Loaded>
    </Panel>
  )
}
