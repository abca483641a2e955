/**
 * The wire errors for requests that no provider answered. Each names the cause of every failed
 * attempt. A part of the table in http/errors/WireErrors.
 */
import {
  type ProviderLacksModel,
  type ProviderRateLimited,
  type ProvidersFailed,
  type ProvidersTimedOut,
  type ProviderUnavailable
} from "../../domain/Errors.ts"
import { type Attempt } from "../../domain/Generation.ts"
import { type Wire } from "./WireErrors.ts"

/** Most causes in a message. `details.attempts` lists all of them. */
const MAX_CAUSES = 4

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

/** Why one attempt failed, including the provider's name. */
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
      return `the client's deadline passed during the call to ${provider}`
    case "malformed":
    case "too_large":
      return `${provider} sent an unreadable response`
    case "stream_cut":
      return `${provider} cut its response off`
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

/**
 * ": openai refused our key; beta did not answer in time", or empty when no provider was called.
 */
export const causes = (attempts: ReadonlyArray<Attempt>): string => {
  const times = new Map<string, number>()
  for (const attempt of attempts) {
    if (attempt.status !== "ok") times.set(causeOf(attempt), (times.get(causeOf(attempt)) ?? 0) + 1)
  }
  const reasons = [...times]
    .slice(0, MAX_CAUSES)
    .map(([cause, count]) => (count === 1 ? cause : `${cause} (${count} times)`))
  return reasons.length === 0 ? "" : `: ${reasons.join("; ")}`
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
        details
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
        headers: { "x-should-retry": "true" }
      }
    }
    case "ProviderLacksModel":
      return {
        status: 404,
        type: "model_not_found",
        code: "model_not_found",
        message: `The model '${reason.model}' is not available${causes(reason.attempts)}.`,
        param: "model",
        retryable: false,
        details
      }
  }
}

const isRefusal = ({ errorType }: Attempt): boolean => errorType === "credentials_refused"
