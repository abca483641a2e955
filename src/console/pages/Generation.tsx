/** One generation, as an operator reads it. */
import { type AdminGenerationRecord } from "../../api/Generations.ts"
import { call } from "../client.ts"
import { moment } from "../format.ts"
import { Copy } from "../parts/Copy.tsx"
import { Icon } from "../parts/Icon.tsx"
import { Page } from "../parts/Page.tsx"
import { Loaded } from "../parts/States.tsx"
import { Link } from "../router.tsx"
import { useLoad } from "../useLoad.ts"
import { Receipt } from "./Receipt.tsx"

export const Generation = ({ id }: { readonly id: string }) => {
  const path = `/v1/admin/generations/${encodeURIComponent(id)}`
  const record = useLoad(path, (signal) => call<typeof AdminGenerationRecord.Type>(path, { signal }))
  return (
    <Page
      title="Receipt"
      lead={
        <>
          <code>{id}</code> <Copy text={id} label="Copy the id" />
        </>
      }
      actions={
        <Link to="/generations" class="button">
          <Icon name="arrow" />
          All generations
        </Link>
      }
    >
      <Loaded of={record} what="Reading any key's generation" rows={10}>
        {(data) => (
          <div class="stack">
            <p class="quiet">
              {moment(data.created_at)}, by key <code>{data.key_id}</code>
              {data.owner === null ? null : (
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
