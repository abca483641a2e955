/**
 * The parameters of the playground as fields, and as members of a request's body. Faults that the
 * gateway finds in the members go back to their fields.
 */
import { type Fault } from "./thread.ts"

export interface Parameters {
  readonly system: string
  readonly temperature: string
  readonly maxTokens: string
  readonly topP: string
  readonly seed: string
  readonly effort: string
  /** One text a line. */
  readonly stop: string
  readonly format: string
  readonly stream: boolean
  readonly fresh: boolean
  readonly sort: string
  readonly order: string
  readonly only: string
  readonly ignore: string
  readonly allowFallbacks: boolean
  readonly denyCollection: boolean
  readonly maxPromptPrice: string
  readonly maxCompletionPrice: string
  /** Further members, as JSON. */
  readonly more: string
}

export const emptyParameters: Parameters = {
  system: "",
  temperature: "",
  maxTokens: "",
  topP: "",
  seed: "",
  effort: "",
  stop: "",
  format: "",
  stream: true,
  fresh: false,
  sort: "",
  order: "",
  only: "",
  ignore: "",
  allowFallbacks: true,
  denyCollection: false,
  maxPromptPrice: "",
  maxCompletionPrice: "",
  more: ""
}

export type Members = Readonly<Record<string, unknown>>

const words = (text: string): ReadonlyArray<string> => text.split(/[\s,]+/).filter((word) => word !== "")
const lines = (text: string): ReadonlyArray<string> => text.split("\n").filter((line) => line !== "")
const number = (name: string, text: string): Members => (text.trim() === "" ? {} : { [name]: Number(text) })
const list = (name: string, values: ReadonlyArray<string>): Members => (values.length === 0 ? {} : { [name]: values })

const preferences = (of: Parameters): Members => {
  const price = { ...number("prompt", of.maxPromptPrice), ...number("completion", of.maxCompletionPrice) }
  return {
    ...(of.sort === "" ? {} : { sort: of.sort }),
    ...list("order", words(of.order)),
    ...list("only", words(of.only)),
    ...list("ignore", words(of.ignore)),
    ...(of.allowFallbacks ? {} : { allow_fallbacks: false }),
    ...(of.denyCollection ? { data_collection: "deny" } : {}),
    ...(Object.keys(price).length === 0 ? {} : { max_price: price })
  }
}

/** The further members, or what is wrong with their text. */
export const readMore = (text: string): Members | string => {
  if (text.trim() === "") return {}
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== "object" || value === null || Array.isArray(value)) return 'Write an object: {"user": "me"}.'
    const own = ["model", "messages"].find((name) => name in value)
    return own === undefined ? (value as Members) : `The page sets "${own}" itself: remove it here.`
  } catch (thrown) {
    return `This is not JSON: ${thrown instanceof Error ? thrown.message : String(thrown)}.`
  }
}

/** The request's body. Members written as JSON replace those of the fields. */
export const bodyOf = (of: Parameters, model: string, messages: ReadonlyArray<Members>): Members => {
  const provider = preferences(of)
  const more = readMore(of.more)
  return {
    model,
    messages: [...(of.system.trim() === "" ? [] : [{ role: "system", content: of.system }]), ...messages],
    ...number("temperature", of.temperature),
    ...number("max_tokens", of.maxTokens),
    ...number("top_p", of.topP),
    ...number("seed", of.seed),
    ...(of.effort === "" ? {} : { reasoning_effort: of.effort }),
    ...list("stop", lines(of.stop)),
    ...(of.format === "" ? {} : { response_format: { type: of.format } }),
    ...(of.stream ? { stream: true } : {}),
    ...(Object.keys(provider).length === 0 ? {} : { provider }),
    ...(typeof more === "string" ? {} : more)
  }
}

const fields: Readonly<Record<string, keyof Parameters>> = {
  temperature: "temperature",
  max_tokens: "maxTokens",
  top_p: "topP",
  seed: "seed",
  reasoning_effort: "effort",
  stop: "stop",
  response_format: "format",
  "provider.sort": "sort",
  "provider.order": "order",
  "provider.only": "only",
  "provider.ignore": "ignore",
  "provider.max_price.prompt": "maxPromptPrice",
  "provider.max_price.completion": "maxCompletionPrice"
}

const fieldOf = (path: string): keyof Parameters | undefined => {
  const member = Object.keys(fields).find((known) => path === known || path.startsWith(`${known}.`))
  return member === undefined ? undefined : fields[member]
}

/** Members without a field come from the JSON. */
export const hasField = (path: string): boolean => path !== "" && !/^(?:model|messages)\b/.test(path)

export type FieldFaults = Partial<Record<keyof Parameters, string>>

/** The faults by field. A fault of the model or of the messages has none. */
export const fieldFaultsOf = ({ detail }: Fault, { more }: Parameters): FieldFaults => {
  const members = readMore(more)
  const found: FieldFaults = {}
  const add = (path: string, message: string): void => {
    if (!hasField(path)) return
    const isMore = typeof members !== "string" && (path.split(".")[0] ?? "") in members
    const field = isMore ? "more" : (fieldOf(path) ?? "more")
    found[field] ??= field === "more" ? `${path}: ${message}` : message
  }
  for (const { loc, msg } of detail) add(loc.slice(1).join("."), msg)
  return found
}
