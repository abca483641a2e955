/**
 * The API key of the playground and the preview: pasted, or created for an hour by a click. It
 * stays in memory.
 */
import { useState } from "preact/hooks"
import { call } from "../client.ts"
import { TextField } from "../parts/Field.tsx"
import { Form, useSubmit } from "../parts/Form.tsx"
import { Panel } from "../parts/Page.tsx"
import { isOperator, playKey, session } from "../session.ts"
import { useStore } from "../store.ts"
import { dropPlayKey, makePlayKey } from "./playKeys.ts"

export const PlayKey = () => {
  const current = useStore(playKey)
  const [pasted, setPasted] = useState("")
  const submitting = useSubmit()
  const isUser = !isOperator(useStore(session))
  if (current !== null) {
    return (
      <p class="play-key">
        <span>
          Calling with <code>{current.label}</code>
        </span>
        <button type="button" class="button small" onClick={dropPlayKey}>
          Use another key
        </button>
      </p>
    )
  }
  return (
    <Panel title="An API key to call with" note="kept in this tab's memory only">
      <div class="columns">
        <Form
          of={submitting}
          action="Use this key"
          tone="plain"
          onSubmit={async () => {
            const secret = pasted.trim()
            await call("/v1/key", { key: secret })
            playKey.set({ secret, label: `${secret.slice(0, 7)}…`, path: null })
          }}
        >
          <TextField
            label="Paste one"
            type="password"
            value={pasted}
            onValue={setPasted}
            required
            fault={submitting.failure?.status === 401 ? "This key opens nothing here." : undefined}
          />
        </Form>
        <div class="form">
          <p class="quiet">
            Or make one that ends by itself after an hour{isUser ? ", with a quarter of your budget at most" : ""}. It
            shows up under Keys as “console playground”.
          </p>
          <div>
            <button
              type="button"
              class="button primary"
              aria-disabled={submitting.busy}
              onClick={() => (submitting.busy ? undefined : submitting.submit(makePlayKey))}
            >
              Make a key for an hour
            </button>
          </div>
        </div>
      </div>
    </Panel>
  )
}
