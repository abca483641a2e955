/** The form for creating or editing a key. A user's keys are limited by the grants. */
import { useState } from "preact/hooks"
import { type ApiKey } from "../../api/Keys.ts"
import { type OwnGrants } from "../../api/signin/Portal.ts"
import { type Scope } from "../../domain/Key.ts"
import { call } from "../client.ts"
import { moment, usd } from "../format.ts"
import { SelectField, TextField } from "../parts/Field.tsx"
import { Dialog } from "../parts/Dialog.tsx"
import { Form, useSubmit } from "../parts/Form.tsx"
import { allScopes, Scopes } from "./Scopes.tsx"
import { type Source } from "./source.ts"
import { tiers } from "./tiers.ts"

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
  readonly source: Source
  readonly of?: ApiKey
  /** Grants of the key's user. Absent for operators, who have no limits. */
  readonly grants: OwnGrants | undefined
  readonly onIssued?: (secret: string, name: string) => void
  readonly onSaved?: () => void
  readonly onClose: () => void
}

const listOf = (text: string): ReadonlyArray<string> => text.split(/[\s,]+/).filter((entry) => entry !== "")

/** Explains an empty budget. */
const budgetHint = (grants: OwnGrants | undefined, of: ApiKey | undefined): string =>
  grants === undefined || grants.available_usd === null
    ? "Empty: no cap"
    : `Empty: all that is left, ${usd(grants.available_usd + (of?.monthly_budget_usd ?? 0))}`

export const KeyForm = ({ grants, of, onClose, onIssued, onSaved, source }: KeyFormProps) => {
  const offered = grants?.scopes ?? allScopes
  const [name, setName] = useState(of?.name ?? "")
  const [tier, setTier] = useState<string>(of?.tier ?? grants?.tier ?? "free")
  const [budget, setBudget] = useState(of?.monthly_budget_usd?.toString() ?? "")
  const [models, setModels] = useState(of?.allowed_models?.join(", ") ?? "")
  const [scopes, setScopes] = useState<ReadonlyArray<Scope>>(of?.scopes ?? offered)
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
    scopes,
    privacy: privacy === "" ? null : privacy,
    ...(expiry === "keep"
      ? {}
      : { expires_at: expiry === "never" ? null : new Date(Date.now() + Number(expiry)).toISOString() })
  })
  const save = async () => {
    if (of === undefined) {
      const { key } = await call<{ readonly key: string }>(source.keys, { body: body() })
      onIssued?.(key, name)
    } else {
      await call(`${source.keys}/${of.id}`, {
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
            options={grants === undefined ? tiers : tiers.slice(0, tiers.indexOf(grants.tier) + 1)}
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
            hint={budgetHint(grants, of)}
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
        <Scopes
          legend="May"
          of={offered}
          chosen={scopes}
          onChosen={setScopes}
          fault={faultOf("scopes") === undefined ? undefined : "At least one is needed."}
        />
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
