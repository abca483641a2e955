/** The models that a key may chat with, and their prices. */
import { type ModelEntry } from "../../api/Models.ts"
import { call } from "../client.ts"
import { usd } from "../format.ts"
import { type Loading, useLoad } from "../useLoad.ts"

export type Model = typeof ModelEntry.Type

export const MOST_MODELS = 3

const perMillion = (price: string): number => Number(price) * 1_000_000

/** Of a prompt and an answer of one length. Unknown prices come last. */
const costOf = ({ pricing }: Model): number => {
  const cost = Number(pricing.prompt) + Number(pricing.completion)
  return cost >= 0 ? cost : Number.POSITIVE_INFINITY
}

const isDown = ({ providers }: Model): boolean => providers.every(({ status }) => status === "down")

/** Cheapest first; those that no provider serves at the moment after the others. */
const byCost = (a: Model, b: Model): number => Number(isDown(a)) - Number(isDown(b)) || costOf(a) - costOf(b)

export const useModels = (key: string | undefined): Loading<ReadonlyArray<Model>> =>
  useLoad(`models ${key ?? ""}`, async (signal) => {
    if (key === undefined) return []
    const { data } = await call<{ readonly data: ReadonlyArray<Model> }>("/v1/models", { key, signal })
    return data.filter(({ architecture }) => architecture.output_modalities.includes("text")).toSorted(byCost)
  })

/** `acme/small · $0.15 / $0.60`: USD per million tokens of the prompt and of the answer. */
export const labelOf = (model: Model): string => {
  const [prompt, answer] = [perMillion(model.pricing.prompt), perMillion(model.pricing.completion)]
  const price = prompt === 0 && answer === 0 ? "free" : `${usd(prompt)} / ${usd(answer)}`
  return `${model.id} · ${price}${isDown(model) ? " · down" : ""}`
}

/** The models that are asked: those chosen that the key may use, or the cheapest one. */
export const askedOf = (chosen: ReadonlyArray<string>, models: ReadonlyArray<Model>): ReadonlyArray<string> => {
  const known = chosen.filter((id) => models.some((model) => model.id === id))
  const [cheapest] = models
  return known.length > 0 || cheapest === undefined ? known : [cheapest.id]
}

/** The models whose catalogue entry does not list pictures. */
export const withoutPictures = (asked: ReadonlyArray<string>, models: ReadonlyArray<Model>): ReadonlyArray<string> =>
  asked.filter(
    (id) => models.find((model) => model.id === id)?.architecture.input_modalities.includes("image") !== true
  )
