/**
 * The parameters of a request that its receipt shows: numbers, switches and words, never a text of
 * the conversation.
 */
import { Predicate } from "effect"

export type Parameters = Readonly<Record<string, string | number | boolean>>

const shown = [
  "max_tokens",
  "max_completion_tokens",
  "temperature",
  "top_p",
  "top_k",
  "min_p",
  "n",
  "seed",
  "presence_penalty",
  "frequency_penalty",
  "repetition_penalty",
  "logprobs",
  "top_logprobs",
  "parallel_tool_calls",
  "reasoning_effort",
  "verbosity",
  "service_tier",
  "dimensions",
  "encoding_format"
]
/** Members of members, as `provider.sort`. */
const inner = {
  provider: ["sort", "allow_fallbacks", "data_collection"],
  reasoning: ["effort", "max_tokens", "exclude"],
  thinking: ["type", "budget_tokens"],
  response_format: ["type"]
}
/** Lists, of which the receipt shows the length. */
const counted = ["messages", "tools", "models"]

/** How a member of a request is shown. */
type Form = "value" | "length" | ReadonlyArray<{ readonly member: string; readonly shownAs: string }>

const forms: ReadonlyMap<string, Form> = new Map<string, Form>([
  ...shown.map((name) => [name, "value"] as const),
  ...counted.map((name) => [name, "length"] as const),
  ...Object.entries(inner).map(
    ([name, members]) => [name, members.map((member) => ({ member, shownAs: `${name}.${member}` }))] as const
  )
])

/** A word of an option, which no prompt fits in. */
const word = /^[a-z][a-z_]{0,23}$/

const isShown = (value: unknown): value is string | number | boolean =>
  typeof value === "boolean" ||
  (typeof value === "number" && Number.isFinite(value)) ||
  (typeof value === "string" && word.test(value))

export const parametersOf = (request: object): Parameters => {
  const found: Record<string, string | number | boolean> = {}
  for (const name in request) {
    const form = forms.get(name)
    if (form === undefined) continue
    const value: unknown = Reflect.get(request, name)
    if (form === "value") {
      if (isShown(value)) found[name] = value
    } else if (form === "length") {
      if (Array.isArray(value)) found[name] = value.length
    } else if (Predicate.isObject(value)) {
      for (const { member, shownAs } of form) if (isShown(value[member])) found[shownAs] = value[member]
    }
  }
  return found
}
