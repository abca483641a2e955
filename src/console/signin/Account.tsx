/** The signed-in user, and the user's sessions, which can be ended. */
import { type User } from "../../api/signin/Auth.ts"
import { call } from "../client.ts"
import { moment, relative } from "../format.ts"
import { notify } from "../notices.ts"
import { Badge } from "../parts/Badge.tsx"
import { useSubmit } from "../parts/Form.tsx"
import { Page, Panel } from "../parts/Page.tsx"
import { Loaded } from "../parts/States.tsx"
import { Table } from "../parts/Table.tsx"
import { providerName } from "../signIn.ts"
import { useLoad } from "../useLoad.ts"

interface Visit {
  readonly id: string
  readonly created_at: string
  readonly last_used_at: string
  readonly expires_at: string
  readonly signed_in_by: string
  readonly user_agent: string | null
  readonly current: boolean
}

export const Account = () => {
  const me = useLoad("me", (signal) => call<User>("/auth/me", { signal }))
  const sessions = useLoad("sessions", (signal) =>
    call<{ readonly data: ReadonlyArray<Visit> }>("/auth/sessions", { signal })
  )
  const submitting = useSubmit()
  const end = (id: string) =>
    submitting.submit(async () => {
      await call(`/auth/sessions/${encodeURIComponent(id)}`, { method: "DELETE" })
      notify("Session ended")
      sessions.reload()
    })
  return (
    <Page title="Account" lead="Who you are here, and where you are signed in.">
      <div class="stack">
        <Loaded of={me} what="The account" rows={4}>
          {(user) => (
            <Panel title="You">
              <dl class="pairs">
                <dt>E-mail</dt>
                <dd>{user.email ?? "none"}</dd>
                <dt>Phone</dt>
                <dd>{user.phone ?? "none"}</dd>
                <dt>Role</dt>
                <dd>{user.role}</dd>
                <dt>Since</dt>
                <dd>{moment(user.created_at)}</dd>
                <dt>Signs in with</dt>
                <dd>{user.identities.map(({ provider }) => wayOf(provider)).join(", ")}</dd>
              </dl>
            </Panel>
          )}
        </Loaded>
        {submitting.failure === undefined ? null : (
          <p class="alert" role="alert">
            {submitting.failure.message}
          </p>
        )}
        <Loaded of={sessions} what="The list of sessions" rows={4}>
          {({ data }) => (
            <Panel title="Sessions" class="flush">
              <Table
                caption="Sessions"
                rows={data}
                keyOf={({ id }) => id}
                columns={[
                  {
                    head: "Where",
                    cell: ({ current, signed_in_by, user_agent }) => (
                      <span class="two-lines">
                        <span>
                          {device(user_agent)} {current ? <Badge text="this one" tone="good" /> : null}
                        </span>
                        <span>{wayOf(signed_in_by)}</span>
                      </span>
                    )
                  },
                  { head: "Last used", cell: ({ last_used_at }) => relative(last_used_at) },
                  { head: "Since", cell: ({ created_at }) => moment(created_at) },
                  {
                    head: "Actions",
                    bare: true,
                    cell: ({ current, id, user_agent }) =>
                      current ? null : (
                        <div class="row-actions">
                          <button
                            type="button"
                            class="button small"
                            aria-label={`End the session of ${device(user_agent)}`}
                            onClick={() => end(id)}
                          >
                            End
                          </button>
                        </div>
                      )
                  }
                ]}
              />
            </Panel>
          )}
        </Loaded>
      </div>
    </Page>
  )
}

const wayOf = (provider: string): string =>
  provider === "email" ? "code by mail" : provider === "sms" ? "code by SMS" : providerName(provider)

/** The name of a browser or program, from its user agent. */
const device = (agent: string | null): string => {
  if (agent === null) return "unknown"
  const browser = /(Firefox|Edg|OPR|Chrome|Safari)\//.exec(agent)?.[1]
  const system = /(Windows|Macintosh|iPhone|iPad|Android|Linux)/.exec(agent)?.[1]
  return browser === undefined ? agent.slice(0, 40) : `${browser}${system === undefined ? "" : `, ${system}`}`
}
