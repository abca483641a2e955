/**
 * Failures of a request as data: one `GatewayError` with a reason. Only http/errors/ErrorResponse
 * maps reasons to wire errors; this module knows no statuses. Bugs are defects, not reasons.
 */
import { Data } from "effect"
import { type Exclusion } from "./Catalog.ts"
import { type Attempt } from "./Generation.ts"
import { type Scope } from "./Key.ts"
import { type NanoUsd } from "./pricing/Money.ts"
import { type VendorRefusal } from "./Native.ts"

/** A missing, unknown, revoked, disabled or expired key. The answer is the same for all. */
export class Unauthenticated extends Data.TaggedClass("Unauthenticated")<{}> {}
export class AdminUnauthenticated extends Data.TaggedClass("AdminUnauthenticated")<{}> {}
export class ScopeMissing extends Data.TaggedClass("ScopeMissing")<{ readonly scope: Scope }> {}
/** `holder`: the limit belongs to the key, or to all keys of its owner together. */
export class RateLimited extends Data.TaggedClass("RateLimited")<{
  readonly limit: "requests" | "tokens" | "concurrency"
  readonly holder: "key" | "owner"
  readonly allowed: number
  /**
   * Tokens of a prompt that exceeds the limit by itself, counted only as far as needed. Null: the
   * limit is used up.
   */
  readonly needed: number | null
  /** Null: a retry cannot succeed. */
  readonly retryAfterMs: number | null
}> {}
export class BudgetExceeded extends Data.TaggedClass("BudgetExceeded")<{
  readonly capNano: NanoUsd
  readonly spentNano: NanoUsd
  readonly reservedNano: NanoUsd
  /** The amount that the request needs to reserve. */
  readonly neededNano: NanoUsd
  readonly resetsAtMs: number
}> {}
export class ModelNotAllowed extends Data.TaggedClass("ModelNotAllowed")<{ readonly model: string }> {}
export class PrivacyBlocked extends Data.TaggedClass("PrivacyBlocked")<{
  /** Number of values found, by type. */
  readonly counts: Readonly<Record<string, number>>
  /**
   * `unsearched`: the search exceeded its time limit, so the prompt cannot be declared safe.
   * `token_ids`: it has token ids, whose text is not known.
   */
  readonly cause: "found" | "unsearched" | "token_ids"
}> {}
/**
 * `ambiguous`: the ids that a name matches. `nearest`: the name that was perhaps meant, or null.
 */
export class ModelNotFound extends Data.TaggedClass("ModelNotFound")<{
  readonly model: string
  readonly ambiguous: ReadonlyArray<string>
  readonly nearest: string | null
}> {}
export class NotFound extends Data.TaggedClass("NotFound")<{
  readonly what: "dead_letter" | "generation" | "key" | "provider" | "response" | "route" | "session" | "user"
  readonly id: string
  /** The path that was perhaps meant. */
  readonly meant?: string | null
}> {}
export class MethodNotAllowed extends Data.TaggedClass("MethodNotAllowed")<{ readonly allow: ReadonlyArray<string> }> {}
export class NoEligibleProvider extends Data.TaggedClass("NoEligibleProvider")<{
  readonly model: string
  readonly excluded: ReadonlyArray<Exclusion>
}> {}
/** `message`: the provider's own words; null: the gateway refuses the prompt itself. */
export class ContextLengthExceeded extends Data.TaggedClass("ContextLengthExceeded")<{
  readonly message: string | null
  readonly promptTokens: number
  readonly contextLength: number
  /** The member that is too long. */
  readonly param: "messages" | "input"
  /** The provider's own words, for a client of its API. */
  readonly own?: VendorRefusal
}> {}
/** A revoked key cannot be changed. */
export class KeyRevoked extends Data.TaggedClass("KeyRevoked")<{}> {}
/**
 * The request is invalid, according to the gateway or the provider. `param` names the faulty
 * member.
 */
