/**
 * What can go wrong with a request, as data: one `GatewayError` with a reason. http/errors/ErrorResponse alone turns a reason into a wire
 * error (contract §2); nothing here knows of statuses. A bug of ours is a defect and no reason.
 */
import { Data } from "effect"
import { type Exclusion } from "./Catalog.ts"
import { type Attempt } from "./Generation.ts"
import { type Scope } from "./Key.ts"
import { type NanoUsd } from "./Money.ts"

/** Missing, unknown, revoked, disabled or expired key: one answer for all of them. */
export class Unauthenticated extends Data.TaggedClass("Unauthenticated")<{}> {}
export class AdminUnauthenticated extends Data.TaggedClass("AdminUnauthenticated")<{}> {}
export class ScopeMissing extends Data.TaggedClass("ScopeMissing")<{ readonly scope: Scope }> {}
/** `holder`: whose limit it is, the key's or that of all keys of its owner. */
export class RateLimited extends Data.TaggedClass("RateLimited")<{
  readonly limit: "requests" | "tokens" | "concurrency"
  readonly holder: "key" | "owner"
  readonly allowed: number
  /** Tokens of a prompt that exceeds the limit by itself; it is counted no further than that. Null: the limit is used up. */
  readonly needed: number | null
  /** Null: waiting is in vain. */
  readonly retryAfterMs: number | null
}> {}
export class BudgetExceeded extends Data.TaggedClass("BudgetExceeded")<{
  readonly capNano: NanoUsd
  readonly spentNano: NanoUsd
  readonly reservedNano: NanoUsd
  /** What the request would have to reserve. */
  readonly neededNano: NanoUsd
  readonly resetsAtMs: number
}> {}
export class ModelNotAllowed extends Data.TaggedClass("ModelNotAllowed")<{ readonly model: string }> {}
export class PrivacyBlocked extends Data.TaggedClass("PrivacyBlocked")<{
  /** How many values of each type. */
  readonly counts: Readonly<Record<string, number>>
  /** `unsearched`: the search was not finished in its time, so nothing is known to be safe. */
  readonly cause: "found" | "unsearched"
}> {}
/** `ambiguous`: the ids that a bare slug could mean. */
export class ModelNotFound extends Data.TaggedClass("ModelNotFound")<{
  readonly model: string
  readonly ambiguous: ReadonlyArray<string>
}> {}
export class NotFound extends Data.TaggedClass("NotFound")<{
  readonly what: "generation" | "key" | "route" | "session" | "user"
  readonly id: string
}> {}
export class MethodNotAllowed extends Data.TaggedClass("MethodNotAllowed")<{ readonly allow: ReadonlyArray<string> }> {}
export class NoEligibleProvider extends Data.TaggedClass("NoEligibleProvider")<{
  readonly model: string
  readonly excluded: ReadonlyArray<Exclusion>
}> {}
export class ContextLengthExceeded extends Data.TaggedClass("ContextLengthExceeded")<{
  readonly model: string
  readonly promptTokens: number
  readonly contextLength: number
  /** The member that is too long. */
  readonly param: "messages" | "input"
}> {}
/** Nothing changes a key that was revoked. */
export class KeyRevoked extends Data.TaggedClass("KeyRevoked")<{}> {}
/** The request's own fault, found by us or by the provider. `param` names the member at fault. */
export class InvalidRequest extends Data.TaggedClass("InvalidRequest")<{
  readonly message: string
  readonly param: string | null
  readonly code: string | null
  readonly provider: string | null
}> {}
/** Another rotation of the key came in between. */
export class KeyRotated extends Data.TaggedClass("KeyRotated")<{}> {}
export class IdempotencyConflict extends Data.TaggedClass("IdempotencyConflict")<{
  readonly kind: "running" | "other_body"
}> {}
/** A generation whose request is still under way: its record comes with its end. */
export class GenerationRunning extends Data.TaggedClass("GenerationRunning")<{ readonly retryAfterMs: number }> {}
export class BodyTooLarge extends Data.TaggedClass("BodyTooLarge")<{ readonly limitBytes: number }> {}
/** A request whose head cannot be read, or that has a header twice that may be there once. */
export class RequestUnreadable extends Data.TaggedClass("RequestUnreadable")<{
  readonly fault: "headers_too_large" | "malformed" | "too_slow"
}> {}
/** A `content-encoding` that is not read. */
export class EncodingUnsupported extends Data.TaggedClass("EncodingUnsupported")<{ readonly encoding: string }> {}
export class BodyTooSlow extends Data.TaggedClass("BodyTooSlow")<{ readonly limitMs: number }> {}
/** Every provider that was tried failed. `retryAfterMs`: as the last of them asked for; null: it did not say. */
export class ProvidersFailed extends Data.TaggedClass("ProvidersFailed")<{
  readonly attempts: ReadonlyArray<Attempt>
  readonly retryAfterMs: number | null
}> {}
/** Every provider that was tried ran into a time limit. */
export class ProvidersTimedOut extends Data.TaggedClass("ProvidersTimedOut")<{
  readonly attempts: ReadonlyArray<Attempt>
}> {}
/** The only provider allowed is down, or none is available now. */
export class ProviderUnavailable extends Data.TaggedClass("ProviderUnavailable")<{
  readonly attempts: ReadonlyArray<Attempt>
  readonly retryAfterMs: number | null
}> {}
/** The provider's own limit, and nobody else could answer. `retryAfterMs`: as it asked for; null: it did not say. */
export class ProviderRateLimited extends Data.TaggedClass("ProviderRateLimited")<{
  readonly provider: string
  readonly attempts: ReadonlyArray<Attempt>
  readonly retryAfterMs: number | null
}> {}
/** Every provider that was tried says that it does not know the model. */
export class ProviderLacksModel extends Data.TaggedClass("ProviderLacksModel")<{
  readonly model: string
  readonly attempts: ReadonlyArray<Attempt>
}> {}
export class DependencyUnavailable extends Data.TaggedClass("DependencyUnavailable")<{
  readonly dependency: "database" | "limit_store" | "cache" | "identity_provider"
}> {}
/** A token or a code that does not open anything: one answer for wrong, used, over and unknown. */
export class SignInRefused extends Data.TaggedClass("SignInRefused")<{
  readonly what: "session" | "code" | "refresh_token"
}> {}
/** Of somebody who proved who it is: suspended by an admin. */
export class UserSuspended extends Data.TaggedClass("UserSuspended")<{}> {}
/** Of somebody who proved who it is and has no account: `domain`: not of those that may make one; `day`: there are enough new ones. */
export class SignUpRefused extends Data.TaggedClass("SignUpRefused")<{ readonly fault: "domain" | "day" }> {}
export class SignInLimited extends Data.TaggedClass("SignInLimited")<{ readonly retryAfterMs: number }> {}
/** A channel or a provider that is not offered. */
export class WayUnknown extends Data.TaggedClass("WayUnknown")<{
  readonly param: "channel" | "provider"
  readonly sent: string
  readonly known: ReadonlyArray<string>
}> {}
/** `country`: no codes go to this number's country. */
export class SignInInputInvalid extends Data.TaggedClass("SignInInputInvalid")<{
  readonly param: "email" | "phone"
  readonly fault: "missing" | "malformed" | "country"
}> {}
/** An OAuth flow that leads to nobody. `invalid_state`: it is over, used, or another's; `not_proved`: the provider's word failed a check;
 * `admin_session_required`: it would be a new way into an admin's account. */
