/** The usage of a chat completion in the words of the Messages API. */
import { type MessagesUsage } from "../../api/Messages.ts"
import { type Members, type UsageInfo } from "../../domain/Chat.ts"

/** `input_tokens` leaves out the tokens that were read from or written to the provider's cache. */
export const messagesUsage = ({
  completion_tokens,
  completion_tokens_details: { reasoning_tokens },
  cost,
  prompt_tokens,
  prompt_tokens_details: { cache_write_tokens, cached_tokens }
}: UsageInfo): MessagesUsage => ({
  input_tokens: Math.max(0, prompt_tokens - cached_tokens - cache_write_tokens),
  cache_creation_input_tokens: cache_write_tokens,
  cache_read_input_tokens: cached_tokens,
  output_tokens: completion_tokens,
  output_tokens_details: { thinking_tokens: reasoning_tokens },
  ...(cost === undefined ? {} : { cost })
})

/** The vendor's own usage, with the counts that are billed. */
export const nativeUsage = (own: Members, usage: UsageInfo): MessagesUsage => {
  const { output_tokens_details: details, ...counts } = messagesUsage(usage)
  return { output_tokens_details: details, ...own, ...counts }
}

/**
 * Before the provider tells its usage. Some clients read the prompt's tokens here and nowhere else.
 */
export const firstUsage = (promptTokens: number): MessagesUsage => ({
  input_tokens: promptTokens,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 0
})

/**
 * The stop reason, by what was sent and the provider's finish reason: a call that was sent is to be
 * answered.
 */
export const stopReason = (finishReason: string | null, hasCalls: boolean, isRefused: boolean): string => {
  if (finishReason === "length") return "max_tokens"
  if (finishReason === "content_filter" || (isRefused && !hasCalls)) return "refusal"
  return hasCalls ? "tool_use" : "end_turn"
}

/** Some servers of this API end the turn beside calls, which a client would not answer then. */
export const withStopReason = (members: Members, hasCalls: boolean): Members =>
  hasCalls && members["stop_reason"] === "end_turn" ? { ...members, stop_reason: "tool_use" } : members
