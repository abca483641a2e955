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
const inner: Readonly<Record<string, ReadonlyArray<string>>> = {
  provider: ["sort", "allow_fallbacks", "data_collection"],
  reasoning: ["effort", "max_tokens", "exclude"],
  thinking: ["type", "budget_tokens"],
  response_format: ["type"]
}
/** Lists, of which the receipt shows the length. */
const counted = ["messages", "tools", "models"]

/** A word of an option, which no prompt fits in. */
const word = /^[a-z][a-z_]{0,23}$/

export const parametersOf = (request: object): Parameters => {
  const found: Record<string, string | number | boolean> = {}
  const add = (name: string, value: unknown): void => {
    if (typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value))) found[name] = value
    else if (typeof value === "string" && word.test(value)) found[name] = value
  }
  const member = (of: unknown, name: string): unknown => (Predicate.hasProperty(of, name) ? of[name] : undefined)
  for (const name of shown) add(name, member(request, name))
  for (const [name, members] of Object.entries(inner)) {
    for (const one of members) add(`${name}.${one}`, member(member(request, name), one))
  }
  for (const name of counted) {
    const list = member(request, name)
    if (Array.isArray(list)) found[name] = list.length
  }
  return found
}
