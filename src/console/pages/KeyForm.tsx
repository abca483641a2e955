/** The form of a key, new or known. */
import { useState } from "preact/hooks"
import { type ApiKey } from "../../api/Keys.ts"
import { type Scope } from "../../domain/Key.ts"
import { call } from "../client.ts"
import { moment } from "../format.ts"
import { CheckField, SelectField, TextField } from "../parts/Field.tsx"
import { Dialog } from "../parts/Dialog.tsx"
import { Form, useSubmit } from "../parts/Form.tsx"
import { type KeySource } from "./keySource.ts"

const scopes: ReadonlyArray<readonly [Scope, string]> = [
  ["chat:write", "chat"],
  ["embeddings:write", "embeddings"],
  ["models:read", "list models"],
  ["generations:read", "read its generations"],
  ["privacy:preview", "privacy preview"]
]

const HOUR = 3_600_000
const lifetimes: ReadonlyArray<readonly [string, string]> = [
  ["never", "never"],
  [String(HOUR), "in an hour"],
  [String(24 * HOUR), "in a day"],
  [String(30 * 24 * HOUR), "in 30 days"],
  [String(90 * 24 * HOUR), "in 90 days"],
  [String(365 * 24 * HOUR), "in a year"]
]

interface KeyFormProps {
  readonly source: KeySource
  readonly of?: ApiKey
  readonly onIssued?: (secret: string, name: string) => void
  readonly onSaved?: () => void
  readonly onClose: () => void
}

const listOf = (text: string): ReadonlyArray<string> => text.split(/[\s,]+/).filter((entry) => entry !== "")

export const KeyForm = ({ of, onClose, onIssued, onSaved, source }: KeyFormProps) => {
  const [name, setName] = useState(of?.name ?? "")
  const [tier, setTier] = useState<string>(of?.tier ?? "free")
  const [budget, setBudget] = useState(of?.monthly_budget_usd?.toString() ?? "")
  const [models, setModels] = useState(of?.allowed_models?.join(", ") ?? "")
  const [granted, setGranted] = useState<ReadonlySet<Scope>>(new Set(of?.scopes ?? scopes.map(([scope]) => scope)))
  const [expiry, setExpiry] = useState(of === undefined ? "never" : "keep")
  const [privacy, setPrivacy] = useState<string>(of?.privacy ?? "")
  const [status, setStatus] = useState<string>(of?.status === "disabled" ? "disabled" : "active")
  const submitting = useSubmit()
  const faultOf = (member: string) => submitting.failure?.faultOf(member)

  const body = () => ({
    name,
    tier,
    monthly_budget_usd: budget.trim() === "" ? null : Number(budget),
    allowed_models: listOf(models).length === 0 ? null : listOf(models),
    scopes: [...granted],
    privacy: privacy === "" ? null : privacy,
    ...(expiry === "keep"
      ? {}
      : { expires_at: expiry === "never" ? null : new Date(Date.now() + Number(expiry)).toISOString() })
  })
  const save = async () => {
    if (of === undefined) {
      const { key } = await call<{ readonly key: string }>(source.path, { body: body() })
      onIssued?.(key, name)
    } else {
      await call(`${source.path}/${of.id}`, {
        method: "PATCH",
        body: { ...body(), ...(of.status === "expired" ? {} : { status }) }
      })
      onSaved?.()
    }
  }
  return (
    <Dialog title={of === undefined ? "New key" : `Edit ${of.name}`} onClose={onClose}>
      <Form of={submitting} action={of === undefined ? "Create the key" : "Save"} onCancel={onClose} onSubmit={save}>
        <TextField label="Name" value={name} onValue={setName} required autofocus fault={faultOf("name")} />
        <div class="pair">
          <SelectField
            label="Tier"
            value={tier}
            onValue={setTier}
            options={["free", "pro", "enterprise"]}
            fault={faultOf("tier")}
            hint="Sets the rate limits"
          />
          <TextField
            label="Budget a month, USD"
            type="number"
            inputMode="decimal"
            min="0"
            step="any"
            value={budget}
            onValue={setBudget}
            fault={faultOf("monthly_budget_usd")}
            hint="Empty: no cap"
          />
        </div>
        <TextField
          label="Models"
          value={models}
          onValue={setModels}
          placeholder="all"
          fault={faultOf("allowed_models")}
          hint="Ids or author/*, separated by commas; empty: all"
        />
        <fieldset>
          <legend>May</legend>
          <div class="checks">
            {scopes.map(([scope, words]) => (
              <CheckField
                key={scope}
                label={words}
                checked={granted.has(scope)}
                onChecked={(checked) =>
                  setGranted(
                    new Set(scopes.map(([one]) => one).filter((one) => (one === scope ? checked : granted.has(one))))
                  )
                }
              />
            ))}
          </div>
          {faultOf("scopes") === undefined ? null : <p class="alert">At least one is needed.</p>}
        </fieldset>
        <div class="pair">
          <SelectField
            label="Expires"
            value={expiry}
            onValue={setExpiry}
            fault={faultOf("expires_at")}
            options={[
              ...(of === undefined
                ? []
                : [
                    [
                      "keep",
                      of.expires_at === null ? "never (as it is)" : `${moment(of.expires_at)} (as it is)`
                    ] as const
                  ]),
              ...lifetimes
            ]}
          />
          <SelectField
            label="Personal data in prompts"
            value={privacy}
            onValue={setPrivacy}
            fault={faultOf("privacy")}
            options={[
              ["", "as the gateway is set"],
              ["mask", "masked"],
              ["block", "refused"]
            ]}
          />
          {of === undefined || of.status === "expired" ? null : (
            <SelectField label="State" value={status} onValue={setStatus} options={["active", "disabled"]} />
          )}
        </div>
      </Form>
    </Dialog>
  )
}
