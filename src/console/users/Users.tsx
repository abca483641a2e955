/** The users page: search by address, number or id; edit, suspend and reinstate. */
import { useEffect, useState } from "preact/hooks"
import { type Account } from "../../api/signin/Users.ts"
import { call, withQuery } from "../client.ts"
import { moment, relative, usd } from "../format.ts"
import { notify } from "../notices.ts"
import { Badge } from "../parts/Badge.tsx"
import { TextField } from "../parts/Field.tsx"
import { Page, Panel } from "../parts/Page.tsx"
import { ShowMore } from "../parts/ShowMore.tsx"
import { Empty, Loaded } from "../parts/States.tsx"
import { Table } from "../parts/Table.tsx"
import { session } from "../session.ts"
import { useStore } from "../store.ts"
import { useLoad } from "../useLoad.ts"
import { EditUser } from "./EditUser.tsx"
import { SuspendUser } from "./SuspendUser.tsx"

interface UserList {
  readonly data: ReadonlyArray<Account>
  readonly has_more: boolean
}

interface Task {
  readonly kind: "edit" | "suspend"
  readonly user: Account
}

const SETTLE_MS = 250

/** The text, once typing has paused. */
const useSettled = (text: string): string => {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), SETTLE_MS)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}

export const nameOf = ({ email, id, phone }: Account): string => email ?? phone ?? id

export const Users = () => {
  const [text, setText] = useState("")
  const [limit, setLimit] = useState(100)
  const [task, setTask] = useState<Task | null>(null)
  const search = useSettled(text.trim())
  const path = withQuery("/v1/admin/users", { limit, search })
  const users = useLoad(path, (signal) => call<UserList>(path, { signal }), { isSteady: true })
  const close = () => setTask(null)
  const done = (news: string) => {
    close()
    users.reload()
    notify(news)
  }
  return (
    <Page title="Users" lead="Everyone who has signed in, what their keys may have, and who is suspended.">
      <div class="filters find">
        <TextField label="Find" value={text} onValue={setText} placeholder="Part of an address or number, or an id" />
      </div>
      <Loaded of={users} what="User management" rows={8}>
        {({ data, has_more }) => (
          <Panel title={`${data.length}${has_more ? "+" : ""} ${data.length === 1 ? "user" : "users"}`} class="flush">
            {data.length === 0 ? (
              <Empty title={search === "" ? "No users yet" : "No matching users"}>
                {search === ""
                  ? "An account is created at the first sign-in, with the grants of the settings."
                  : "Look for less of the address or of the number."}
              </Empty>
            ) : (
              <UserTable rows={data} onTask={setTask} />
            )}
            {has_more ? <ShowMore limit={limit} onLimit={setLimit} /> : null}
          </Panel>
        )}
      </Loaded>
      {task?.kind === "edit" ? <EditUser of={task.user} onSaved={() => done("User saved")} onClose={close} /> : null}
      {task?.kind === "suspend" ? <SuspendUser of={task.user} onDone={done} onClose={close} /> : null}
    </Page>
  )
}

interface UserTableProps {
  readonly rows: ReadonlyArray<Account>
  readonly onTask: (task: Task) => void
}

const UserTable = ({ onTask, rows }: UserTableProps) => {
  const current = useStore(session)
  const isMe = ({ id }: Account) => current.kind === "user" && current.user.id === id
  return (
    <Table
      caption="Users"
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        {
          head: "User",
          cell: (user) => (
            <span class="two-lines">
              <span>{nameOf(user)}</span>
              <code>{user.id}</code>
            </span>
          )
        },
        {
          head: "Role",
          cell: (user) => (
            <span class="badges">
              <Badge text={user.role} tone={user.role === "admin" ? "good" : "calm"} />
              {isMe(user) ? <Badge text="you" /> : null}
            </span>
          )
        },
        { head: "State", cell: ({ status }) => <Badge text={status} /> },
        { head: "Tier", cell: ({ grants }) => grants.tier },
        {
          head: "Budget a month",
          numeric: true,
          cell: ({ grants }) => (grants.monthly_budget_usd === null ? "no cap" : usd(grants.monthly_budget_usd))
        },
        {
          head: "Last sign-in",
          cell: ({ last_sign_in_at }) =>
            last_sign_in_at === null ? (
              "never"
            ) : (
              <time title={moment(last_sign_in_at)}>{relative(last_sign_in_at)}</time>
            )
        },
        { head: "Since", cell: ({ created_at }) => <span class="nowrap">{moment(created_at)}</span> },
        {
          head: "Actions",
          bare: true,
          cell: (user) => (
            <div class="row-actions">
              <button
                type="button"
                class="button small"
                aria-label={`Edit ${nameOf(user)}`}
                onClick={() => onTask({ kind: "edit", user })}
              >
                Edit
              </button>
              {isMe(user) ? null : (
                <button
                  type="button"
                  class="button small"
                  aria-label={`${user.status === "active" ? "Suspend" : "Let in"} ${nameOf(user)}`}
                  onClick={() => onTask({ kind: "suspend", user })}
                >
                  {user.status === "active" ? "Suspend" : "Let in"}
                </button>
              )}
            </div>
          )
        }
      ]}
    />
  )
}
