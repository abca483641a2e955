/** Users: found, sorted by what they spend, and counted by the API; each leads to its page. */
import { useState } from "preact/hooks"
import { type Account } from "../../api/signin/Users.ts"
import { call, withQuery } from "../client.ts"
import { count, moment, relative, usd, zone } from "../format.ts"
import { notify } from "../notices.ts"
import { Badge } from "../parts/Badge.tsx"
import { ListPanel } from "../parts/ListPanel.tsx"
import { Page } from "../parts/Page.tsx"
import { SearchField } from "../parts/SearchField.tsx"
import { Empty } from "../parts/States.tsx"
import { Table } from "../parts/Table.tsx"
import { go, Link } from "../router.tsx"
import { session } from "../session.ts"
import { isDescending, sortedBy, type Sorting, useSorting } from "../sorting.ts"
import { useStore } from "../store.ts"
import { type ListPage, useList } from "../useList.ts"
import { useQuery } from "../useQuery.ts"
import { EditUser } from "./EditUser.tsx"
import { SuspendUser } from "./SuspendUser.tsx"

interface Task {
  readonly kind: "edit" | "suspend"
  readonly user: Account
}

const queryNames = ["q"] as const
const sorts = ["created", "name", "last_sign_in", "keys", "spent"] as const

export const nameOf = ({ email, id, phone }: Account): string => email ?? phone ?? id

export const Users = () => {
  const [{ q }, set] = useQuery(queryNames)
  const sorting = useSorting(sorts, "-created")
  const [task, setTask] = useState<Task | null>(null)
  const query = {
    search: q,
    sort: sortedBy(sorting.value),
    order: isDescending(sorting.value) ? "desc" : "asc"
  }
  const users = useList<Account>({
    what: `users ${JSON.stringify(query)}`,
    load: (asked, signal) => call<ListPage<Account>>(withQuery("/v1/admin/users", { ...query, ...asked }), { signal }),
    keyOf: ({ id }) => id
  })
  const close = () => setTask(null)
  const done = (news: string) => {
    close()
    users.refresh()
    notify(news)
  }
  return (
    <Page title="Users" lead="Everyone who has signed in, what their keys may have, and who is suspended.">
      <SearchField
        label="Search"
        value={q}
        onValue={(text) => set({ q: text }, "replace")}
        onEnter={(text) => (/^usr_[0-9a-f]{32}$/.test(text) ? go(`/users/${text}`) : set({ q: text }))}
        placeholder="Part of an address or number, or an id"
      />
      <ListPanel
        of={users}
        nouns={["user", "users"]}
        what="User management"
        empty={
          <Empty title={q === "" ? "No users yet" : "No matching users"}>
            {q === ""
              ? "An account is created at the first sign-in, with the grants of the settings."
              : "Search for less of the address or of the number."}
          </Empty>
        }
      >
        {(rows) => <UserTable rows={rows} sorting={sorting} onTask={setTask} />}
      </ListPanel>
      <p class="quiet">Local time, {zone()}. A month is one of UTC.</p>
      {task?.kind === "edit" ? <EditUser of={task.user} onSaved={() => done("User saved")} onClose={close} /> : null}
      {task?.kind === "suspend" ? <SuspendUser of={task.user} onDone={done} onClose={close} /> : null}
    </Page>
  )
}

interface UserTableProps {
  readonly rows: ReadonlyArray<Account>
  readonly sorting: Sorting
  readonly onTask: (task: Task) => void
}

const UserTable = ({ onTask, rows, sorting }: UserTableProps) => {
  const current = useStore(session)
  const isMe = ({ id }: Account) => current.kind === "user" && current.user.id === id
  return (
    <Table
      caption="Users"
      rows={rows}
      keyOf={({ id }) => id}
      sorting={sorting}
      isClickable
      columns={[
        {
          head: "User",
          sort: "name",
          cell: (user) => (
            <span class="two-lines">
              <Link to={`/users/${user.id}`}>{nameOf(user)}</Link>
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
        { head: "Status", cell: ({ status }) => <Badge text={status} /> },
        { head: "Tier", cell: ({ grants }) => grants.tier },
        { head: "Keys", sort: "-keys", numeric: true, cell: ({ keys }) => count(keys) },
        {
          head: "Spent this month",
          sort: "-spent",
          numeric: true,
          cell: ({ grants, usage }) => (
            <span class="two-lines">
              <span class="nowrap">{usd(usage.month_spent_usd)}</span>
              <span class="nowrap">
                {grants.monthly_budget_usd === null ? "no cap" : `of ${usd(grants.monthly_budget_usd)}`}
              </span>
            </span>
          )
        },
        {
          head: "Last sign-in",
          sort: "-last_sign_in",
          cell: ({ last_sign_in_at }) =>
            last_sign_in_at === null ? (
              "never"
            ) : (
              <time class="nowrap" title={moment(last_sign_in_at)}>
                {relative(last_sign_in_at)}
              </time>
            )
        },
        {
          head: "Since",
          sort: "-created",
          cell: ({ created_at }) => <span class="nowrap">{moment(created_at)}</span>
        },
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
                  aria-label={`${user.status === "active" ? "Suspend" : "Reactivate"} ${nameOf(user)}`}
                  onClick={() => onTask({ kind: "suspend", user })}
                >
                  {user.status === "active" ? "Suspend" : "Reactivate"}
                </button>
              )}
            </div>
          )
        }
      ]}
    />
  )
}
