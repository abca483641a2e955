/**
 * Lists of models as vendors answer them: OpenAI's and Anthropic's `data`, Gemini's `models`, and a
 * bare array. Vendors name lengths and prices differently; what is missing or strange is null.
 */
import { Predicate } from "effect"
import { parseJson } from "../../domain/json/Json.ts"

export interface ListedModel {
  readonly upstream: string
  readonly contextLength: number | null
  readonly maxCompletionTokens: number | null
  readonly embeddings: boolean
  /** USD per million tokens. */
  readonly pricing: {
    readonly prompt: number
    readonly completion: number
    readonly cachedPrompt: number | null
  } | null
}

const MOST_MODELS = 1_000
const LONGEST_NAME = 200

/** The models of a reply's text; null: it is no list of models. */
export const readModels = (text: string): ReadonlyArray<ListedModel> | null => {
  const body = parseJson(text)
  const list = Array.isArray(body) ? body : (listIn(body, "data") ?? listIn(body, "models"))
  if (list === null) return null
  const models = new Map<string, ListedModel>()
  for (const entry of list.slice(0, MOST_MODELS)) {
    const model = modelOf(entry)
    if (model !== null) models.set(model.upstream, model)
  }
  return [...models.values()]
}

const listIn = (body: unknown, name: string): ReadonlyArray<unknown> | null =>
  Predicate.hasProperty(body, name) && Array.isArray(body[name]) ? body[name] : null

const modelOf = (entry: unknown): ListedModel | null => {
  if (!Predicate.isObject(entry)) return null
  const members = new Map<string, unknown>(Object.entries(entry))
  const named = members.get("id") ?? members.get("name")
  if (typeof named !== "string") return null
  const upstream = named.replace(/^models\//, "")
  if (!/^[\w.:@+/-]+$/.test(upstream) || upstream.length > LONGEST_NAME) return null
  return {
    upstream,
    contextLength: firstCount(members, ["context_length", "context_window", "max_model_len", "inputTokenLimit"]),
    maxCompletionTokens: firstCount(members, ["max_completion_tokens", "outputTokenLimit"]),
    embeddings: /embed/i.test(upstream) || members.get("type") === "embedding",
    pricing: pricingOf(members.get("pricing"))
  }
}

const firstCount = (members: ReadonlyMap<string, unknown>, names: ReadonlyArray<string>): number | null => {
  for (const name of names) {
    const value = members.get(name)
    if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= 100_000_000) return value
  }
  return null
}

/** `prompt` and `completion`: texts in USD per token. `input` and `output`: numbers per million. */
const pricingOf = (pricing: unknown): ListedModel["pricing"] => {
  if (!Predicate.isObject(pricing)) return null
  const members = new Map<string, unknown>(Object.entries(pricing))
  const perToken = (name: string) => priceOf(members.get(name), 1_000_000)
  const perMillion = (name: string) => priceOf(members.get(name), 1)
  const prompt = perToken("prompt") ?? perMillion("input")
  const completion = perToken("completion") ?? perMillion("output")
  if (prompt === null || completion === null) return null
  return { prompt, completion, cachedPrompt: perToken("input_cache_read") ?? perMillion("cached_input") }
}

const priceOf = (value: unknown, factor: number): number | null => {
  if (factor === 1 ? typeof value !== "number" : typeof value !== "string" || !/^[\d.]+(?:e-?\d+)?$/i.test(value)) {
    return null
  }
  const usd = Math.round(Number(value) * factor * 1e6) / 1e6
  return Number.isFinite(usd) && usd >= 0 && usd <= 1_000_000 ? usd : null
}
