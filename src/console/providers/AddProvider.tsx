/**
 * Adds a provider: a vendor or another server, its key, a free test that shows models and prices,
 * and then the change. The key is sent once and kept nowhere in the browser.
 */
import { useState } from "preact/hooks"
import { type ProviderChangeReport, type ProviderPreset, type ProviderTestReport } from "../../api/ProviderSetup.ts"
import { call } from "../client.ts"
import { count, NONE } from "../format.ts"
import { notify } from "../notices.ts"
import { Dialog } from "../parts/Dialog.tsx"
import { SelectField, TextField } from "../parts/Field.tsx"
import { Form, useSubmit } from "../parts/Form.tsx"
import { Loaded } from "../parts/States.tsx"
import { useLoad } from "../useLoad.ts"
import { FoundModels, type Prices, pricesOf } from "./FoundModels.tsx"

interface Choice {
  readonly preset: string
  readonly slug: string
  readonly dialect: string
  readonly base_url: string
  readonly api_key: string
  readonly key_env: string
}

const OTHER = ""
const nothing: Choice = { preset: OTHER, slug: "", dialect: "openai", base_url: "", api_key: "", key_env: "" }

/** Without what is empty. */
const bodyOf = ({ dialect, ...choice }: Choice): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(Object.entries(choice).filter(([, value]) => value !== "")),
  ...(choice.preset === OTHER ? { dialect } : {})
})

interface AddProps {
  readonly onClose: () => void
  readonly onAdded: () => void
}

export const AddProvider = ({ onAdded, onClose }: AddProps) => {
  const presets = useLoad("presets", (signal) =>
    call<{ readonly data: ReadonlyArray<ProviderPreset> }>("/v1/admin/presets", { signal })
  )
  return (
    <Dialog title="Add a provider" onClose={onClose}>
      <Loaded of={presets} what="The list of vendors" rows={4}>
        {({ data }) => <ProviderForm presets={data} onAdded={onAdded} onClose={onClose} />}
      </Loaded>
    </Dialog>
  )
}

const ProviderForm = ({
  onAdded,
  onClose,
  presets
}: AddProps & { readonly presets: ReadonlyArray<ProviderPreset> }) => {
  const free = presets.filter(({ in_use }) => !in_use)
  const [choice, setChoice] = useState<Choice>({ ...nothing, preset: free[0]?.slug ?? OTHER })
  const [tested, setTested] = useState<ProviderTestReport>()
  const [prices, setPrices] = useState<Prices>(new Map())
  const submitting = useSubmit()
  const preset = free.find(({ slug }) => slug === choice.preset)
  const isListed = preset === undefined || !preset.takes_key
  const set = (change: Partial<Choice>) => {
    setChoice({ ...choice, ...change })
    setTested(undefined)
  }
  const test = async () =>
    setTested(await call<ProviderTestReport>("/v1/admin/providers/test", { body: bodyOf(choice) }))
  const add = async () => {
    const filled = isListed && tested !== undefined ? pricesOf(tested.models, prices) : []
    const body = { ...bodyOf(choice), ...(filled.length === 0 ? {} : { models: filled }) }
    const { models, slug } = await call<ProviderChangeReport>("/v1/admin/providers", { body })
    notify(`${slug} serves now, with ${count(models)} ${models === 1 ? "model" : "models"}`)
    onAdded()
  }
  const isTested = tested?.ok === true
  const fault = (member: string) => submitting.failure?.faultOf(member)
  return (
    <Form of={submitting} action={isTested ? "Add" : "Test"} onSubmit={isTested ? add : test} onCancel={onClose}>
      <SelectField
        label="Vendor"
        value={choice.preset}
        onValue={(value) => set({ ...nothing, preset: value })}
        options={[...free.map(({ name, slug }) => [slug, name] as const), [OTHER, "Another server"]]}
      />
      {preset !== undefined ? null : (
        <>
          <TextField
            label="Slug"
            required
            value={choice.slug}
            onValue={(slug) => set({ slug })}
            placeholder="acme"
            fault={fault("slug")}
          />
          <SelectField
            label="API"
            value={choice.dialect}
            onValue={(dialect) => set({ dialect })}
            options={[
              ["openai", "OpenAI"],
              ["anthropic", "Anthropic"],
              ["gemini", "Gemini"]
            ]}
          />
        </>
      )}
      {preset !== undefined && preset.base_url !== null ? null : (
        <TextField
          label="Address"
          required
          value={choice.base_url}
          onValue={(base_url) => set({ base_url })}
          placeholder="https://api.example.com/v1"
          fault={fault("base_url")}
        />
      )}
      <TextField
        label="Key"
        type="password"
        autocomplete="off"
        value={choice.api_key}
        onValue={(api_key) => set({ api_key, key_env: "" })}
        hint="Sealed in the database, and never shown again"
        fault={fault("api_key")}
      />
      <TextField
        label="Or the variable that holds it"
        value={choice.key_env}
        onValue={(key_env) => set({ key_env, api_key: "" })}
        placeholder={preset?.takes_key === true ? `TEAM_${preset.variable}` : "ACME_KEY"}
        hint="Of the gateway's environment"
        fault={fault("key_env")}
      />
      {tested === undefined ? null : <Outcome of={tested} />}
      {isTested ? <FoundModels of={tested.models} isOpen={isListed} prices={prices} onPrices={setPrices} /> : null}
    </Form>
  )
}

const Outcome = ({ of: { fault, host, key_checked, latency_ms } }: { readonly of: ProviderTestReport }) =>
  fault !== null ? (
    <p class="alert" role="alert">
      {fault.message}
    </p>
  ) : (
    <p role="status">
      {host} answers in {latency_ms ?? NONE} ms
      {key_checked ? " and accepts the key." : ", but does not tell whether it accepts the key."}
    </p>
  )
