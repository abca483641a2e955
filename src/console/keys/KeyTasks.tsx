/** The dialogs of keys: create, edit, rotate, disable, enable, revoke, and the new secret. */
import { useState } from "preact/hooks"
import { type ApiKey, type BulkKeys } from "../../api/Keys.ts"
import { type OwnGrants } from "../../api/signin/Portal.ts"
import { call } from "../client.ts"
import { count } from "../format.ts"
import { Dialog } from "../parts/Dialog.tsx"
import { SelectField } from "../parts/Field.tsx"
import { Form, useSubmit } from "../parts/Form.tsx"
import { KeyForm } from "./KeyForm.tsx"
import { KeySecret } from "./KeySecret.tsx"
import { type Source } from "./source.ts"

/** The open dialog. */
export type Task =
  | { readonly kind: "create" }
  | { readonly kind: "edit" | "rotate" | "revoke" | "disable" | "enable"; readonly key: ApiKey }
  | { readonly kind: "bulk"; readonly action: BulkKeys["action"]; readonly keys: ReadonlyArray<ApiKey> }
  | { readonly kind: "secret"; readonly secret: string; readonly name: string }

interface KeyTasksProps {
  readonly task: Task | null
  readonly onTask: (task: Task | null) => void
  readonly source: Source
  readonly grants: OwnGrants | undefined
  /** After a change, with what happened. */
  readonly onDone: (news: string) => void
  /** After a key got a secret, which is shown then. */
  readonly onChanged: () => void
}

export const KeyTasks = ({ grants, onChanged, onDone, onTask, source, task }: KeyTasksProps) => {
  const close = () => onTask(null)
  const issued = (secret: string, name: string) => {
    onTask({ kind: "secret", secret, name })
    onChanged()
  }
  switch (task?.kind) {
    case undefined:
      return null
    case "create":
      return <KeyForm source={source} grants={grants} onIssued={issued} onClose={close} />
    case "edit":
      return (
        <KeyForm source={source} grants={grants} of={task.key} onSaved={() => onDone("Key saved")} onClose={close} />
      )
    case "rotate":
      return <Rotate source={source} of={task.key} onIssued={issued} onClose={close} />
    case "revoke":
      return <Revoke source={source} of={task.key} onDone={() => onDone("Key revoked")} onClose={close} />
    case "disable":
    case "enable":
      return <Switch source={source} of={task.key} to={task.kind} onDone={onDone} onClose={close} />
    case "bulk":
      return <Bulk action={task.action} keys={task.keys} onDone={onDone} onChanged={onChanged} onClose={close} />
    case "secret":
      return <KeySecret secret={task.secret} name={task.name} onClose={close} />
  }
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
          Programs that call with <code>{of.prefix}</code> are refused from now on, everywhere within a second. This
          cannot be undone. To stop them for a while, disable the key.
        </p>
      </Form>
    </Dialog>
  )
}

interface SwitchProps extends AboutKey {
  readonly to: "disable" | "enable"
  readonly onDone: (news: string) => void
}

const Switch = ({ of, onClose, onDone, source, to }: SwitchProps) => {
  const submitting = useSubmit()
  const isStop = to === "disable"
  return (
    <Dialog title={`${isStop ? "Disable" : "Enable"} ${of.name}?`} onClose={onClose}>
      <Form
        of={submitting}
        action={isStop ? "Disable" : "Enable"}
        tone={isStop ? "danger" : "primary"}
        onCancel={onClose}
        onSubmit={async () => {
          await call(`${source.keys}/${of.id}`, {
            method: "PATCH",
            body: { status: isStop ? "disabled" : "active" }
          })
          onDone(isStop ? "Key disabled" : "Key enabled")
        }}
      >
        <p>
          {isStop
            ? "Programs that use the key are refused, everywhere within a second, until it is enabled again."
            : "Programs may use the key again, everywhere within a second."}
        </p>
      </Form>
    </Dialog>
  )
}

/** Names in the confirmation; the others are counted. */
const MOST_NAMES = 8
const words = {
  disable: { title: "Disable", done: "disabled", tone: "danger" },
  enable: { title: "Enable", done: "enabled", tone: "primary" },
  revoke: { title: "Revoke", done: "revoked", tone: "danger" }
} as const

interface BulkProps {
  readonly action: BulkKeys["action"]
  readonly keys: ReadonlyArray<ApiKey>
  readonly onDone: (news: string) => void
  readonly onChanged: () => void
  readonly onClose: () => void
}

const nounOf = (many: number): string => `${count(many)} ${many === 1 ? "key" : "keys"}`

const Bulk = ({ action, keys, onChanged, onClose, onDone }: BulkProps) => {
  const submitting = useSubmit()
  const [failed, setFailed] = useState<BulkKeys["data"]>([])
  const { done, title, tone } = words[action]
  const nameOf = (id: string) => keys.find((key) => key.id === id)?.name ?? id
  if (failed.length > 0) {
    return (
      <Dialog title={`${nounOf(failed.length)} not ${done}`} onClose={onClose}>
        <div class="form">
          <ul>
            {failed.map(({ error, id }) => (
              <li key={id}>
                {nameOf(id)}: {error?.message}
              </li>
            ))}
          </ul>
          <footer>
            <button type="button" class="button primary" onClick={onClose}>
              Close
            </button>
          </footer>
        </div>
      </Dialog>
    )
  }
  return (
    <Dialog title={`${title} ${nounOf(keys.length)}?`} onClose={onClose}>
      <Form
        of={submitting}
        action={`${title} ${nounOf(keys.length)}`}
        tone={tone}
        onCancel={onClose}
        onSubmit={async () => {
          const body = { action, ids: keys.map(({ id }) => id) }
          const answer = await call<BulkKeys>("/v1/keys/bulk", { body })
          const faults = answer.data.filter(({ outcome }) => outcome === "failed")
          if (faults.length === 0) {
            const same = answer.unchanged === 0 ? "" : `, ${nounOf(answer.unchanged)} ${done} before`
            return onDone(`${nounOf(answer.changed)} ${done}${same}`)
          }
          setFailed(faults)
          onChanged()
        }}
      >
        <ul>
          {keys.slice(0, MOST_NAMES).map(({ id, name, prefix }) => (
            <li key={id}>
              {name} <code>{prefix}</code>
            </li>
          ))}
        </ul>
        {keys.length > MOST_NAMES ? <p>and {count(keys.length - MOST_NAMES)} more.</p> : null}
        <p class="quiet">
          {action === "enable"
            ? "Programs may use these keys again, everywhere within a second."
            : `Programs that use these keys are refused, everywhere within a second${action === "revoke" ? ". This cannot be undone." : ", until they are enabled again."}`}
        </p>
      </Form>
    </Dialog>
  )
}
