/**
 * Errors of the Responses API. Its envelope is that of all endpoints. A few statuses and codes
 * differ, because its clients act by them: an exhausted budget is a 429 without a retry, as at
 * OpenAI, and an invalid request is always a 400. An error inside a stream is the `error` of a
 * response.
 */
import { type ResponseFault } from "../../api/Responses.ts"
import { type Reason } from "../../domain/Errors.ts"
import { type Wire } from "./WireErrors.ts"

export const QUOTA = "insufficient_quota"

/** The vendor's own refusal of the request, on whose words its clients act. */
const inOwnWords = (reason: Reason | null, wire: Wire): Wire => {
  if (reason === null || !("own" in reason) || reason.own === undefined) return wire
  const { error, status } = reason.own
  const { code, message, param } = error
  return {
    ...wire,
    status,
    ...(typeof code === "string" ? { code } : {}),
    ...(typeof message === "string" ? { message } : {}),
    ...(typeof param === "string" ? { param } : {})
  }
}

/** The error as this API tells it. */
export const responsesWire = (reason: Reason | null, told: Wire): Wire => {
  const wire = inOwnWords(reason, told)
  if (reason?._tag === "BudgetExceeded") return withOwnCode({ ...wire, status: 429 }, QUOTA)
  if (wire.status !== 422) return wire
  const { detail: _, ...rest } = wire
  return { ...rest, status: 400 }
}

/** With another code. `details` has the code of other endpoints. */
const withOwnCode = (wire: Wire, code: string) => ({
  ...wire,
  code,
  details: { ...wire.details, error_code: wire.code }
})

/** The error inside a stream. `reason`: null for a defect. */
export const responseFault = (reason: Reason | null, told: Wire): ResponseFault => {
  const wire = inOwnWords(reason, told)
  const { code, details, message, param = null, type } = withOwnCode(wire, codeOf(reason, wire))
  return { code, message: message + again(reason, wire), type, param, details }
}

const codeOf = (reason: Reason | null, { retryable }: Wire): string => {
  switch (reason?._tag) {
    case "BudgetExceeded":
      return QUOTA
    case "ContextLengthExceeded":
      return "context_length_exceeded"
    case "RateLimited":
    case "ProviderRateLimited":
      return retryable ? "rate_limit_exceeded" : INVALID
    default:
      return retryable ? "server_error" : INVALID
  }
}

/** A client that reads this code does not ask again. */
const INVALID = "invalid_prompt"

/** Codex waits for the time that it finds by these words. */
const again = (reason: Reason | null, { retryAfterMs = null }: Wire): string =>
  retryAfterMs !== null && (reason?._tag === "RateLimited" || reason?._tag === "ProviderRateLimited")
    ? ` Please try again in ${Math.max(1, Math.ceil(retryAfterMs / 1_000))}s.`
    : ""

/**
 * Whether a streamed request gets this error in its stream, although nothing was sent yet. Clients
 * shorten a conversation that is too long only then. `waits`: the client waits for a rate limit
 * only then.
 */
export const isToldInStream = (reason: Reason, waits: boolean): boolean => {
  switch (reason._tag) {
    case "ContextLengthExceeded":
      return true
    case "RateLimited":
      return waits && reason.retryAfterMs !== null
    case "ProviderRateLimited":
      return waits
    default:
      return false
  }
}
