/**
 * What a call of the gateway can fail with: one error, whose reason says how far the call came. It holds the gateway's own words
 * and never a credential.
 */
import { Data } from "effect"
import { HttpClientError } from "effect/http"
import { type ErrorBody, type ValidationError } from "../api/Failure.ts"

/** The gateway answered, and the answer is no. `faults`: of a 422, everything that is wrong with the request. */
export class Refused extends Data.TaggedClass("Refused")<{
  readonly status: number
  readonly error: ErrorBody
  readonly faults: ReadonlyArray<ValidationError>
}> {}

/** A stream that the gateway could not go on with; what came before it is not the whole answer. */
export class BrokenOff extends Data.TaggedClass("BrokenOff")<{ readonly error: ErrorBody }> {}

/** The connection ended before the answer did. */
export class CutOff extends Data.TaggedClass("CutOff")<{ readonly cause: unknown }> {}

/** Nothing was sent: the header's value, such as a credential's, has a character that no header may have. The value is not told. */
export class Unsendable extends Data.TaggedClass("Unsendable")<{ readonly header: string }> {}

/** Nobody answered at the address, or there is no such address. */
export class Unreachable extends Data.TaggedClass("Unreachable")<{ readonly url: string; readonly cause: unknown }> {}

/** Somebody answered, and not as this contract has it: another server, a proxy in between, or another version. */
export class Unexpected extends Data.TaggedClass("Unexpected")<{ readonly status: number; readonly cause: unknown }> {}

export type Reason = Refused | BrokenOff | CutOff | Unsendable | Unreachable | Unexpected

/** Every call's one error. The getters speak for whatever reason there is. */
export class TollgateError extends Data.TaggedError("TollgateError")<{ readonly reason: Reason }> {
  override get message(): string {
    const { reason } = this
    switch (reason._tag) {
      case "Refused":
        // The envelope's message is the first fault's.
        return reason.faults.length > 1
          ? reason.faults.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("\n")
          : reason.error.message
      case "BrokenOff":
        return reason.error.message
      case "CutOff":
        return "The connection ended before the answer did."
      case "Unsendable":
        return `Nothing was sent: the value for the header ${reason.header} has a character that no header may have.`
      case "Unreachable":
        return `No gateway answers at ${reason.url}: ${messageOf(reason.cause)}`
      case "Unexpected":
        return `The answer (status ${reason.status}) is not one of this gateway's: ${messageOf(reason.cause)}`
    }
  }

  /** The gateway's envelope, if it said anything. */
  get body(): ErrorBody | null {
    return this.reason._tag === "Refused" || this.reason._tag === "BrokenOff" ? this.reason.error : null
  }

  /** Of the answer; null where there was none, or where it had begun well. */
  get status(): number | null {
    return this.reason._tag === "Refused" || this.reason._tag === "Unexpected" ? this.reason.status : null
  }

  /** The envelope's `type`, such as `rate_limit_exceeded`: what to branch on. */
  get type(): string | null {
    return this.body?.type ?? null
  }

  /** To be named when an incident is reported. */
  get requestId(): string | null {
    return this.body?.request_id ?? null
  }

  /** Whether the same call may succeed later. A call whose connection ended may have been served and charged. */
  get isRetryable(): boolean {
    return this.reason._tag === "Unreachable" || this.body?.retryable === true
  }

  /** How long to wait before that, if the gateway said so. */
  get retryAfterSeconds(): number | null {
    return this.body?.retry_after ?? null
  }
}

/** What failed, without the request that it failed for: that holds the credential. */
export const withoutRequest = (cause: unknown): unknown =>
  HttpClientError.isHttpClientError(cause) ? (cause.cause ?? new Error(cause.reason._tag)) : cause

/** The innermost message says most: `connect ECONNREFUSED 127.0.0.1:8787` rather than `fetch failed`. */
const messageOf = (cause: unknown): string => {
  let at = cause
  while (at instanceof Error && at.cause instanceof Error) at = at.cause
  if (at instanceof AggregateError && at.errors.length > 0) at = at.errors[0]
  return at instanceof Error ? at.message : String(at)
}