export class InvalidRequest extends Data.TaggedClass("InvalidRequest")<{
  readonly message: string
  readonly param: string | null
  readonly code: string | null
  readonly provider: string | null
  /** The provider's own words, for a client of its API. */
  readonly own?: VendorRefusal
}> {}
/** A concurrent rotation of the key won. */
export class KeyRotated extends Data.TaggedClass("KeyRotated")<{}> {}
export class IdempotencyConflict extends Data.TaggedClass("IdempotencyConflict")<{
  readonly kind: "running" | "other_body"
}> {}
/** The generation is still running. Its record is written at its end. */
export class GenerationRunning extends Data.TaggedClass("GenerationRunning")<{ readonly retryAfterMs: number }> {}
/** `setting`: the setting that holds the limit; null: the limit is fixed. */
export class BodyTooLarge extends Data.TaggedClass("BodyTooLarge")<{
  readonly limitBytes: number
  readonly setting: string | null
}> {}
/** The head of the request is unreadable, or repeats a header that may occur only once. */
export class RequestUnreadable extends Data.TaggedClass("RequestUnreadable")<{
  readonly fault: "headers_too_large" | "malformed" | "too_slow"
}> {}
/** Unsupported `content-encoding`. */
export class EncodingUnsupported extends Data.TaggedClass("EncodingUnsupported")<{ readonly encoding: string }> {}
export class BodyTooSlow extends Data.TaggedClass("BodyTooSlow")<{ readonly limitMs: number }> {}
/** All providers tried failed. `retryAfterMs`: what the last one asked for, or null. */
export class ProvidersFailed extends Data.TaggedClass("ProvidersFailed")<{
  readonly attempts: ReadonlyArray<Attempt>
  readonly retryAfterMs: number | null
}> {}
/** All providers tried exceeded a time limit. */
export class ProvidersTimedOut extends Data.TaggedClass("ProvidersTimedOut")<{
  readonly attempts: ReadonlyArray<Attempt>
}> {}
/** The only allowed provider is down, or none is available at present. */
export class ProviderUnavailable extends Data.TaggedClass("ProviderUnavailable")<{
  readonly attempts: ReadonlyArray<Attempt>
  readonly retryAfterMs: number | null
}> {}
/**
 * The provider's rate limit, with no other provider left. `retryAfterMs`: what it asked for, or
 * null.
 */
export class ProviderRateLimited extends Data.TaggedClass("ProviderRateLimited")<{
  readonly provider: string
  readonly attempts: ReadonlyArray<Attempt>
  readonly retryAfterMs: number | null
}> {}
/** All providers tried answered that they do not know the model. */
export class ProviderLacksModel extends Data.TaggedClass("ProviderLacksModel")<{
  readonly model: string
  readonly attempts: ReadonlyArray<Attempt>
}> {}
export class DependencyUnavailable extends Data.TaggedClass("DependencyUnavailable")<{
  readonly dependency: "database" | "limit_store" | "cache" | "identity_provider"
}> {}
/** An invalid token or code. The answer is the same for wrong, used, expired and unknown ones. */
export class SignInRefused extends Data.TaggedClass("SignInRefused")<{
  readonly what: "session" | "code" | "refresh_token" | "console_link"
}> {}
/** The caller proved an identity whose user is suspended. */
export class UserSuspended extends Data.TaggedClass("UserSuspended")<{}> {}
/**
 * The caller proved an identity without an account and may not create one. `domain`: its e-mail
 * domain is not allowed. `day`: the daily limit of new accounts is reached.
 */
export class SignUpRefused extends Data.TaggedClass("SignUpRefused")<{ readonly fault: "domain" | "day" }> {}
export class SignInLimited extends Data.TaggedClass("SignInLimited")<{ readonly retryAfterMs: number }> {}
/** An unknown or disabled sign-in channel or provider. */
export class UnknownSignInMethod extends Data.TaggedClass("UnknownSignInMethod")<{
  readonly param: "channel" | "provider"
  readonly sent: string
  readonly known: ReadonlyArray<string>
}> {}
/** `country`: codes are not sent to this number's country. */
export class SignInInputInvalid extends Data.TaggedClass("SignInInputInvalid")<{
  readonly param: "email" | "phone"
  readonly fault: "missing" | "malformed" | "country"
}> {}
/**
 * A failed OAuth flow. `invalid_state`: the state is expired, used or another session's.
 * `not_proved`: the provider's answer failed verification. `admin_session_required`: the flow would
 * add a sign-in method to an admin's account.
 */
