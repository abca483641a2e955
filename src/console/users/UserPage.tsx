/** The page of one user: grants and what is spent of them, keys, usage, last requests, changes. */
import { useState } from "preact/hooks"
import { type ApiKey } from "../../api/Keys.ts"
import { type Account } from "../../api/signin/Users.ts"
import { call, withQuery } from "../client.ts"
import { BudgetFacts } from "../parts/BudgetFacts.tsx"
import { count, moment, relative, zone } from "../format.ts"
import { everyone } from "../keys/source.ts"
import { scopeWords } from "../keys/Scopes.tsx"
import { Spent } from "../keys/KeyTable.tsx"
import { notify } from "../notices.ts"
import { Badge } from "../parts/Badge.tsx"
import { Copy } from "../parts/Copy.tsx"
import { Page, Panel } from "../parts/Page.tsx"
import { Empty, Loaded } from "../parts/States.tsx"
import { Table } from "../parts/Table.tsx"
import { Link } from "../router.tsx"
import { session } from "../session.ts"
import { useStore } from "../store.ts"
import { type ListPage } from "../useList.ts"
import { useLoad } from "../useLoad.ts"
import { Changes } from "./Changes.tsx"
import { EditUser } from "./EditUser.tsx"
import { Latest } from "./Latest.tsx"
import { SuspendUser } from "./SuspendUser.tsx"
import { UsageOf } from "./UsageOf.tsx"
import { nameOf } from "./Users.tsx"

export const UserPage = ({ id }: { readonly id: string }) => {
  const path = `/v1/admin/users/${encodeURIComponent(id)}`
  const user = useLoad(path, (signal) => call<Account>(path, { signal }))
  const [task, setTask] = useState<"edit" | "suspend" | null>(null)
  const current = useStore(session)
  const isMe = current.kind === "user" && current.user.id === id
  const name = user.data === undefined ? "User" : nameOf(user.data)
  const close = () => setTask(null)
  const done = (news: string) => {
    close()
    user.reload()
    notify(news)
  }
  return (
    <Page
      title={name}
      tab={`${name}, user`}
      lead={
        <>
          <code>{id}</code> <Copy text={id} label="Copy the id" />
        </>
      }
      actions={
        <>
          {user.data === undefined ? null : (
            <button type="button" class="button" onClick={() => setTask("edit")}>
              Edit
            </button>
          )}
          {user.data === undefined || isMe ? null : (
            <button type="button" class="button" onClick={() => setTask("suspend")}>
              {user.data.status === "active" ? "Suspend" : "Reactivate"}
            </button>
          )}
          <Link to="/users" class="button">
            All users
          </Link>
        </>
      }
    >
      <Loaded of={user} what="Reading a user" rows={12}>
        {(data) => (
          <div class="stack">
            <AboutUser of={data} />
            <KeysOf id={id} />
            <UsageOf of={{ owner: id }} source={everyone} />
            <Latest of={{ owner: id }} source={everyone} />
            <Changes target={id} />
            {task === "edit" ? <EditUser of={data} onSaved={() => done("User saved")} onClose={close} /> : null}
            {task === "suspend" ? <SuspendUser of={data} onDone={done} onClose={close} /> : null}
          </div>
        )}
      </Loaded>
    </Page>
  )
}

const AboutUser = ({ of }: { readonly of: Account }) => {
  const { grants, usage } = of
  return (
    <>
      <BudgetFacts cap={grants.monthly_budget_usd} usage={usage} more={[["Keys", count(of.keys), "not revoked"]]} />
      <Panel title="User" note={<>Local time, {zone()}</>}>
        <dl class="pairs">
          <dt>Status</dt>
          <dd>
            <Badge text={of.status} />
          </dd>
          <dt>Role</dt>
          <dd>{of.role}</dd>
          <dt>Tier, at most</dt>
          <dd>{grants.tier}</dd>
          <dt>Scopes, at most</dt>
          <dd>{grants.scopes.map((scope) => scopeWords[scope]).join(", ") || "none"}</dd>
          <dt>Last sign-in</dt>
          <dd>
            {of.last_sign_in_at === null ? "never" : `${moment(of.last_sign_in_at)}, ${relative(of.last_sign_in_at)}`}
          </dd>
          <dt>Since</dt>
          <dd>{moment(of.created_at)}</dd>
        </dl>
      </Panel>
    </>
  )
}

const SHOWN = 20

const KeysOf = ({ id }: { readonly id: string }) => {
  const path = withQuery("/v1/keys", { owner: id, status: "live", sort: "spent", limit: SHOWN })
  const keys = useLoad(path, (signal) => call<ListPage<ApiKey>>(path, { signal }))
  return (
    <Panel
      title="Keys"
      note={
        <Link to={withQuery("/keys", { owner: id, status: "all" })} class="button small">
          All keys of the user
        </Link>
      }
      class="flush"
    >
      <Loaded of={keys} what="Key management" rows={4}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No usable keys" />
          ) : (
            <Table
              caption="Keys"
              rows={data}
              keyOf={(key) => key.id}
              isClickable
              columns={[
                { head: "Name", cell: ({ id, name }) => <Link to={`/keys/${id}`}>{name}</Link> },
                { head: "Status", cell: ({ status }) => <Badge text={status} /> },
                { head: "This month", cell: (key) => <Spent of={key} /> },
                { head: "Last used", cell: ({ last_used_at }) => <span class="nowrap">{relative(last_used_at)}</span> }
              ]}
            />
          )
        }
      </Loaded>
    </Panel>
  )
}
