/**
 * A dialect's support for each member of a chat request, as data. docs/reference/dialects.md shows
 * it, and a test checks the code against it. Members that a provider does not get are named to the
 * client.
 */
import { type ChatRequest } from "../../domain/Chat.ts"
import { toldNames } from "../../domain/json/MemberNames.ts"

/**
 * `mapped`: sent in the provider's own terms. `handled`: not sent, but the gateway does what it
 * asks for. `dropped`: left out, because the answer is as good without it. `refused`: the provider
 * cannot do it, and a value that asks for it fails with `Unsupported`.
 */
export type ParameterSupport = "mapped" | "handled" | "dropped" | "refused"

export type ParameterName = keyof (typeof ChatRequest)["schema"]["fields"]

export type Parameters = Readonly<Record<ParameterName, ParameterSupport>>

/** The values that ask for nothing, because they are the default. */
const defaults: Readonly<Record<string, unknown>> = {
  n: 1,
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  logprobs: false,
  top_logprobs: 0,
  parallel_tool_calls: true,
  store: false,
  service_tier: "auto",
  verbosity: "medium"
}

/** True if a member has a value that is not its default. */
export const asksFor = (request: Readonly<Record<string, unknown>>, name: string): boolean => {
  const value = Object.hasOwn(request, name) ? request[name] : undefined
  if (value === undefined || value === null || value === "") return false
  if (typeof value === "object") return Object.keys(value).length > 0
  return !Object.hasOwn(defaults, name) || defaults[name] !== value
}

/** Members of which the gateway does what they ask for, whatever the dialect. */
const handled = new Set(["include_reasoning"])

/**
 * The members of `request` that ask for something and that the provider does not get: those that
 * `parameters` drops or does not know, and `more`, which the dialect left out for this model.
 * `known`: members that the dialect sends and the table does not name.
 */
export const leftOut = (
  request: ChatRequest,
  parameters: Parameters,
  more: ReadonlyArray<string>,
  known: ReadonlyArray<string> = []
): ReadonlyArray<string> => {
  const names = [...more]
  for (const name of Object.keys(request)) {
    if (supportOf(parameters, name) !== "dropped" || handled.has(name) || known.includes(name)) continue
    if (asksFor(request, name)) names.push(name)
  }
  return names.length === 0 ? names : toldNames(names)
}

const supportOf = (parameters: Readonly<Record<string, ParameterSupport>>, name: string): ParameterSupport =>
  (Object.hasOwn(parameters, name) ? parameters[name] : undefined) ?? "dropped"
