/**
 * Makes error responses: the envelope from the table in http/errors/WireErrors, the 422 with every
 * fault, and for a defect a 500 that reveals nothing about its cause.
 */
import { type Cause, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { type ErrorBody, type ValidationError } from "../../api/Failure.ts"
import { type MessagesErrorBody } from "../../api/MessagesErrors.ts"
import { type ResponseFault } from "../../api/Responses.ts"
import { type GatewayError, type Reason } from "../../domain/Errors.ts"
import { type Rejection } from "../../gateway/telemetry/RequestCounters.ts"
import { CurrentRequest, type RequestState } from "../edge/CurrentRequest.ts"
import { causes } from "./ProviderErrors.ts"
import { invalidBody, messagesBody, messagesForm } from "./MessagesErrors.ts"
import { refusedBy, type RefusedRequest, withoutInput, withoutTexts } from "./RefusedRequest.ts"
import { responseFault, responsesWire } from "./ResponsesErrors.ts"
import { plural, type Wire, wireOf } from "./WireErrors.ts"

/** What an error's form depends on. It keeps what may be recorded of the error. */
export interface Asked extends Pick<RequestState, "requestId" | "surface"> {
  refused?: RefusedRequest | null
}

const internal: Wire = {
  status: 500,
  type: "internal_error",
  code: "internal_error",
  message: "Something went wrong in the gateway. Report the request id.",
  retryable: true
}

const seconds = (ms: number | null | undefined): number | null =>
  ms === null || ms === undefined ? null : Math.max(1, Math.ceil(ms / 1000))

/** Longest wait for which a client is told to retry, in milliseconds. */
const LONGEST_WAIT_MS = 60_000

const isRetryable = ({ retryable, retryAfterMs }: Wire): boolean => retryable && (retryAfterMs ?? 0) <= LONGEST_WAIT_MS

const bodyOf = (wire: Wire, requestId: string): ErrorBody => ({
  type: wire.type,
  code: wire.code,
  message: wire.message,
  param: wire.param ?? null,
  request_id: requestId,
  retryable: isRetryable(wire),
  retry_after: seconds(wire.retryAfterMs),
  details: wire.details ?? {}
})

/** `reason`: null for a defect. */
const respond = (reason: Reason | null, asked: Asked) => {
  const { requestId, surface } = asked
  const told = reason === null ? internal : wireOf(reason)
  const wire = surface === "responses" ? responsesWire(reason, told) : told
  const form = surface === "messages" ? messagesForm(reason) : null
  asked.refused = refusedBy(form?.status ?? wire.status, reason === null ? internal : wireOf(withoutTexts(reason)))
  if (form !== null) return respondInMessages(form, reason, wire, requestId)
  const detail = wire.detail === undefined ? {} : { detail: wire.detail }
  return HttpServerResponse.jsonUnsafe(
    { ...detail, error: bodyOf(wire, requestId) },
    { status: wire.status, headers: headersOf(wire) }
  )
}

/** Statuses after which OpenAI's libraries try again unless a header forbids it. */
const isRetried = (status: number): boolean => status === 408 || status === 409 || status === 429 || status >= 500

const headersOf = (wire: Wire): Readonly<Record<string, string>> => {
  const retryAfter = seconds(wire.retryAfterMs)
  return {
    ...wire.headers,
    ...(isRetried(wire.status) && !isRetryable(wire) ? { "x-should-retry": "false" } : {}),
    ...(retryAfter === null ? {} : { "retry-after": String(retryAfter) })
  }
}

/** The vendor's libraries retry as the header says. */
const respondInMessages = (
  form: ReturnType<typeof messagesForm>,
  reason: Reason | null,
  wire: Wire,
  requestId: string
) =>
  HttpServerResponse.jsonUnsafe(messagesBody(form, reason, wire, requestId), {
    status: form.status ?? wire.status,
    headers: { ...headersOf(wire), "x-should-retry": String(isRetryable(wire)) }
  })

/** The envelope as text, for callers that cannot send a response object. */
export const textOf = (
  { reason }: GatewayError,
  requestId: string
): { readonly status: number; readonly body: string } => {
  const wire = wireOf(reason)
  return { status: wire.status, body: JSON.stringify({ error: bodyOf(wire, requestId) }) }
}

/**
 * The content of the envelope, for an error inside a stream, after a part of the reply was sent.
 */
export const errorBody = ({ reason }: GatewayError, requestId: string): ErrorBody =>
  bodyOf({ ...wireOf(reason), ...brokenOff(reason) }, requestId)

/** The same for the Messages API: the whole envelope. */
export const messagesErrorBody = ({ reason }: GatewayError, requestId: string): MessagesErrorBody =>
  messagesBody(messagesForm(reason), reason, { ...wireOf(reason), ...brokenOff(reason) }, requestId)

/** The same for the Responses API: the error of the response. */
export const responseError = ({ reason }: GatewayError): ResponseFault =>
  responseFault(reason, { ...wireOf(reason), ...brokenOff(reason) })

const brokenOff = (reason: Reason): Pick<Wire, "message"> | undefined => {
  switch (reason._tag) {
    case "ProvidersFailed":
      return { message: `The response broke off before its end${causes(reason.attempts)}.` }
    case "ProvidersTimedOut":
      return { message: `The response stopped before its end and did not continue in time${causes(reason.attempts)}.` }
    default:
      return undefined
  }
}

/**
 * The reason of an error inside a stream that has sent nothing of a reply yet; null for a defect.
 * Records the error, and logs a defect.
 */
export const failureOf = (cause: Cause.Cause<GatewayError>, state: RequestState): Effect.Effect<Reason | null> => {
  const failure = cause.reasons.find((reason) => reason._tag === "Fail")
  if (failure?._tag === "Fail") {
    recordError(state, failure.error)
    const { reason } = failure.error
    state.refused = refusedBy(wireOf(reason).status, wireOf(withoutTexts(reason)))
    return Effect.succeed(failure.error.reason)
  }
  return Effect.as(
    Effect.annotateLogs(Effect.logError("a request ended in a defect", cause), { request_id: state.requestId }),
    null
  )
}

/** The content of the envelope for it. */
export const failureBody = (reason: Reason | null, requestId: string): ErrorBody =>
  bodyOf(reason === null ? internal : wireOf(reason), requestId)

/** The same for the Messages API: the whole envelope. */
export const messagesFailureBody = (reason: Reason | null, requestId: string): MessagesErrorBody =>
  messagesBody(messagesForm(reason), reason, reason === null ? internal : wireOf(reason), requestId)

/** The same for the Responses API: the error of the response. */
export const responseFailure = (reason: Reason | null): ResponseFault =>
  responseFault(reason, reason === null ? internal : wireOf(reason))

export const errorResponse = ({ reason }: GatewayError, asked: Asked) => respond(reason, asked)

export const internalErrorResponse = (asked: Asked) => respond(null, asked)

/**
 * The 422: `detail` with every fault, and the envelope with the first one. The Messages API and the
 * Responses API have a 400 instead, with the first fault.
 */
export const validationResponse = (detail: ReadonlyArray<ValidationError>, asked: Asked) => {
  const { requestId, surface } = asked
  const [first] = detail
  const isJson = first?.type !== "json_invalid"
  const param = first !== undefined && isJson ? first.loc.slice(1).join(".") || null : null
  const more = detail.length > 1 ? ` (and ${plural(detail.length - 1, "more fault")})` : ""
  const wire: Wire = {
    status: 422,
    type: "invalid_request_error",
    code: "validation_failed",
    message:
      first === undefined
        ? "The request is not valid."
        : isJson
          ? `${placeOf(first)}: ${first.msg}${others(detail.slice(1))}`
          : jsonMessage(first),
    param,
    retryable: false
  }
  const is400 = surface !== "openai"
  asked.refused = refusedBy(is400 ? 400 : wire.status, {
    ...wire,
    message: first === undefined ? wire.message : `${withoutInput(first)}${more}`
  })
  if (surface === "messages") return respondInMessages(invalidBody, null, wire, requestId)
  return is400
    ? HttpServerResponse.jsonUnsafe({ error: bodyOf(wire, requestId) }, { status: 400 })
    : HttpServerResponse.jsonUnsafe({ detail, error: bodyOf(wire, requestId) }, { status: 422 })
}

const MAX_PLACES = 5
const LONGEST_PLACE = 100

const placeOf = ({ loc }: ValidationError): string => loc.join(".").slice(0, LONGEST_PLACE)

/** The places of further faults. */
const others = (faults: ReadonlyArray<ValidationError>): string => {
  const more = faults.length > MAX_PLACES ? ` and ${faults.length - MAX_PLACES} more` : ""
  const places = faults.slice(0, MAX_PLACES).map(placeOf)
  return faults.length === 0 ? "" : ` (also at fault: ${places.join(", ")}${more})`
}

/** For a body that is not valid JSON: what is wrong, and where. */
const jsonMessage = ({ ctx = {}, loc, msg }: ValidationError): string => {
  const where = loc.length > 1 ? ` at line ${String(ctx["line"])}, column ${String(ctx["column"])}` : ""
  return `${loc[0]}: ${msg}${where}${typeof ctx["error"] === "string" ? `: ${ctx["error"]}` : ""}`
}

/** The policy that refused the request, for the operator's counters. */
const rejectionOf = (reason: Reason): Rejection | null => {
  switch (reason._tag) {
    case "RateLimited":
      return "rate_limit"
    case "BudgetExceeded":
      return "budget"
    case "ModelNotAllowed":
      return "model"
    case "PrivacyBlocked":
      return "privacy"
    default:
      return null
  }
}

/** Records the error that is about to be sent, for the log and the counters. */
export const recordError = (state: RequestState, { reason }: GatewayError): void => {
  state.rejection = rejectionOf(reason)
  state.errorType = wireOf(reason).type
}

/** Turns the expected errors of a handler into responses. */
export const guard = <A, R>(
  handler: Effect.Effect<A, GatewayError, R>
): Effect.Effect<A | HttpServerResponse.HttpServerResponse, never, R> =>
  Effect.catch(handler, (error) =>
    Effect.map(CurrentRequest, (current) => {
      recordError(current, error)
      return errorResponse(error, current)
    })
  )
