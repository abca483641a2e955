/**
 * Refines this vendor's errors beyond status and type: an account without credit is reported as a
 * fault of the request, and the message starts with the faulty member of the request.
 */
import { CredentialsRefused, type ProviderReason, Rejected } from "../Provider.ts"

const accountMessages = /credit balance is too low|reached your specified .*usage limits|spend limit/i

/** Members of the Messages API, with the client's members that they come from. */
const members: Readonly<Record<string, string>> = {
  model: "model",
  messages: "messages",
  system: "messages",
  max_tokens: "max_tokens",
  temperature: "temperature",
  top_p: "top_p",
  stop_sequences: "stop",
  tools: "tools",
  tool_choice: "tool_choice",
  thinking: "reasoning_effort",
  metadata: "user",
  output_config: "response_format",
  service_tier: "service_tier"
}

export const refineReason = (reason: ProviderReason): ProviderReason => {
  if (reason._tag !== "Rejected") return reason
  const { code, contextLength, message, own, status } = reason
  if (accountMessages.test(message)) return new CredentialsRefused({ status })
  const [, member = ""] = /^([a-z_]+)(?:\.[\w.-]+)?: /.exec(message) ?? []
  return new Rejected({
    status,
    message,
    param: reason.param ?? members[member] ?? null,
    code,
    contextLength,
    ...(own === undefined ? {} : { own })
  })
}
