/** The usage of a chat completion in the words of the Responses API. */
import { type ResponseUsage } from "../../api/Responses.ts"
import { type UsageInfo } from "../../domain/Chat.ts"

/** All members are always there: Codex cannot read a usage that lacks one. */
export const responseUsage = ({
  completion_tokens,
  completion_tokens_details: { reasoning_tokens },
  cost,
  prompt_tokens,
  prompt_tokens_details: { cache_write_tokens, cached_tokens }
}: UsageInfo): ResponseUsage => ({
  input_tokens: prompt_tokens,
  input_tokens_details: { cached_tokens, cache_write_tokens },
  output_tokens: completion_tokens,
  output_tokens_details: { reasoning_tokens },
  total_tokens: prompt_tokens + completion_tokens,
  ...(cost === undefined ? {} : { cost })
})
