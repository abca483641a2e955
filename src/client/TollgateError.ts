/**
 * The failure of a call: one error type, whose reason tells how far the call came. It contains the
 * gateway's message and never a credential.
 */
import { Data } from "effect"
import { HttpClientError } from "effect/http"
import { type ErrorBody, type ValidationError } from "../api/Failure.ts"
import { type MessagesErrorBody } from "../api/MessagesErrors.ts"

/** The gateway answered with an error. `faults`: all faults of the request, for a 422. */
export class Refused extends Data.TaggedClass("Refused")<{
  readonly status: number
  readonly error: ErrorBody
  readonly faults: ReadonlyArray<ValidationError>
}> {}

/** A stream that the gateway could not continue. The chunks before it are not the whole answer. */
export class BrokenOff extends Data.TaggedClass("BrokenOff")<{ readonly error: ErrorBody }> {}

/** The connection ended before the answer was complete. */
export class CutOff extends Data.TaggedClass("CutOff")<{ readonly cause: unknown }> {}

/**
 * The request was not sent: a header's value, such as a credential, contains an invalid character.
 * The error does not contain the value.
 */
export class Unsendable extends Data.TaggedClass("Unsendable")<{ readonly header: string }> {}

/** The address does not exist or does not answer. */
export class Unreachable extends Data.TaggedClass("Unreachable")<{ readonly url: string; readonly cause: unknown }> {}

/**
 * The answer does not match the contract: it comes from another server, a proxy or another version.
 */
export class Unexpected extends Data.TaggedClass("Unexpected")<{ readonly status: number; readonly cause: unknown }> {}

export type Reason = Refused | BrokenOff | CutOff | Unsendable | Unreachable | Unexpected

/** The error of every call. The getters work for every reason. */
export class TollgateError extends Data.TaggedError("TollgateError")<{ readonly reason: Reason }> {
  override get message(): string {
    const { reason } = this
    switch (reason._tag) {
      case "Refused":
        // The envelope's message covers only the first fault.
        return reason.faults.length > 1
          ? reason.faults.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("\n")
          : reason.error.message
      case "BrokenOff":
        return reason.error.message
      case "CutOff":
        return "The connection ended before the answer was complete."
      case "Unsendable":
        return `The request was not sent: the value of the header ${reason.header} contains an invalid character.`
      case "Unreachable":
        return `No gateway answers at ${reason.url}: ${messageOf(reason.cause)}`
      case "Unexpected":
        return `The answer (status ${reason.status}) does not match this gateway's API: ${messageOf(reason.cause)}`
    }
  }

  /** The gateway's error envelope, or null. */
  get body(): ErrorBody | null {
    return this.reason._tag === "Refused" || this.reason._tag === "BrokenOff" ? this.reason.error : null
  }

  /** The status of the answer. Null without an answer, and for a stream that had begun. */
  get status(): number | null {
    return this.reason._tag === "Refused" || this.reason._tag === "Unexpected" ? this.reason.status : null
  }

  /** The envelope's `type`, such as `rate_limit_exceeded`. Branch on this. */
  get type(): string | null {
    return this.body?.type ?? null
  }

  /** Quote it when reporting an incident. */
  get requestId(): string | null {
    return this.body?.request_id ?? null
  }

  /**
   * True if the same call may succeed later. After `CutOff` it is false, because the call may have
   * been served and charged.
   */
  get isRetryable(): boolean {
    return this.reason._tag === "Unreachable" || this.body?.retryable === true
  }

  /** The delay before a retry, if the gateway gave one. */
  get retryAfterSeconds(): number | null {
    return this.body?.retry_after ?? null
  }
}

/** Errors of the Messages API that a later call may not have. */
const passing = new Set(["rate_limit_error", "api_error", "timeout_error", "overloaded_error"])

/** An error of the Messages API in the form of all others. In a stream only its type is known. */
export const errorOfMessages = ({ error: { details, message, type }, request_id }: MessagesErrorBody): ErrorBody => {
  const { error_code: code, param, ...rest } = { error_code: null, param: null, ...details }
  return {
    type,
    code: typeof code === "string" ? code : null,
    message,
    param: typeof param === "string" ? param : null,
    request_id,
    retryable: passing.has(type),
    retry_after: null,
    details: rest
  }
}

/** The cause without the request, which contains the credential. */
export const withoutRequest = (cause: unknown): unknown =>
  HttpClientError.isHttpClientError(cause) ? (cause.cause ?? new Error(cause.reason._tag)) : cause

/**
 * The innermost message is the most specific: `connect ECONNREFUSED 127.0.0.1:8787` instead of
 * `fetch failed`.
 */
const messageOf = (cause: unknown): string => {
  let at = cause
  while (at instanceof Error && at.cause instanceof Error) at = at.cause
  if (at instanceof AggregateError && at.errors.length > 0) at = at.errors[0]
  return at instanceof Error ? at.message : String(at)
}
