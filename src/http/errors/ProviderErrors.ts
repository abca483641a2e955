/** What a client is told when no provider answered: each names the cause, attempt by attempt. The rows of http/errors/WireErrors about providers. */
import {
  type ProviderLacksModel,
  type ProviderRateLimited,
  type ProvidersFailed,
  type ProvidersTimedOut,
  type ProviderUnavailable
} from "../../domain/Errors.ts"
import { type Attempt } from "../../domain/Generation.ts"
import { type Wire } from "./WireErrors.ts"

/** More causes than these are not told; `details.attempts` has them all. */
const MOST_CAUSES = 4
/** A client is told to wait for a provider by itself up to this time, in milliseconds. */
const LONGEST_WAIT_MS = 60_000

const attemptDetails = (attempts: ReadonlyArray<Attempt>) => ({
  attempts: attempts.map(({ errorType, httpStatus, latencyMs, model, provider, status }) => ({
    provider,
    model,
    status,
    error_type: errorType,
    http_status: httpStatus,
    latency_ms: latencyMs
  }))
})

const seconds = (ms: number): string => {
  const count = Math.ceil(ms / 1_000)
  return count === 1 ? "a second" : `${count} seconds`
}

/** Why one attempt gave no answer, beginning with the provider's name. */
const causeOf = ({ errorType, httpStatus, model, provider }: Attempt): string => {
  switch (errorType) {
    case "credentials_refused":
      return httpStatus === 402 ? `${provider} says that our account cannot pay` : `${provider} refused our key`
    case "rate_limited":
      return `${provider} is rate limited`
    case "unreachable":
      return `${provider} cannot be reached`
    case "timeout":
      return `${provider} did not answer in time`
    case "client_timeout":
      return `the client's deadline passed while ${provider} was at work`
    case "malformed":
    case "too_large":
      return `${provider} answered what cannot be read`
    case "stream_cut":
      return `${provider} broke off`
    case "circuit_open":
      return `${provider} was not called because it keeps failing`
    case "rejected":
      return httpStatus === 404
        ? `${provider} does not know the model '${model}'`
        : `${provider} refused the request with status ${httpStatus}`
    default:
      return httpStatus === null ? `${provider} failed` : `${provider} answered ${httpStatus}`
  }
}

/** ": openai refused our key; beta did not answer in time", or nothing where nobody was asked. */
const causes = (attempts: ReadonlyArray<Attempt>): string => {
  const told = [...new Set(attempts.filter(({ status }) => status !== "ok").map(causeOf))].slice(0, MOST_CAUSES)
  return told.length === 0 ? "" : `: ${told.join("; ")}`
}

export const providerWireOf = (
  reason: ProvidersFailed | ProvidersTimedOut | ProviderUnavailable | ProviderRateLimited | ProviderLacksModel
): Wire => {
  const details = attemptDetails(reason.attempts)
  switch (reason._tag) {
    case "ProvidersFailed": {
      const isRefused = reason.attempts.length > 0 && reason.attempts.every(isRefusal)
      return {
        status: 502,
        type: "provider_error",
        code: "provider_error",
        message: `No provider answered${causes(reason.attempts)}.`,
        retryable: !isRefused,
        retryAfterMs: reason.retryAfterMs,
        details,
        ...(isRefused ? { headers: { "x-should-retry": "false" } } : {})
      }
    }
    case "ProvidersTimedOut":
      return {
        status: 504,
        type: "provider_timeout",
        code: "provider_timeout",
        message: `No provider answered in time${causes(reason.attempts)}.`,
        retryable: true,
        details
      }
    case "ProviderUnavailable":
      return {
        status: 503,
        type: "provider_unavailable",
        code: "provider_unavailable",
        message: `No provider that this request allows is available now${causes(reason.attempts)}.`,
        retryable: true,
        retryAfterMs: reason.retryAfterMs,
        details
      }
    case "ProviderRateLimited": {
      const { retryAfterMs } = reason
      const wait = retryAfterMs === null ? "" : ` and asks for ${seconds(retryAfterMs)}`
      return {
        status: 429,
        type: "provider_rate_limited",
        code: "provider_rate_limited",
        message: `${reason.provider} is rate limited${wait}. This is the provider's limit, not that of your key.`,
        retryable: true,
        retryAfterMs,
        details,
        headers: { "x-should-retry": String(retryAfterMs === null || retryAfterMs <= LONGEST_WAIT_MS) }
      }
    }
    case "ProviderLacksModel":
      return {
        status: 404,
        type: "model_not_found",
        code: "model_not_found",
        message: `The model '${reason.model}' is not to be had${causes(reason.attempts)}.`,
        param: "model",
        retryable: false,
        details
      }
  }
}

const isRefusal = ({ errorType }: Attempt): boolean => errorType === "credentials_refused"
