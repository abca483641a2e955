/**
 * The audit trail: who changed which key, user, grant or session, when and from where. All filters
 * are in the address. A second tab counts refused credentials by network address.
 */
import { type AuditEventRecord } from "../../api/Audit.ts"
import { call, withQuery } from "../client.ts"
import { count, momentSeconds, NONE, words, zone } from "../format.ts"
import { Badge, type Tone } from "../parts/Badge.tsx"
import { DownloadCsv } from "../parts/Download.tsx"
import { SelectField } from "../parts/Field.tsx"
import { ListPanel } from "../parts/ListPanel.tsx"
import { Page, Tabs } from "../parts/Page.tsx"
import { SearchField } from "../parts/SearchField.tsx"
import { boundsOf, SpanFields, spanNames } from "../parts/Span.tsx"
import { Empty } from "../parts/States.tsx"
import { type Column, Table } from "../parts/Table.tsx"
import { Link } from "../router.tsx"
import { type ListPage, useList } from "../useList.ts"
import { useQuery } from "../useQuery.ts"
import { RefusedCredentials } from "./RefusedCredentials.tsx"

const names = ["q", "action", "outcome", "actor", "target", "address", "request_id", ...spanNames] as const
const actions = [
  "key.change",
  "key.create",
  "key.revoke",
  "key.rotate",
  "session.begin",
  "session.end",
  "session.reuse",
  "settings.reload",
  "user.admin",
  "user.change",
  "user.create",
  "user.link",
  "webhook.retry"
] as const satisfies ReadonlyArray<AuditEventRecord["action"]>
const outcomes = ["done", "refused", "failed"] as const satisfies ReadonlyArray<AuditEventRecord["outcome"]>
const narrow = ["actor", "target", "address", "request_id"] as const

const tones: Readonly<Record<AuditEventRecord["outcome"], Tone>> = { done: "good", refused: "warn", failed: "bad" }

const pageOf = (id: string): string | undefined =>
  id.startsWith("key_") ? `/keys/${id}` : id.startsWith("usr_") ? `/users/${id}` : undefined

/** A key or user by its name, with a link to its page. */
const Named = ({ id, name }: { readonly id: string; readonly name: string | null }) => {
  const to = pageOf(id)
  const shown = name ?? `${id.slice(0, 12)}…`
  return to === undefined ? <code title={id}>{shown}</code> : <Link to={to}>{shown}</Link>
}

const detailOf = (value: unknown): string =>
  Array.isArray(value) ? value.join(", ") : typeof value === "string" ? value : JSON.stringify(value)

const columns: ReadonlyArray<Column<AuditEventRecord>> = [
  {
    head: "Time",
    cell: ({ created_at, id, request_id }) => (
      <span class="two-lines">
        <Link to={`/audit?q=${id}`} class="nowrap">
          {momentSeconds(created_at)}
        </Link>
        {request_id === null ? (
          <span />
        ) : (
          <Link to={`/audit?request_id=${encodeURIComponent(request_id)}`}>{request_id.slice(0, 14)}</Link>
        )}
      </span>
    )
  },
  {
    head: "Action",
    cell: (event) => (
      <span class="two-lines">
        <code>{event.action}</code>
        <span class="badges">
          <Badge text={event.outcome} tone={tones[event.outcome]} />
          {event.count > 1 ? <Badge text={`× ${count(event.count)}`} tone="calm" /> : null}
        </span>
      </span>
    )
  },
  {
    head: "Actor",
    cell: ({ actor, actor_id, actor_name, address }) => (
      <span class="two-lines">
        {actor_id === null ? <span>{words(actor)}</span> : <Named id={actor_id} name={actor_name} />}
        {address === null ? <span /> : <Link to={`/audit?address=${encodeURIComponent(address)}`}>{address}</Link>}
      </span>
    )
  },
  {
    head: "Target",
    cell: ({ target, target_name }) => (target === null ? NONE : <Named id={target} name={target_name} />)
  },
  {
    head: "Details",
    cell: ({ details }) =>
      Object.entries(details)
        .map(([name, value]) => `${name}: ${detailOf(value)}`)
        .join("; ") || NONE
  }
]

export const Audit = ({ part }: { readonly part: string }) => (
  <Page
    title="Audit"
    tab={part === "refused" ? "Refused credentials" : "Audit"}
    lead={`Changes of keys, users, grants and sessions, and who was refused. Local time, ${zone()}.`}
  >
    <Tabs
      label="Parts of the audit trail"
      current={part}
      tabs={[
        ["", "Changes", "/audit"],
        ["refused", "Refused credentials", "/audit/refused"]
      ]}
    />
    {part === "refused" ? <RefusedCredentials /> : <Changes />}
  </Page>
)

const Changes = () => {
  const [query, set] = useQuery(names)
  const pathOf = (more: Readonly<Record<string, string | number | undefined>>) => {
    const { from: _from, span: _span, to: _to, ...same } = query
    return withQuery("/v1/admin/audit", { ...same, ...boundsOf(query), ...more })
  }
  const list = useList<AuditEventRecord>({
    what: `audit ${JSON.stringify(query)}`,
    load: (asked, signal) => call<ListPage<AuditEventRecord>>(pathOf({ ...asked }), { signal }),
    keyOf: ({ id }) => id
  })
  const clear = () => set(Object.fromEntries(names.map((name) => [name, ""])))
  const chosen = narrow.filter((name) => query[name] !== "")
  const isFiltered = names.some((name) => query[name] !== "")
  return (
    <>
      <SearchField
        label="Search"
        value={query.q}
        onValue={(q) => set({ q }, "replace")}
        placeholder="Key, user, request or session id; network address; part of a key's name or a user's address"
      />
      <SpanFields query={query} set={set} />
      <div class="filters">
        <SelectField
          label="Action"
          value={query.action}
          onValue={(action) => set({ action })}
          options={[["", "any"], ...actions]}
        />
        <SelectField
          label="Outcome"
          value={query.outcome}
          onValue={(outcome) => set({ outcome })}
          options={[["", "any"], ...outcomes]}
        />
      </div>
      {chosen.length === 0 ? null : (
        <p class="actions">
          {chosen.map((name) => (
            <button key={name} type="button" class="button small" onClick={() => set({ [name]: "" })}>
              {words(name)} {query[name]} ×
            </button>
          ))}
        </p>
      )}
      <ListPanel
        of={list}
        nouns={["event", "events"]}
        what="The audit trail"
        actions={<DownloadCsv name="audit" path={() => pathOf({ format: "csv" })} />}
        empty={
          <Empty
            title={isFiltered ? "No event matches" : "No event yet"}
            action={
              isFiltered ? (
                <button type="button" class="button" onClick={clear}>
                  Clear all filters
                </button>
              ) : undefined
            }
          />
        }
      >
        {(rows) => <Table caption="Audit events" rows={rows} keyOf={({ id }) => id} columns={columns} />}
      </ListPanel>
    </>
  )
}
