/** The models of a provider that was tested, with prices; missing prices are typed. */
import { type ProviderTestReport } from "../../api/ProviderSetup.ts"
import { count, NONE } from "../format.ts"
import { Table } from "../parts/Table.tsx"

type Model = ProviderTestReport["models"][number]

/** By the provider's name of the model: USD per million tokens, as they are typed. */
export type Prices = ReadonlyMap<string, { readonly prompt: string; readonly completion: string }>

const MOST_SHOWN = 100

const isUsd = (text: string): boolean => text.trim() !== "" && Number.isFinite(Number(text)) && Number(text) >= 0

/** The models with a price. Empty if the provider lists all prices itself. */
export const pricesOf = (models: ReadonlyArray<Model>, prices: Prices) => {
  const typed = models.flatMap(({ upstream }) => {
    const { completion, prompt } = prices.get(upstream) ?? { completion: "", prompt: "" }
    return isUsd(prompt) && isUsd(completion)
      ? [{ upstream, pricing: { prompt: Number(prompt), completion: Number(completion) } }]
      : []
  })
  const listed = models.flatMap(({ pricing, upstream }) => (pricing === null ? [] : [{ upstream }]))
  return typed.length === 0 ? [] : [...listed, ...typed]
}

interface FoundProps {
  readonly of: ReadonlyArray<Model>
  /** Prices can be typed. */
  readonly isOpen: boolean
  readonly prices: Prices
  readonly onPrices: (prices: Prices) => void
}

export const FoundModels = ({ isOpen, of, onPrices, prices }: FoundProps) => {
  const field = ({ pricing, upstream }: Model, kind: "prompt" | "completion") => {
    if (pricing !== null) return `$${pricing[kind]}`
    if (!isOpen) return NONE
    const typed = prices.get(upstream) ?? { prompt: "", completion: "" }
    return (
      <input
        size={6}
        inputMode="decimal"
        aria-label={`USD per million tokens of the ${kind}, ${upstream}`}
        value={typed[kind]}
        onInput={(event) => onPrices(new Map(prices).set(upstream, { ...typed, [kind]: event.currentTarget.value }))}
      />
    )
  }
  return (
    <>
      <p class="hint">
        {count(of.length)} models, in USD per million tokens.
        {of.some(({ pricing }) => pricing === null) ? " A model without prices is not added." : ""}
      </p>
      <Table
        caption="Models"
        rows={of.slice(0, MOST_SHOWN)}
        keyOf={({ upstream }) => upstream}
        columns={[
          { head: "Model", cell: ({ id }) => <code>{id}</code> },
          { head: "Prompt", numeric: true, cell: (model) => field(model, "prompt") },
          { head: "Completion", numeric: true, cell: (model) => field(model, "completion") },
          { head: "Listed", cell: ({ listed }) => (listed === null ? NONE : listed ? "yes" : "no") }
        ]}
      />
    </>
  )
}
