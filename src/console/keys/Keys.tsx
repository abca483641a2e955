/**
 * API keys, of all users or a user's own: create, edit, rotate and revoke them, and see their
 * spending.
 */
import { useState } from "preact/hooks"
import { type ApiKey } from "../../api/Keys.ts"
import { type OwnGrants } from "../../api/signin/Portal.ts"
import { call, withQuery } from "../client.ts"
import { moment, relative, usd } from "../format.ts"
import { notify } from "../notices.ts"
import { Badge } from "../parts/Badge.tsx"
import { Dialog } from "../parts/Dialog.tsx"
import { SelectField, TextField } from "../parts/Field.tsx"
import { Form, useSubmit } from "../parts/Form.tsx"
import { Icon } from "../parts/Icon.tsx"
import { Meter } from "../parts/Meter.tsx"
import { Page, Panel } from "../parts/Page.tsx"
import { ShowMore } from "../parts/ShowMore.tsx"
import { Empty, Loaded } from "../parts/States.tsx"
import { Table } from "../parts/Table.tsx"
import { useLoad } from "../useLoad.ts"
import { Granted } from "../users/Granted.tsx"
import { KeyForm } from "./KeyForm.tsx"
import { KeySecret } from "./KeySecret.tsx"
import { playKeyRevoked } from "../playground/playKeys.ts"
import { type Source } from "./source.ts"

export interface KeyList {
  readonly data: ReadonlyArray<ApiKey>
  readonly has_more: boolean
  readonly next_cursor: string | null
}

/** The open dialog. */
type Task =
  | { readonly kind: "create" }
  | { readonly kind: "edit"; readonly key: ApiKey }
  | { readonly kind: "rotate"; readonly key: ApiKey }
  | { readonly kind: "revoke"; readonly key: ApiKey }
  | { readonly kind: "secret"; readonly secret: string; readonly name: string }

export const Keys = ({ source }: { readonly source: Source }) => {
  const [limit, setLimit] = useState(100)
  const [filter, setFilter] = useState("")
  const [shown, setShown] = useState("usable")
  const [task, setTask] = useState<Task | null>(null)
  const keys = useLoad(
    `keys ${limit}`,
    async (signal) => {
      await playKeyRevoked()
      return await call<KeyList>(withQuery(source.keys, { limit }), { signal })
    },
    { isSteady: true }
  )
  const grants = useLoad("grants", async (signal) => {
    await playKeyRevoked()
    return source.isOwn ? await call<OwnGrants>("/v1/portal/grants", { signal }) : undefined
  })
  const reload = () => {
    keys.reload()
    grants.reload()
  }
  const close = () => setTask(null)
  const done = (text: string) => {
    setTask(null)
    reload()
    notify(text)
  }
  const issued = (secret: string, name: string) => {
    setTask({ kind: "secret", secret, name })
    reload()
  }
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
      <div class="filters">
        <TextField label="Find" value={filter} onValue={setFilter} placeholder="Name, prefix or id" />
        <SelectField
          label="Show"
          value={shown}
          onValue={setShown}
          options={[
            ["usable", "Usable and disabled"],
            ["all", "Revoked and expired too"]
          ]}
        />
      </div>
      <Loaded of={keys} what="Key management" rows={8}>
        {({ data, has_more }) => {
          const rows = data.filter(
            (key) => matches(key, filter.trim().toLowerCase()) && (shown === "all" || isUsable(key))
          )
          return (
            <Panel title={`${rows.length} ${rows.length === 1 ? "key" : "keys"}`} class="flush">
              {rows.length === 0 ? (
                <Empty title={data.length === 0 ? "No keys yet" : "No key matches"}>
                  {data.length === 0
                    ? "A key lets a program call the gateway, within limits and a budget of its own."
                    : "Change the filter, or show the revoked ones too."}
                </Empty>
              ) : (
                <KeyTable rows={rows} onTask={setTask} />
              )}
              {has_more ? <ShowMore limit={limit} onLimit={setLimit} /> : null}
            </Panel>
          )
        }}
      </Loaded>
      {task?.kind === "create" ? (
        <KeyForm source={source} grants={grants.data} onIssued={issued} onClose={close} />
      ) : null}
      {task?.kind === "edit" ? (
        <KeyForm source={source} grants={grants.data} of={task.key} onSaved={() => done("Key saved")} onClose={close} />
      ) : null}
      {task?.kind === "rotate" ? <Rotate source={source} of={task.key} onIssued={issued} onClose={close} /> : null}
      {task?.kind === "revoke" ? (
        <Revoke source={source} of={task.key} onDone={() => done("Key revoked")} onClose={close} />
      ) : null}
      {task?.kind === "secret" ? <KeySecret secret={task.secret} name={task.name} onClose={close} /> : null}
    </Page>
  )
}

