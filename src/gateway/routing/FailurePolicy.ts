/**
 * Judges failures of providers: whether to retry, whether the request is at fault, what the receipt
 * says of an attempt, and which error the client gets when no candidate is left. Pure.
 */
import { type Cause } from "effect"
import { type Candidate } from "../../domain/Catalog.ts"
import {
  ContextLengthExceeded,
  gatewayError,
  type GatewayError,
  InvalidRequest,
  ProviderLacksModel,
  ProviderRateLimited,
  ProvidersFailed,
  ProvidersTimedOut,
  ProviderUnavailable
} from "../../domain/Errors.ts"
import { type Attempt } from "../../domain/Generation.ts"
import { ProviderError } from "../../providers/Provider.ts"
import { CircuitOpenError } from "../health/CircuitOpenError.ts"
import { errorTypeOf } from "../health/FailureType.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"

/** Why a call did not answer. */
export type Failure = ProviderError | CircuitOpenError

/**
 * The longest Retry-After that is honoured at the last candidate, unless the client set a deadline.
 */
const LONGEST_PAUSE_MS = 10_000

/** The longest pause before a retry, in milliseconds. */
export const longestPause = ({ deadline, startedAtMs }: RequestPlan<unknown>, nowMs: number): number => {
  if (deadline === null) return LONGEST_PAUSE_MS
  const leftMs = startedAtMs + deadline.ms - nowMs
  return deadline.explicit ? leftMs : Math.min(LONGEST_PAUSE_MS, leftMs)
}

/** The pause before a retry, at most `longestMs`; null: a retry would not help. */
export const retryPause = (failure: Failure, tries: number, longestMs: number): number | null => {
  const pauseMs = wantedPause(failure, tries)
  return pauseMs !== null && pauseMs <= longestMs ? pauseMs : null
}

const wantedPause = (failure: Failure, tries: number): number | null => {
  if (failure instanceof CircuitOpenError) return null
  switch (failure.reason._tag) {
    case "Throttled":
    case "ServerFault":
      return failure.reason.retryAfterMs ?? 250 * 2 ** tries
    case "Unreachable":
    case "Malformed":
    case "Cut":
      return 250 * 2 ** tries
    case "TimedOut":
    case "TooLarge":
    case "CredentialsRefused":
    case "Rejected":
    case "Unsupported":
      return null
  }
}

/** The failure as an error of the client, if it is one. */
export const requestFault = (failure: Failure, plan: RequestPlan<unknown>): GatewayError | null => {
  if (failure instanceof CircuitOpenError || !failure.isRequestsFault) return null
  if (failure.reason._tag !== "Rejected") return null
  const { code, contextLength, message, own, param } = failure.reason
  const told = own === undefined ? {} : { own }
  return gatewayError(
    contextLength
      ? new ContextLengthExceeded({
          promptTokens: plan.prompt.likely,
          contextLength: 0,
          param: plan.kind === "embeddings" ? "input" : "messages",
          message,
          ...told
        })
      : new InvalidRequest({ message, param, code, provider: failure.provider, ...told })
  )
}

const HTTP_NOT_FOUND = 404

/** The error when no candidate is left. A cause that all attempts share is named. */
export const exhaustedError = (
  model: string,
  attempts: ReadonlyArray<Attempt>,
  sole: boolean,
  last: Failure | null
): GatewayError => {
  const retryAfterMs = last?.retryAfterMs ?? null
  if (last instanceof ProviderError && last.reason._tag === "Unsupported") {
    return gatewayError(
      new InvalidRequest({
        message: last.reason.message,
        param: last.reason.param,
        code: "unsupported_parameter",
        provider: last.provider
      })
    )
  }
  const called = attempts.filter((attempt) => attempt.status !== "skipped")
  if (called.length > 0 && called.every((attempt) => attempt.status === "timeout"))
    return gatewayError(new ProvidersTimedOut({ attempts }))
  // Without a call, what opened the circuits.
  const causes = called.length > 0 ? called : attempts
  const isShared = (errorType: string, httpStatus?: number) =>
    causes.length > 0 &&
    causes.every((one) => one.errorType === errorType && (httpStatus === undefined || one.httpStatus === httpStatus))
  const limited = causes.at(-1)
  if (limited !== undefined && isShared("rate_limited"))
    return gatewayError(new ProviderRateLimited({ provider: limited.provider, attempts, retryAfterMs }))
  if (isShared("rejected", HTTP_NOT_FOUND)) return gatewayError(new ProviderLacksModel({ model, attempts }))
  if (isShared("credentials_refused")) return gatewayError(new ProvidersFailed({ attempts, retryAfterMs: null }))
  if (sole || called.length === 0) return gatewayError(new ProviderUnavailable({ attempts, retryAfterMs }))
  return gatewayError(new ProvidersFailed({ attempts, retryAfterMs }))
}

/** The error or the defect of a call; undefined if it was interrupted. */
export const errorOf = (cause: Cause.Cause<unknown>): unknown => {
  const reason = cause.reasons.find((reason) => reason._tag !== "Interrupt")
  return reason?._tag === "Die" ? reason.defect : reason?.error
}

export const attemptOf = (
  { key, offer, provider }: Candidate,
  latencyMs: number,
  ok: boolean,
  error: unknown
): Attempt => {
  const base = { provider: provider.slug, model: offer.id, latencyMs, ...(key === undefined ? {} : { key }) }
  if (ok) return { ...base, status: "ok", errorType: null, httpStatus: 200 }
  if (error instanceof CircuitOpenError)
    return { ...base, status: "skipped", errorType: error.because, httpStatus: null }
  if (error === undefined) return { ...base, status: "cancelled", errorType: null, httpStatus: null }
  if (!(error instanceof ProviderError))
    return { ...base, status: "error", errorType: "internal_error", httpStatus: null }
  return {
    ...base,
    status: error.reason._tag === "TimedOut" ? "timeout" : "error",
    errorType: errorTypeOf(error),
    httpStatus: error.httpStatus,
    ...(error.words === undefined ? {} : { message: error.words })
  }
}
