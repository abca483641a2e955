/**
 * The page of one key, for operators and for the user who owns it: its facts and budget, usage,
 * last requests and changes, and what can be done with it.
 */
import { useState } from "preact/hooks"
import { type ApiKey } from "../../api/Keys.ts"
import { type OwnGrants } from "../../api/signin/Portal.ts"
import { call } from "../client.ts"
import { BudgetFacts } from "../parts/BudgetFacts.tsx"
import { count, moment, NONE, relative, zone } from "../format.ts"
import { notify } from "../notices.ts"
import { Badge } from "../parts/Badge.tsx"
import { Copy } from "../parts/Copy.tsx"
import { Page, Panel } from "../parts/Page.tsx"
import { Loaded } from "../parts/States.tsx"
import { Link } from "../router.tsx"
import { Changes } from "../users/Changes.tsx"
import { Latest } from "../users/Latest.tsx"
import { UsageOf } from "../users/UsageOf.tsx"
import { useLoad } from "../useLoad.ts"
import { KeyTasks, type Task } from "./KeyTasks.tsx"
import { scopeWords } from "./Scopes.tsx"
import { type Source } from "./source.ts"

interface KeyPageProps {
  readonly id: string
  readonly source: Source
}

export const KeyPage = ({ id, source }: KeyPageProps) => {
  const path = `${source.keys}/${encodeURIComponent(id)}`
  const key = useLoad(path, (signal) => call<ApiKey>(path, { signal }))
  const grants = useLoad("grants", (signal) =>
    source.isOwn ? call<OwnGrants>("/v1/portal/grants", { signal }) : Promise.resolve(undefined)
  )
  const [task, setTask] = useState<Task | null>(null)
  const name = key.data?.name ?? "Key"
  return (
    <Page
      title={name}
      tab={`${name}, key`}
      lead={
        <>
          <code>{id}</code> <Copy text={id} label="Copy the id" />
        </>
      }
      actions={
        <>
          {key.data === undefined || key.data.status === "revoked" ? null : <Actions of={key.data} onTask={setTask} />}
          <Link to="/keys" class="button">
            All keys
          </Link>
        </>
      }
    >
      <Loaded of={key} what="Reading a key" rows={12}>
        {(data) => (
          <div class="stack">
            <AboutKey of={data} source={source} />
            <UsageOf of={{ key: id }} source={source} />
            <Latest of={{ key: id }} source={source} />
            {source.isOwn ? null : <Changes target={id} />}
          </div>
        )}
      </Loaded>
      <KeyTasks
        task={task}
        onTask={setTask}
        source={source}
        grants={grants.data}
        onChanged={key.reload}
        onDone={(news) => {
          setTask(null)
          key.reload()
          notify(news)
        }}
      />
    </Page>
  )
}

const Actions = ({ of, onTask }: { readonly of: ApiKey; readonly onTask: (task: Task) => void }) => {
  const open = (kind: "edit" | "rotate" | "revoke" | "disable" | "enable", words: string) => (
    <button type="button" class="button" onClick={() => onTask({ kind, key: of })}>
      {words}
    </button>
  )
  return (
    <>
      {open("edit", "Edit")}
      {open("rotate", "Rotate")}
      {of.status === "disabled" ? open("enable", "Enable") : null}
      {of.status === "active" ? open("disable", "Disable") : null}
      {open("revoke", "Revoke")}
    </>
  )
}

const AboutKey = ({ of, source }: { readonly of: ApiKey; readonly source: Source }) => {
  const { monthly_budget_usd: cap, rate_limits: limits, usage } = of
  return (
    <>
      <BudgetFacts
        cap={cap}
        usage={usage}
        more={[
          ["Requests a minute", count(limits.requests_per_minute), `tier ${of.tier}`],
          ["Tokens a minute", count(limits.tokens_per_minute)],
          ["Concurrent requests", count(limits.concurrency)]
        ]}
      />
      <Panel title="Key" note={<>Local time, {zone()}</>}>
        <dl class="pairs">
          <dt>Status</dt>
          <dd>
            <Badge text={of.status} />
          </dd>
          <dt>Prefix</dt>
          <dd>
            <code>{of.prefix}</code>
          </dd>
          {source.isOwn ? null : (
            <>
              <dt>User</dt>
              <dd>{of.owner === null ? "none" : <Link to={`/users/${of.owner}`}>{of.owner_name ?? of.owner}</Link>}</dd>
            </>
          )}
          <dt>Models</dt>
          <dd>{of.allowed_models === null ? "all" : of.allowed_models.join(", ")}</dd>
          <dt>Scopes</dt>
          <dd>{of.scopes.map((scope) => scopeWords[scope]).join(", ")}</dd>
          <dt>Personal data in prompts</dt>
          <dd>{of.privacy === null ? "as the gateway is set" : of.privacy === "mask" ? "masked" : "refused"}</dd>
          <dt>Last used</dt>
          <dd>{of.last_used_at === null ? "never" : `${moment(of.last_used_at)}, ${relative(of.last_used_at)}`}</dd>
          <dt>Expires</dt>
          <dd>{of.expires_at === null ? "never" : moment(of.expires_at)}</dd>
          <dt>Created</dt>
          <dd>{moment(of.created_at)}</dd>
          <dt>Changed</dt>
          <dd>{moment(of.updated_at)}</dd>
          {of.revoked_at === null ? null : (
            <>
              <dt>Revoked</dt>
              <dd>{of.revoked_at === null ? NONE : moment(of.revoked_at)}</dd>
            </>
          )}
        </dl>
      </Panel>
    </>
  )
}
