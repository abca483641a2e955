/**
 * API keys, of all users or a user's own. Search, status and order are in the address; operators
 * select rows to change many keys at once.
 */
import { useState } from "preact/hooks"
import { type ApiKey } from "../../api/Keys.ts"
import { type OwnGrants } from "../../api/signin/Portal.ts"
import { call, withQuery } from "../client.ts"
import { count, zone } from "../format.ts"
import { notify } from "../notices.ts"
import { SelectField } from "../parts/Field.tsx"
import { Icon } from "../parts/Icon.tsx"
import { ListPanel } from "../parts/ListPanel.tsx"
import { Page } from "../parts/Page.tsx"
import { SearchField } from "../parts/SearchField.tsx"
import { Empty } from "../parts/States.tsx"
import { go } from "../router.tsx"
import { isDescending, sortedBy, useSorting } from "../sorting.ts"
import { type ListPage, useList } from "../useList.ts"
import { useLoad } from "../useLoad.ts"
import { useQuery } from "../useQuery.ts"
import { Granted } from "../users/Granted.tsx"
import { playKeyRevoked } from "../playground/playKeys.ts"
import { KeyTable } from "./KeyTable.tsx"
import { KeyTasks, type Task } from "./KeyTasks.tsx"
import { type Source } from "./source.ts"

const queryNames = ["q", "status", "owner"] as const
const sorts = ["created", "name", "spent", "last_used", "expires"] as const
const statuses = [
  ["live", "Active and disabled"],
  ["active", "Active"],
  ["disabled", "Disabled"],
  ["expired", "Expired"],
  ["revoked", "Revoked"],
  ["all", "All"]
] as const
/** The most keys that are changed at once. */
const MOST_SELECTED = 500

export const Keys = ({ source }: { readonly source: Source }) => {
  const [{ owner, q, status }, set] = useQuery(queryNames)
  const sorting = useSorting(sorts, "-created")
  const [task, setTask] = useState<Task | null>(null)
  const [selected, setSelected] = useState<ReadonlyMap<string, ApiKey>>(new Map())
  const shown = status === "" ? "live" : status
  const query = {
    search: q,
    owner: source.isOwn ? undefined : owner,
    status: shown === "all" ? undefined : shown,
    sort: sortedBy(sorting.value),
    order: isDescending(sorting.value) ? "desc" : "asc"
  }
  const read = async (more: Readonly<Record<string, string | number | undefined>>, signal?: AbortSignal) => {
    await playKeyRevoked()
    const path = withQuery(source.keys, { ...query, ...more })
    return await call<ListPage<ApiKey>>(path, signal === undefined ? {} : { signal })
  }
  const keys = useList<ApiKey>({
    what: `${source.keys} ${JSON.stringify(query)}`,
    load: (asked, signal) => read({ ...asked }, signal),
    keyOf: ({ id }) => id
  })
  const grants = useLoad("grants", async (signal) => {
    await playKeyRevoked()
    return source.isOwn ? await call<OwnGrants>("/v1/portal/grants", { signal }) : undefined
  })
  const reload = () => {
    setSelected(new Map())
    keys.refresh()
    grants.reload()
  }
  const selectAll = async () => {
    try {
      const { data } = await read({ limit: MOST_SELECTED })
      setSelected(new Map(data.map((key) => [key.id, key])))
    } catch (thrown) {
      notify(thrown instanceof Error ? thrown.message : "The keys could not be read")
    }
  }
  const isFiltered = q !== "" || owner !== "" || status !== ""
  const total = keys.total ?? 0
  return (
    <Page
      title="Keys"
      lead={
        source.isOwn
          ? "A key lets a program call the gateway in your name. Only a hash of its secret is kept."
          : "Every key of this gateway. Only a hash of each secret is kept."
      }
      actions={
        <button type="button" class="button primary" onClick={() => setTask({ kind: "create" })}>
          <Icon name="plus" />
          New key
        </button>
      }
    >
      {source.isOwn ? <Granted of={grants.data} /> : null}
      <SearchField
        label="Search"
        value={q}
        onValue={(text) => set({ q: text }, "replace")}
        onEnter={(text) => (/^key_[0-9a-f]{32}$/.test(text) ? go(`/keys/${text}`) : set({ q: text }))}
        placeholder="Part of a name, or a whole prefix or id"
      />
      <div class="filters">
        <SelectField
          label="Status"
          value={shown}
          onValue={(value) => set({ status: value === "live" ? "" : value })}
          options={statuses}
        />
        {owner === "" || source.isOwn ? null : (
          <div class="field">
            <span class="label">User</span>
            <button type="button" class="button" onClick={() => set({ owner: "" })}>
              {keys.rows?.[0]?.owner_name ?? owner}
              <Icon name="close" />
            </button>
          </div>
        )}
      </div>
      <ListPanel
        of={keys}
        nouns={["key", "keys"]}
        what="Key management"
        actions={
          source.isOwn ? undefined : (
            <Selection
              selected={[...selected.values()]}
              total={total}
              onAll={() => void selectAll()}
              onNone={() => setSelected(new Map())}
              onTask={setTask}
            />
          )
        }
        empty={
          <Empty title={isFiltered ? "No key matches" : "No keys yet"}>
            {isFiltered
              ? "Search for less, or choose another status."
              : "A key lets a program call the gateway, within limits and a budget of its own."}
          </Empty>
        }
      >
        {(rows) => (
          <KeyTable
            rows={rows}
            sorting={sorting}
            source={source}
            selected={selected}
            onTask={setTask}
            onSelected={(key, isOn) => {
              const next = new Map(selected)
              if (isOn) next.set(key.id, key)
              else next.delete(key.id)
              setSelected(next)
            }}
          />
        )}
      </ListPanel>
      <p class="quiet">Local time, {zone()}. A month is one of UTC.</p>
      <KeyTasks
        task={task}
        onTask={setTask}
        source={source}
        grants={grants.data}
        onChanged={reload}
        onDone={(news) => {
          setTask(null)
          reload()
          notify(news)
        }}
      />
    </Page>
  )
}

interface SelectionProps {
  readonly selected: ReadonlyArray<ApiKey>
  readonly total: number
  readonly onAll: () => void
  readonly onNone: () => void
  readonly onTask: (task: Task) => void
}

const Selection = ({ onAll, onNone, onTask, selected, total }: SelectionProps) => {
  const most = Math.min(total, MOST_SELECTED)
  if (selected.length === 0) {
    return total === 0 ? null : (
      <button type="button" class="button small" onClick={onAll}>
        {total > MOST_SELECTED ? `Select the first ${count(most)}` : `Select all ${count(most)}`}
      </button>
    )
  }
  return (
    <>
      <span role="status">{count(selected.length)} selected</span>
      {(["disable", "enable", "revoke"] as const).map((action) => (
        <button
          key={action}
          type="button"
          class="button small"
          onClick={() => onTask({ kind: "bulk", action, keys: selected.slice(0, MOST_SELECTED) })}
        >
          {{ disable: "Disable", enable: "Enable", revoke: "Revoke" }[action]} selected
        </button>
      ))}
      <button type="button" class="button small" onClick={onNone}>
        Select none
      </button>
    </>
  )
}
