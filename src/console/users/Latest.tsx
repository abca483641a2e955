/** The last requests of one key or user, refused ones too, with a link to all of them. */
import { call, withQuery } from "../client.ts"
import { type Source } from "../keys/source.ts"
import { Panel } from "../parts/Page.tsx"
import { Empty, Loaded } from "../parts/States.tsx"
import { type Row, RequestTable } from "../requests/RequestTable.tsx"
import { Link } from "../router.tsx"
import { type ListPage } from "../useList.ts"
import { useLoad } from "../useLoad.ts"
import { type Whose } from "./UsageOf.tsx"

const SHOWN = 10

export const Latest = ({ of: { key, owner }, source }: { readonly of: Whose; readonly source: Source }) => {
  const filter = { key, user: owner }
  const path = withQuery(source.requests, { ...filter, limit: SHOWN })
  const latest = useLoad(path, (signal) => call<ListPage<Row>>(path, { signal }))
  return (
    <Panel
      title="Last requests"
      note={
        <span class="actions">
          <Link to={withQuery("/requests", { ...filter, end: "refused" })} class="button small">
            Refused
          </Link>
          <Link to={withQuery("/requests", { ...filter, end: "failed" })} class="button small">
            Failed
          </Link>
          <Link to={withQuery("/requests", filter)} class="button small">
            All requests
          </Link>
        </span>
      }
      class="flush"
    >
      <Loaded of={latest} what="The list of requests" rows={5}>
        {({ data }) =>
          data.length === 0 ? <Empty title="No requests yet" /> : <RequestTable rows={data} source={source} />
        }
      </Loaded>
    </Panel>
  )
}