export class OAuthRefused extends Data.TaggedClass("OAuthRefused")<{
  readonly fault: "invalid_state" | "redirect_not_allowed" | "denied" | "not_proved" | "admin_session_required"
}> {}
/** Signed in, but not an admin. */
export class AdminRequired extends Data.TaggedClass("AdminRequired")<{}> {}
/** Admins cannot change their own role or status. */
export class OwnAccount extends Data.TaggedClass("OwnAccount")<{}> {}
/**
 * More than an admin granted. `availableNano`: the amount that can still be assigned to keys. Null
 * if the grant is not about money.
 */
export class GrantExceeded extends Data.TaggedClass("GrantExceeded")<{
  readonly param: "monthly_budget_usd" | "tier" | "scopes" | "keys"
  readonly availableNano: NanoUsd | null
  /** True if the user has no budget at all. */
  readonly isNothingGranted?: boolean
}> {}
/**
 * A provider cannot be added, changed or removed like this. `message` and `details` are for an
 * operator, and hold no secret.
 */
export class ProviderSetupRefused extends Data.TaggedClass("ProviderSetupRefused")<{
  readonly fault:
    | "invalid_provider"
    | "models_unpriced"
    | "provider_exists"
    | "provider_of_environment"
    | "provider_test_failed"
    | "settings_busy"
    | "settings_changed"
    | "settings_uneditable"
    | "settings_unwritable"
    | "unknown_preset"
    | "variable_refused"
  readonly message: string
  readonly param: string | null
  readonly details: Readonly<Record<string, unknown>>
}> {}
/** A cross-site browser request. */
export class ForeignSite extends Data.TaggedClass("ForeignSite")<{}> {}
export class Overloaded extends Data.TaggedClass("Overloaded")<{}> {}

export type Reason =
  | Unauthenticated
  | AdminUnauthenticated
  | ScopeMissing
  | RateLimited
  | BudgetExceeded
  | ModelNotAllowed
  | PrivacyBlocked
  | ModelNotFound
  | NotFound
  | MethodNotAllowed
  | NoEligibleProvider
  | ContextLengthExceeded
  | InvalidRequest
  | KeyRevoked
  | KeyRotated
  | IdempotencyConflict
  | GenerationRunning
  | BodyTooLarge
  | RequestUnreadable
  | EncodingUnsupported
  | BodyTooSlow
  | ProvidersFailed
  | ProvidersTimedOut
  | ProviderUnavailable
  | ProviderRateLimited
  | ProviderLacksModel
  | DependencyUnavailable
  | SignInRefused
  | UserSuspended
  | SignInLimited
  | SignUpRefused
  | UnknownSignInMethod
  | SignInInputInvalid
  | OAuthRefused
  | AdminRequired
  | OwnAccount
  | ProviderSetupRefused
  | GrantExceeded
  | ForeignSite
  | Overloaded

export class GatewayError extends Data.TaggedError("GatewayError")<{ readonly reason: Reason }> {
  override get message(): string {
    return this.reason._tag
  }
}

/** Shorthand for `new GatewayError({ reason })`. */
export const gatewayError = (reason: Reason): GatewayError => new GatewayError({ reason })

/** The words of an error and its causes, outermost first, each once. At most five are read. */
export const messagesOf = (error: unknown): ReadonlyArray<string> => {
  const messages: Array<string> = []
  for (let at = error; at instanceof Error && messages.length < 5; at = at.cause) messages.push(at.message)
  return [...new Set(messages)].filter((message) => message !== "")
}
