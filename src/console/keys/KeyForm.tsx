/** The form for creating or editing a key. A user's keys are limited by the grants. */
import { useState } from "preact/hooks"
import { type ApiKey } from "../../api/Keys.ts"
import { type OwnGrants } from "../../api/signin/Portal.ts"
import { type Scope } from "../../domain/Key.ts"
import { call } from "../client.ts"
import { moment, usd } from "../format.ts"
import { CheckField, SelectField, TextField } from "../parts/Field.tsx"
import { Dialog } from "../parts/Dialog.tsx"
import { Form, useSubmit } from "../parts/Form.tsx"
import { entriesOf, isKnown, ModelPicker, useModels } from "./ModelPicker.tsx"
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
  [String(365 * 24 * HOUR), "in a year"],
  ["date", "on a day"]
]

/** The first day that is wholly in the future, in local time. */
const tomorrow = (): string =>
  new Date(Date.now() + 24 * HOUR - new Date().getTimezoneOffset() * 60_000).toISOString().slice(0, 10)

/** A day means its first moment in local time. */
const expiresAt = (expiry: string, day: string): string | null =>
  expiry === "never" ? null : new Date(expiry === "date" ? `${day}T00:00` : Date.now() + Number(expiry)).toISOString()

interface KeyFormProps {
  readonly source: Source
  readonly of?: ApiKey
  /** Grants of the key's user. Absent for operators, who have no limits. */
  readonly grants: OwnGrants | undefined
  readonly onIssued?: (secret: string, name: string) => void
  readonly onSaved?: () => void
  readonly onClose: () => void
}

const tierBudgets: Readonly<Record<string, string>> = { free: "$5", pro: "$100", enterprise: "no cap" }

/** Explains an empty budget. */
const budgetHint = (grants: OwnGrants | undefined, of: ApiKey | undefined, tier: string): string =>
  grants === undefined || grants.available_usd === null
    ? of === undefined && grants === undefined
      ? `Empty: the tier's budget, ${tierBudgets[tier] ?? "as set"} by default`
      : "Empty: no cap"
    : `Empty: all that is left, ${usd(grants.available_usd + (of?.monthly_budget_usd ?? 0))}`

export const KeyForm = ({ grants, of, onClose, onIssued, onSaved, source }: KeyFormProps) => {
  const offered = grants?.scopes ?? allScopes
  const [name, setName] = useState(of?.name ?? "")
  const [tier, setTier] = useState<string>(of?.tier ?? grants?.tier ?? "free")
  const [budget, setBudget] = useState(of?.monthly_budget_usd?.toString() ?? "")
  const [chosen, setChosen] = useState<ReadonlyArray<string>>(of?.allowed_models ?? [])
  const [typed, setTyped] = useState("")
  const [isForced, setForced] = useState(false)
  const known = useModels(source)
  const models = [...new Set([...chosen, ...entriesOf(typed)])]
  const isStrange = known !== undefined && chosen.some((entry) => !isKnown(known, entry))
  const [scopes, setScopes] = useState<ReadonlyArray<Scope>>(of?.scopes ?? offered)
  const [expiry, setExpiry] = useState(of === undefined ? "never" : "keep")
  const [day, setDay] = useState(tomorrow)
  const [privacy, setPrivacy] = useState<string>(of?.privacy ?? "")
  const [status, setStatus] = useState<string>(of?.status === "disabled" ? "disabled" : "active")
  const submitting = useSubmit()
  const faultOf = (member: string) => submitting.failure?.faultOf(member)

  const body = () => ({
    name,
    tier,
    ...(budget.trim() === "" && of === undefined && grants === undefined
      ? {}
      : { monthly_budget_usd: budget.trim() === "" ? null : Number(budget) }),
    allowed_models: models.length === 0 ? null : models,
    ...(isForced ? { force: true } : {}),
    scopes,
    privacy: privacy === "" ? null : privacy,
    ...(expiry === "keep" ? {} : { expires_at: expiresAt(expiry, day) })
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
            hint={budgetHint(grants, of, tier)}
          />
        </div>
        <ModelPicker
          chosen={chosen}
          onChosen={setChosen}
          typed={typed}
          onTyped={setTyped}
          known={known}
          fault={faultOf("allowed_models")}
        />
        {isStrange || faultOf("allowed_models") !== undefined || isForced ? (
          <CheckField label="Use models that do not exist yet" checked={isForced} onChecked={setForced} />
        ) : null}
        <Scopes
          legend="Scopes"
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
          {expiry === "date" ? (
            <TextField label="Day" type="date" min={tomorrow()} value={day} onValue={setDay} required />
          ) : null}
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
            <SelectField label="Status" value={status} onValue={setStatus} options={["active", "disabled"]} />
          )}
        </div>
      </Form>
    </Dialog>
  )
}
