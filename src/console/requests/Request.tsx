/** One request, for operators and for the user whose key made it: a receipt, or a refusal. */
import { type ComponentChildren } from "preact"
import { type AdminGenerationRecord, type OwnedGenerationRecord } from "../../api/Generations.ts"
import { call, Failure, withQuery } from "../client.ts"
import { momentSeconds, zone } from "../format.ts"
import { type Source } from "../keys/source.ts"
import { Copy } from "../parts/Copy.tsx"
import { Icon } from "../parts/Icon.tsx"
import { Page } from "../parts/Page.tsx"
import { Loaded } from "../parts/States.tsx"
import { Link } from "../router.tsx"
import { type ListPage } from "../useList.ts"
import { useLoad } from "../useLoad.ts"
import { Receipt } from "./Receipt.tsx"
import { Refusal } from "./Refusal.tsx"
import { type Row } from "./RequestTable.tsx"

/** Only operators see the key's owner. */
type Record = typeof OwnedGenerationRecord.Type &
  Partial<Pick<typeof AdminGenerationRecord.Type, "owner" | "owner_name">>

interface RequestProps {
  readonly id: string
  readonly source: Source
}

export const Request = ({ id, source }: RequestProps) =>
  id.startsWith("ref_") ? <RefusalPage id={id} source={source} /> : <Generation id={id} source={source} />

interface FrameProps {
  readonly id: string
  readonly title: string
  /** What the tab's title names beside the id. */
  readonly about: string | null | undefined
  readonly children: ComponentChildren
}

const Frame = ({ about, children, id, title }: FrameProps) => (
  <Page
    title={title}
    tab={`${id.slice(0, 12)}… ${about ?? title.toLowerCase()}`}
    lead={
      <>
        <code>{id}</code> <Copy text={id} label="Copy the id" />
      </>
    }
    actions={
      <Link to="/requests" class="button">
        <Icon name="arrow" />
        All requests
      </Link>
    }
  >
    {children}
  </Page>
)

const Generation = ({ id, source }: RequestProps) => {
  const path = `${source.generations}/${encodeURIComponent(id)}`
  const record = useLoad(path, (signal) => call<Record>(path, { signal }))
  return (
    <Frame id={id} title="Receipt" about={record.data?.model}>
      <Loaded of={record} what="Reading a receipt" rows={10}>
        {(data) => (
          <div class="stack">
            <When at={data.created_at} />
            <Receipt of={data} people={peopleOf(data)} />
          </div>
        )}
      </Loaded>
    </Frame>
  )
}

const RefusalPage = ({ id, source }: RequestProps) => {
  const path = withQuery(source.requests, { q: id, limit: 1 })
  const refusal = useLoad(path, async (signal) => {
    const [row] = (await call<ListPage<Row>>(path, { signal })).data
    if (row === undefined) throw new Failure(404, { message: "There is no such refusal, or it is too old." })
    return row
  })
  return (
    <Frame id={id} title="Refused request" about={refusal.data?.error_code}>
      <Loaded of={refusal} what="Reading a refusal" rows={6}>
        {(data) => (
          <div class="stack">
            <When at={data.created_at} />
            <Refusal of={data} people={peopleOf(data)} />
          </div>
        )}
      </Loaded>
    </Frame>
  )
}

const When = ({ at }: { readonly at: string }) => (
  <p class="quiet">
    {momentSeconds(at)}, local time, {zone()}
  </p>
)

type Person = Partial<Pick<Row, "owner" | "owner_name">> & Pick<Row, "key_id" | "key_name">

/** The key and its owner by name, with links to their pages. */
const peopleOf = ({ key_id, key_name, owner, owner_name }: Person) => [
  ...(key_id === null ? [] : [["Key", <Link to={`/keys/${key_id}`}>{key_name ?? key_id}</Link>] as const]),
  ...(owner === null || owner === undefined
    ? []
    : [["User", <Link to={`/users/${owner}`}>{owner_name ?? owner}</Link>] as const])
]
