/**
 * Previews masking: marks the values found in a text, and shows the text as a provider would see
 * it.
 */
import { type ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import { type PrivacyPreview } from "../../api/Privacy.ts"
import { call } from "../client.ts"
import { words } from "../format.ts"
import { Badge } from "../parts/Badge.tsx"
import { AreaField, SelectField } from "../parts/Field.tsx"
import { useSubmit } from "../parts/Form.tsx"
import { Page, Panel } from "../parts/Page.tsx"
import { Empty, Missing } from "../parts/States.tsx"
import { playKey } from "../session.ts"
import { useStore } from "../store.ts"
import { PlayKey } from "../playground/PlayKey.tsx"

interface Seen {
  readonly text: string
  readonly preview: PrivacyPreview
}

export const Privacy = () => {
  const key = useStore(playKey)
  const [text, setText] = useState("")
  const [mode, setMode] = useState("mask")
  const [seen, setSeen] = useState<Seen | null>(null)
  const submitting = useSubmit()
  const look = () => {
    if (key === null || submitting.busy || text === "") return
    submitting.submit(async () => {
      const body = { text, mode }
      setSeen({ text, preview: await call<PrivacyPreview>("/v1/privacy/preview", { body, key: key.secret }) })
    })
  }
  return (
    <Page title="Privacy" lead="Runs the very code that masks prompts. Nothing is stored, and no provider is called.">
      <div class="stack">
        <PlayKey />
        {key === null ? null : (
          <div class="columns">
            <section class="panel form" aria-label="Text">
              <AreaField
                label="Text"
                rows={9}
                value={text}
                onValue={setText}
                onSubmit={look}
                placeholder="Write to jane@example.com or +44 20 7946 0958."
              />
              <SelectField
                label="As if the gateway would"
                value={mode}
                onValue={setMode}
                options={[
                  ["mask", "mask what it finds"],
                  ["block", "refuse the request"]
                ]}
              />
              {submitting.failure === undefined || submitting.failure.isMissing ? null : (
                <p class="alert" role="alert">
                  {submitting.failure.message}
                </p>
              )}
              <div class="actions">
                <button
                  type="button"
                  class="button primary"
                  aria-disabled={submitting.busy || text === ""}
                  onClick={look}
                >
                  Look
                </button>
              </div>
            </section>
            {submitting.failure?.isMissing === true ? (
              <section class="panel">
                <Missing what="The privacy preview" />
              </section>
            ) : (
              <Findings of={seen} />
            )}
          </div>
        )}
      </div>
    </Page>
  )
}

const Findings = ({ of }: { readonly of: Seen | null }) => {
  if (of === null) {
    return (
      <section class="panel">
        <Empty title="Nothing looked at yet">
          Addresses, phone and card numbers, accounts and secrets would be marked here.
        </Empty>
      </section>
    )
  }
  const { counts, entities, masked_text, would_block } = of.preview
  return (
    <div class="stack" aria-live="polite">
      <Panel
        title="Found"
        note={
          would_block ? <Badge text="would be refused" tone="bad" /> : entities.length === 0 ? "nothing" : undefined
        }
      >
        <p class="marked">{marked(of)}</p>
        {entities.length === 0 ? null : (
          <div class="badges">
            {Object.entries(counts).map(([type, found]) => (
              <Badge key={type} text={`${words(type)} ${found}`} tone="warn" />
            ))}
          </div>
        )}
      </Panel>
      {masked_text === undefined ? null : (
        <Panel title="As a provider would see it">
          <p class="marked">{masked_text}</p>
        </Panel>
      )}
    </div>
  )
}

/** The text with its findings marked, in order. */
const marked = ({ preview, text }: Seen): ReadonlyArray<ComponentChildren> => {
  const found = preview.entities.toSorted((a, b) => a.start - b.start)
  let at = 0
  const parts = found.flatMap(({ end, placeholder, start, type }): ReadonlyArray<ComponentChildren> => {
    const before = text.slice(at, start)
    at = end
    return [
      before,
      <mark key={start} title={placeholder}>
        {text.slice(start, end)}
        <span class="kind">{words(type)}</span>
      </mark>
    ]
  })
  return [...parts, text.slice(at)]
}
