/**
 * Refines the vendor's errors. The member that an error blames by its name in the Responses API,
 * such as `input[2].content`, becomes that of the client's request. Encrypted reasoning that
 * another account made is no fault of the request: the next provider may be the one that can read
 * it.
 */
import { type ProviderReason, Rejected, Unsupported } from "../Provider.ts"

const members: Readonly<Record<string, string>> = {
  input: "messages",
  instructions: "messages",
  max_output_tokens: "max_tokens",
  reasoning: "reasoning_effort",
  text: "response_format",
  "text.verbosity": "verbosity"
}

export const refineReason = (reason: ProviderReason): ProviderReason => {
  if (reason._tag !== "Rejected") return reason
  const { code, contextLength, message, own, param, status } = reason
  if (code === "invalid_encrypted_content") {
    return new Unsupported({
      param: "messages",
      message: "the encrypted reasoning in reasoning_details is of another account: leave it out"
    })
  }
  const member = param === null ? undefined : (members[param] ?? members[/^\w+/.exec(param)?.[0] ?? ""])
  return member === undefined
    ? reason
    : new Rejected({ status, message, param: member, code, contextLength, ...(own === undefined ? {} : { own }) })
}