const isUsable = ({ status }: ApiKey): boolean => status === "active" || status === "disabled"

const matches = (key: ApiKey, text: string): boolean =>
  text === "" || [key.name, key.prefix, key.id, key.owner ?? ""].some((value) => value.toLowerCase().includes(text))

interface KeyTableProps {
  readonly rows: ReadonlyArray<ApiKey>
  readonly onTask: (task: Task) => void
}

const KeyTable = ({ onTask, rows }: KeyTableProps) => (
  <Table
    caption="Keys"
    rows={rows}
    keyOf={({ id }) => id}
    quiet={(key) => !isUsable(key)}
    columns={[
      {
        head: "Name",
        cell: ({ name, prefix }) => (
          <span class="two-lines">
            <span class="fade">{name}</span>
            <code>{prefix}</code>
          </span>
        )
      },
      { head: "State", cell: ({ status }) => <Badge text={status} /> },
      { head: "Tier", cell: ({ tier }) => tier },
      { head: "This month", cell: (key) => <Spent of={key} /> },
      {
        head: "Models",
        cell: ({ allowed_models }) => (allowed_models === null ? "all" : allowed_models.join(", ") || "none")
      },
      {
        head: "Last used",
        cell: ({ last_used_at }) => <time title={moment(last_used_at)}>{relative(last_used_at)}</time>
      },
      {
        head: "Expires",
        cell: ({ expires_at }) =>
          expires_at === null ? "never" : <time title={moment(expires_at)}>{relative(expires_at)}</time>
      },
      {
        head: "Actions",
        bare: true,
        cell: (key) =>
          key.status === "revoked" ? null : (
            <div class="row-actions">
              {(["edit", "rotate", "revoke"] as const).map((kind) => (
                <button
                  key={kind}
                  type="button"
                  class="button small"
                  aria-label={`${kind} ${key.name}`}
                  onClick={() => onTask({ kind, key })}
                >
                  {labels[kind]}
                </button>
              ))}
            </div>
          )
      }
    ]}
  />
)

const labels = { edit: "Edit", rotate: "Rotate", revoke: "Revoke" } as const

const Spent = ({ of: { monthly_budget_usd, usage } }: { readonly of: ApiKey }) => {
  const spent = usage.month_spent_usd + usage.month_reserved_usd
  return monthly_budget_usd === null ? (
    <span>{usd(spent)}</span>
  ) : (
    <span class="two-lines">
      <span class="nowrap">
        {usd(spent)} of {usd(monthly_budget_usd)}
      </span>
      <Meter share={monthly_budget_usd === 0 ? 1 : spent / monthly_budget_usd} label="Share of the budget" />
    </span>
  )
}

interface AboutKey {
  readonly source: Source
  readonly of: ApiKey
  readonly onClose: () => void
}

const Rotate = ({
  of,
  onClose,
  onIssued,
  source
}: AboutKey & { readonly onIssued: (secret: string, name: string) => void }) => {
  const [grace, setGrace] = useState("3600")
  const submitting = useSubmit()
  return (
    <Dialog title={`Rotate ${of.name}`} onClose={onClose}>
      <Form
        of={submitting}
        action="Make a new secret"
        onCancel={onClose}
        onSubmit={async () => {
          const body = { grace_seconds: Number(grace) }
          const { key } = await call<{ readonly key: string }>(`${source.keys}/${of.id}/rotate`, { body })
          onIssued(key, of.name)
        }}
      >
        <p>The key gets a new secret and stays the same in all else: id, limits, budget and what it has spent.</p>
        <SelectField
          label="The old secret"
          value={grace}
          onValue={setGrace}
          options={[
            ["0", "stops at once"],
            ["300", "works for 5 more minutes"],
            ["3600", "works for another hour"],
            ["86400", "works for another day"],
            ["604800", "works for another week"]
          ]}
        />
      </Form>
    </Dialog>
  )
}

const Revoke = ({ of, onClose, onDone, source }: AboutKey & { readonly onDone: () => void }) => {
  const submitting = useSubmit()
  return (
    <Dialog title={`Revoke ${of.name}?`} onClose={onClose}>
      <Form
        of={submitting}
        action="Revoke for good"
        tone="danger"
        onCancel={onClose}
        onSubmit={async () => {
          await call(`${source.keys}/${of.id}`, { method: "DELETE" })
          onDone()
        }}
      >
        <p>
          Programs that call with <code>{of.prefix}</code> are refused from now on, everywhere within five seconds. This
          cannot be undone. To stop them for a while, edit the key and disable it.
        </p>
      </Form>
    </Dialog>
  )
}
