/**
 * Names the member of the client's request that the vendor's error blames by the name in the
 * Responses API, such as `input[2].content`.
 */
import { type ProviderReason, Rejected } from "../Provider.ts"

const members: Readonly<Record<string, string>> = {
  input: "messages",
  instructions: "messages",
  max_output_tokens: "max_tokens",
  reasoning: "reasoning_effort",
  text: "response_format",
  "text.verbosity": "verbosity"
}

export const refineReason = (reason: ProviderReason): ProviderReason => {
  if (reason._tag !== "Rejected" || reason.param === null) return reason
  const { code, contextLength, message, param, status } = reason
  const member = members[param] ?? members[/^\w+/.exec(param)?.[0] ?? ""]
  return member === undefined ? reason : new Rejected({ status, message, param: member, code, contextLength })
}
