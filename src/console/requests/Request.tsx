/** One generation, for operators and for the user whose key made it. */
import { type AdminGenerationRecord, type OwnedGenerationRecord } from "../../api/Generations.ts"
import { call } from "../client.ts"
import { moment } from "../format.ts"
import { Copy } from "../parts/Copy.tsx"
import { Icon } from "../parts/Icon.tsx"
import { Page } from "../parts/Page.tsx"
import { Loaded } from "../parts/States.tsx"
import { Link } from "../router.tsx"
import { useLoad } from "../useLoad.ts"
import { Receipt } from "./Receipt.tsx"
import { type Source } from "../keys/source.ts"

/** Only operators see the key's owner. */
type Record = typeof OwnedGenerationRecord.Type & Partial<Pick<typeof AdminGenerationRecord.Type, "owner">>

export const Request = ({ id, source }: { readonly id: string; readonly source: Source }) => {
  const path = `${source.generations}/${encodeURIComponent(id)}`
  const record = useLoad(path, (signal) => call<Record>(path, { signal }))
  return (
    <Page
      title="Receipt"
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
      <Loaded of={record} what="Reading a receipt" rows={10}>
        {(data) => (
          <div class="stack">
            <p class="quiet">
              {moment(data.created_at)}, by key <code>{data.key_id}</code>
              {data.owner === null || data.owner === undefined ? null : (
                <>
                  {" "}
                  of user <code>{data.owner}</code>
                </>
              )}
            </p>
            <Receipt of={data} />
          </div>
        )}
      </Loaded>
    </Page>
  )
}
