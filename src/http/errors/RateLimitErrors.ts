/**
 * The wire error of a rate limit: a limit that is used up, or a prompt that is larger than a whole
 * minute's limit.
 */
import { type RateLimited } from "../../domain/Errors.ts"
import { type Wire } from "./WireErrors.ts"

export const rateLimitedWire = ({ allowed, holder, limit, needed, retryAfterMs }: RateLimited): Wire => {
  const what = { requests: "requests per minute", tokens: "tokens per minute", concurrency: "requests at once" }[limit]
  const whose = holder === "owner" ? " for all keys of this key's owner together" : ""
  const wire = { status: 429, type: "rate_limit_exceeded" as const, code: `${limit}_limit_exceeded` }
  if (needed !== null) {
    return {
      ...wire,
      message: `The prompt has ${needed} tokens or more, and the limit is ${allowed} ${what}${whose}. Shorten the prompt: waiting does not help.`,
      retryable: false,
      details: { limit, allowed, holder, needed }
    }
  }
  return {
    ...wire,
    message: `The limit of ${allowed} ${what}${whose} is reached. Retry after the time in Retry-After.`,
    retryable: true,
    retryAfterMs,
    details: { limit, allowed, holder }
  }
}
