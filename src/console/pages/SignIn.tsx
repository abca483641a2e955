/** The door: who has the admin key comes in with it. */
import { useEffect, useState } from "preact/hooks"
import { failureOf, send } from "../client.ts"
import { Brand } from "../parts/Brand.tsx"
import { CheckField, TextField } from "../parts/Field.tsx"
import { Form, useSubmit } from "../parts/Form.tsx"
import { enterAsAdmin } from "../session.ts"

export const SignIn = ({ notice }: { readonly notice?: string | undefined }) => {
  useEffect(() => {
    document.title = "Sign in · tollgate"
  }, [])
  return (
    <main class="door">
      <Brand />
      {notice === undefined ? null : (
        <p class="note" role="status">
          {notice}
        </p>
      )}
      <AdminKey />
    </main>
  )
}

const AdminKey = () => {
  const [key, setKey] = useState("")
  const [keep, setKeep] = useState(false)
  const submitting = useSubmit()
  const enter = async () => {
    const sent = key.trim()
    const response = await send("/v1/admin/overview", { headers: { "x-admin-key": sent } })
    if (!response.ok) throw await failureOf(response)
    enterAsAdmin(sent, keep)
  }
  return (
    <section class="panel">
      <div class="panel-head">
        <h1>Operate this gateway</h1>
      </div>
      <Form of={submitting} onSubmit={enter} action="Open the console">
        <TextField
          label="Admin key"
          type="password"
          value={key}
          onValue={setKey}
          required
          autofocus
          fault={submitting.failure?.status === 401 ? "This key does not open this gateway." : undefined}
          hint={
            <>
              The first start printed it and keeps it in <code>.tollgate/admin.key</code>.
            </>
          }
        />
        <CheckField label="Keep it until this tab is closed" checked={keep} onChecked={setKeep} />
      </Form>
    </section>
  )
}
