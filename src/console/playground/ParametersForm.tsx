/** The parameters of the requests: those that most need, those of routing, and the rest as JSON. */
import { type ComponentChildren } from "preact"
import { useEffect, useRef } from "preact/hooks"
import { AreaField, CheckField, SelectField, TextField } from "../parts/Field.tsx"
import { useStore } from "../store.ts"
import { refused } from "./conversation.ts"
import { type FieldFaults, fieldFaultsOf, type Parameters, readMore } from "./form.ts"
import { change, thread } from "./thread.ts"

/** Props of a field by its name. */
const useFields = () => {
  const { parameters } = useStore(thread)
  const last = useStore(refused)
  // A change takes the marks away.
  const faults: FieldFaults = last?.parameters === parameters ? fieldFaultsOf(last.fault, parameters) : {}
  const put = (name: keyof Parameters, value: string | boolean) =>
    change({ parameters: { ...thread.get().parameters, [name]: value } })
  return {
    parameters,
    faults,
    text: (name: keyof Parameters) => ({
      value: String(parameters[name]),
      onValue: (value: string) => put(name, value),
      fault: faults[name]
    }),
    flag: (name: keyof Parameters) => ({
      checked: parameters[name] === true,
      onChecked: (checked: boolean) => put(name, checked)
    })
  }
}

interface GroupProps {
  readonly title: string
  readonly names: ReadonlyArray<keyof Parameters>
  readonly faults: FieldFaults
  readonly children: ComponentChildren
}

/** Opens when a field is marked, and stays open. */
const Group = ({ children, faults, names, title }: GroupProps) => {
  const details = useRef<HTMLDetailsElement>(null)
  const isMarked = names.some((name) => faults[name] !== undefined)
  useEffect(() => {
    if (isMarked && details.current !== null) details.current.open = true
  }, [isMarked])
  return (
    <details ref={details}>
      <summary>{title}</summary>
      <div class="form">{children}</div>
    </details>
  )
}

export const ParametersForm = () => {
  const { faults, flag, parameters, text } = useFields()
  const more = readMore(parameters.more)
  const number = (name: keyof Parameters) => ({ type: "number" as const, ...text(name) })
  return (
    <div class="form">
      <AreaField label="System message" rows={2} {...text("system")} />
      <div class="checks">
        <CheckField label="Stream" {...flag("stream")} />
        <CheckField label="Ask afresh, past the cache" {...flag("fresh")} />
      </div>
      <Group
        title="Parameters"
        names={["temperature", "topP", "maxTokens", "seed", "effort", "format", "stop"]}
        faults={faults}
      >
        <div class="pair">
          <TextField label="Temperature" min="0" max="2" step="0.1" placeholder="1" {...number("temperature")} />
          <TextField label="Top P" min="0" max="1" step="0.05" placeholder="1" {...number("topP")} />
          <TextField label="Max tokens" min="1" step="1" placeholder="no limit" {...number("maxTokens")} />
          <TextField label="Seed" step="1" placeholder="none" {...number("seed")} />
          <SelectField
            label="Reasoning effort"
            options={[["", "default"], "none", "minimal", "low", "medium", "high"]}
            {...text("effort")}
          />
          <SelectField
            label="Response format"
            options={[
              ["", "default"],
              ["text", "text"],
              ["json_object", "JSON object"]
            ]}
            {...text("format")}
          />
        </div>
        <AreaField label="Stop" rows={2} hint="Texts that end the answer, one a line" {...text("stop")} />
      </Group>
      <Group
        title="Providers"
        names={["sort", "order", "only", "ignore", "maxPromptPrice", "maxCompletionPrice"]}
        faults={faults}
      >
        <SelectField
          label="Sort by"
          options={[["", "as the gateway does"], "price", "throughput", "latency"]}
          {...text("sort")}
        />
        <div class="pair">
          <TextField label="First, in this order" placeholder="slugs" {...text("order")} />
          <TextField label="Only" placeholder="slugs" {...text("only")} />
          <TextField label="Never" placeholder="slugs" {...text("ignore")} />
        </div>
        <div class="pair">
          <TextField
            label="Input price, at most"
            hint="USD a million tokens"
            min="0"
            step="any"
            {...number("maxPromptPrice")}
          />
          <TextField
            label="Output price, at most"
            hint="USD a million tokens"
            min="0"
            step="any"
            {...number("maxCompletionPrice")}
          />
        </div>
        <CheckField label="Fall back to other providers" {...flag("allowFallbacks")} />
        <CheckField label="Only those that neither train on nor retain prompts" {...flag("denyCollection")} />
      </Group>
      <Group title="More, as JSON" names={["more"]} faults={faults}>
        <AreaField
          label="Further members of the request"
          rows={4}
          placeholder={'{"tools": [], "metadata": {}}'}
          hint="They replace those of the fields above."
          {...text("more")}
          {...(typeof more === "string" ? { fault: more } : {})}
        />
      </Group>
    </div>
  )
}
