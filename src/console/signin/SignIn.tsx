/** The sign-in page: by code, by identity provider, or with the admin key. */
import { useEffect, useState } from "preact/hooks"
import { type SignInMethods } from "../../api/signin/SignInMethods.ts"
import { call, failureOf, send } from "../client.ts"
import { Brand } from "../parts/Brand.tsx"
import { CheckField, TextField } from "../parts/Field.tsx"
import { Form, useSubmit } from "../parts/Form.tsx"
import { Skeleton } from "../parts/States.tsx"
import { enterAsAdmin, expectSignIn } from "../session.ts"
import { useLoad } from "../useLoad.ts"
import { providerName } from "../signIn.ts"
import { SignInByCode } from "./SignInByCode.tsx"

/** True if an identity provider's refusal is in the address. */
const refused = (): boolean => new URLSearchParams(location.search).has("error")

export const SignIn = ({ notice }: { readonly notice?: string | undefined }) => {
  const methods = useLoad("methods", (signal) => call<SignInMethods>("/auth/methods", { signal }))
  const [failed] = useState(refused)
  useEffect(() => {
    document.title = "Sign in · tollgate"
    if (failed) history.replaceState(null, "", location.pathname)
  }, [failed])
  const news = notice ?? (failed ? "Signing in with the provider failed. Try again, or use another method." : undefined)
  const ways = methods.data
  const hasWays = ways !== undefined && ways.channels.length + ways.providers.length > 0
  return (
    <main class="door">
      <Brand />
      {news === undefined ? null : (
        <p class="note" role="status">
          {news}
        </p>
      )}
      {ways === undefined && methods.failure === undefined ? (
        <section class="panel">
          <Skeleton rows={4} />
        </section>
      ) : hasWays ? (
        <>
          <section class="panel form">
            <h1>Sign in</h1>
            {ways.providers.map((provider) => (
              <a
                key={provider}
                class="button"
                href={`/auth/oauth/${provider}/start?redirect_to=${encodeURIComponent("/console")}`}
                onClick={expectSignIn}
              >
                With {providerName(provider)}
              </a>
            ))}
            {ways.channels.length > 0 && ways.providers.length > 0 ? <p class="rule">or</p> : null}
            {ways.channels.length > 0 ? (
              <SignInByCode channels={ways.channels} hasMailbox={ways.development_mailbox} />
            ) : null}
          </section>
          <details class="panel">
            <summary>Operate this gateway with the admin key</summary>
            <AdminKey />
          </details>
        </>
      ) : (
        <section class="panel form">
          <h1>Operate this gateway</h1>
          <AdminKey />
        </section>
      )}
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
    <Form of={submitting} onSubmit={enter} action="Open the console">
      <TextField
        label="Admin key"
        type="password"
        value={key}
        onValue={setKey}
        required
        fault={submitting.failure?.status === 401 ? "This is not the admin key of this gateway." : undefined}
        hint={
          <>
            The first start printed it and keeps it in <code>.tollgate/admin.key</code>.
          </>
        }
      />
      <CheckField label="Keep it until this tab is closed" checked={keep} onChecked={setKeep} />
    </Form>
  )
}
