/** The dialog for a user's role and grants. */
import { useState } from "preact/hooks"
import { type Account } from "../../api/signin/Users.ts"
import { type Scope } from "../../domain/Key.ts"
import { call } from "../client.ts"
import { Dialog } from "../parts/Dialog.tsx"
import { SelectField, TextField } from "../parts/Field.tsx"
import { Form, useSubmit } from "../parts/Form.tsx"
import { session } from "../session.ts"
import { useStore } from "../store.ts"
import { allScopes, Scopes } from "../keys/Scopes.tsx"
import { tiers } from "../keys/tiers.ts"

interface EditUserProps {
  readonly of: Account
  readonly onSaved: () => void
  readonly onClose: () => void
}

export const EditUser = ({ of, onClose, onSaved }: EditUserProps) => {
  const { email, grants, id, phone } = of
  const [role, setRole] = useState<string>(of.role)
  const [tier, setTier] = useState<string>(grants.tier)
  const [budget, setBudget] = useState(grants.monthly_budget_usd?.toString() ?? "")
  const [scopes, setScopes] = useState<ReadonlyArray<Scope>>(grants.scopes)
  const current = useStore(session)
  const isMe = current.kind === "user" && current.user.id === id
  const submitting = useSubmit()
  const save = async () => {
    const body = {
      role,
      grants: { tier, monthly_budget_usd: budget.trim() === "" ? null : Number(budget), scopes }
    }
    await call(`/v1/admin/users/${id}`, { method: "PATCH", body })
    onSaved()
  }
  return (
    <Dialog title={`Edit ${email ?? phone ?? id}`} onClose={onClose}>
      <Form of={submitting} action="Save" onCancel={onClose} onSubmit={save}>
        {isMe ? null : (
          <SelectField
            label="Role"
            value={role}
            onValue={setRole}
            options={["user", "admin"]}
            hint="An admin may do all that the admin key does"
          />
        )}
        <div class="pair">
          <SelectField label="Tier, at most" value={tier} onValue={setTier} options={tiers} hint="Of each key" />
          <TextField
            label="Budget a month, USD"
            type="number"
            inputMode="decimal"
            min="0"
            step="any"
            value={budget}
            onValue={setBudget}
            fault={submitting.failure?.faultOf("grants")}
            hint="For all keys together; empty: no cap"
          />
        </div>
        <Scopes legend="Scopes of keys" of={allScopes} chosen={scopes} onChosen={setScopes} />
        <p class="quiet">Keys that have more than this are cut down to it, the newest first.</p>
      </Form>
    </Dialog>
  )
}