export class OAuthRefused extends Data.TaggedClass("OAuthRefused")<{
  readonly fault: "invalid_state" | "redirect_not_allowed" | "denied" | "not_proved" | "admin_session_required"
}> {}
/** Signed in, and no admin. */
export class AdminRequired extends Data.TaggedClass("AdminRequired")<{}> {}
/** An admin wanted to change his own role or status. */
export class OwnAccount extends Data.TaggedClass("OwnAccount")<{}> {}
/** More than an admin granted. `availableNano`: what may still be given to keys; null where it is not about money. */
export class GrantExceeded extends Data.TaggedClass("GrantExceeded")<{
  readonly param: "monthly_budget_usd" | "tier" | "scopes" | "keys"
  readonly availableNano: NanoUsd | null
  /** There is no budget at all. */
  readonly isNothingGranted?: boolean
}> {}
/** A browser sent a request for another site. */
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
  | WayUnknown
  | SignInInputInvalid
  | OAuthRefused
  | AdminRequired
  | OwnAccount
  | GrantExceeded
  | ForeignSite
  | Overloaded

export class GatewayError extends Data.TaggedError("GatewayError")<{ readonly reason: Reason }> {
  override get message(): string {
    return this.reason._tag
  }
}

/** Shorthand: `fail(new Overloaded())`. */
export const gatewayError = (reason: Reason): GatewayError => new GatewayError({ reason })
