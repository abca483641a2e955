/**
 * The table that maps each reason to its wire error, exhaustively. Only this table and its parts
 * set statuses, and http/errors/ErrorResponse makes the responses.
 */
import { type ErrorType, type ValidationError } from "../../api/Failure.ts"
import { type NoEligibleProvider, type NotFound, type PrivacyBlocked, type Reason } from "../../domain/Errors.ts"
import { usdFromNano, usdText } from "../../domain/pricing/Money.ts"
import { bodyWireOf } from "./BodyErrors.ts"
import { rateLimitedWire } from "./RateLimitErrors.ts"
import { providerWireOf } from "./ProviderErrors.ts"
import { settingsWireOf } from "./SettingsErrors.ts"
import { signInWireOf } from "./SignInErrors.ts"

export interface Wire {
  readonly status: number
  readonly type: ErrorType
  readonly code: string | null
  readonly message: string
  readonly param?: string | null
  readonly retryable: boolean
  readonly retryAfterMs?: number | null
  readonly details?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
  /** The faults of a 422, sent in addition to the envelope. */
  readonly detail?: ReadonlyArray<ValidationError>
}

export const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`

const noKey =
  "No valid API key was sent. Send one as `Authorization: Bearer <key>` or `x-api-key: <key>`. Keys begin with `tg-`; " +
  "expired and revoked ones are refused alike. Admin keys go in `x-admin-key`."

const keyReused =
  "This Idempotency-Key was used with another body, or under another secret of this API key. Use a new one."

/** Most exclusions in a message. `details.excluded` lists all of them. */
const MAX_EXCLUSIONS = 4

const ineligible = ({ excluded, model }: NoEligibleProvider): string => {
  const isAll = (reason: string) => excluded.length > 0 && excluded.every((exclusion) => exclusion.reason === reason)
  if (isAll("not_an_embedding_model"))
    return `'${model}' is a chat model: use it with POST /v1/chat/completions, or name an embedding model.`
  if (isAll("not_a_chat_model"))
    return `'${model}' is an embedding model: use it with POST /v1/embeddings, or name a chat model.`
  const unknown = excluded.filter(({ reason }) => reason === "unknown_provider")
  const known = excluded.filter(({ reason }) => reason !== "unknown_provider")
  const named = known.slice(0, MAX_EXCLUSIONS).map(({ reason, slug }) => `${slug} (${reason})`)
  const more = known.length > named.length ? `, and ${known.length - named.length} more` : ""
  const hint = unknown
    .slice(0, MAX_EXCLUSIONS)
    .map(({ slug }) => ` No provider is called '${slug}'.`)
    .join("")
  return `No provider of '${model}' is left after the request's filters${named.length === 0 ? "" : `: ${named.join(", ")}${more}`}.${hint}`
}

/** For a path that was perhaps meant: the base URL of clients. */
const meantRoute = ({ id, meant }: NotFound): string => {
  if (typeof meant !== "string") return ""
  const hasBase = !id.includes(" ") || / \/v1\/(?!v1\/)/.test(id)
  return ` Did you mean ${meant}?${hasBase ? "" : " The base URL ends in /v1."}`
}

export const wireOf = (reason: Reason): Wire => {
  switch (reason._tag) {
    case "Unauthenticated":
      return {
        status: 401,
        type: "authentication_error",
        code: "invalid_api_key",
        message: noKey,
        retryable: false,
        headers: { "www-authenticate": "Bearer" }
      }
    case "AdminUnauthenticated":
      return {
        status: 401,
        type: "authentication_error",
        code: "invalid_admin_key",
        message: "No valid admin key was sent. Send it as `x-admin-key: <key>`.",
        retryable: false
      }
    case "ScopeMissing":
      return {
        status: 403,
        type: "permission_denied",
        code: "scope_missing",
        message: `This key lacks the scope ${reason.scope}.`,
        retryable: false,
        details: { required_scope: reason.scope }
      }
    case "RateLimited":
      return rateLimitedWire(reason)
    case "BudgetExceeded": {
      const resetsAt = new Date(reason.resetsAtMs).toISOString()
      const [cap, spent, reserved, needed] = [
        reason.capNano,
        reason.spentNano,
        reason.reservedNano,
        reason.neededNano
      ].map(usdFromNano)
      return {
        status: 402,
        type: "budget_exceeded",
        code: "monthly_budget_exceeded",
        message: `The key's monthly budget of ${usdText(reason.capNano)} has no room for this request: ${usdText(reason.spentNano)} spent, ${usdText(reason.reservedNano)} reserved. It resets at ${resetsAt}.`,
        retryable: false,
        details: { cap_usd: cap, spent_usd: spent, reserved_usd: reserved, needed_usd: needed, resets_at: resetsAt },
        headers: { "x-should-retry": "false" }
      }
    }
    case "ModelNotAllowed":
      return {
        status: 403,
        type: "model_not_allowed",
        code: "model_not_allowed",
        message: `This key may not use the model '${reason.model}'. GET /v1/models lists those that it may use.`,
        param: "model",
        retryable: false
      }
    case "PrivacyBlocked":
      return {
        status: 403,
        type: "privacy_blocked",
        code: reason.cause === "found" ? "privacy_blocked" : "privacy_not_searched",
        message: privacyMessages[reason.cause],
        retryable: false,
        details: { counts: reason.counts }
      }
    case "ModelNotFound":
      return {
        status: 404,
        type: "model_not_found",
        code: "model_not_found",
        message:
          reason.ambiguous.length > 0
            ? `The model '${reason.model}' is ambiguous: name one of ${reason.ambiguous.join(", ")}.`
            : `The model '${reason.model}' does not exist.${reason.nearest === null ? "" : ` Did you mean '${reason.nearest}'?`} GET /v1/models lists the models that exist.`,
        param: "model",
        retryable: false,
        ...(reason.ambiguous.length > 0 ? { details: { candidates: reason.ambiguous } } : {})
      }
    case "NotFound":
      return {
        status: 404,
        type: "not_found",
        code: `${reason.what}_not_found`,
        message:
          reason.what === "route"
            ? `There is no route ${reason.id}.${meantRoute(reason)} GET /openapi.json lists all routes.`
            : `There is no such ${reason.what.replace("_", " ")}.`,
        retryable: false
      }
    case "MethodNotAllowed":
      return {
        status: 405,
        type: "method_not_allowed",
        code: "method_not_allowed",
        message: `This path accepts ${reason.allow.join(", ")}.`,
        retryable: false,
        headers: { allow: reason.allow.join(", ") }
      }
    case "NoEligibleProvider":
      return {
        status: 404,
        type: "no_eligible_provider",
        code: "no_eligible_provider",
        message: ineligible(reason),
        retryable: false,
        details: { excluded: reason.excluded }
      }
    case "ContextLengthExceeded":
      return {
        status: 400,
        type: "context_length_exceeded",
        code: "context_length_exceeded",
        // OpenAI's words, by which clients recognise an overflow.
        message:
          reason.message ??
          `This model's maximum context length is ${plural(reason.contextLength, "token")}. However, your ${reason.param} resulted in about ${plural(reason.promptTokens, "token")}. Please shorten the ${reason.param}.`,
        param: reason.param,
        retryable: false
      }
    case "InvalidRequest":
      return {
        status: 400,
        type: "invalid_request_error",
        code: reason.code ?? "invalid_request",
        message: reason.message,
        param: reason.param,
        retryable: false,
        ...(reason.provider === null ? {} : { details: { provider: reason.provider } })
      }
    case "KeyRevoked":
      return {
        status: 409,
        type: "key_revoked",
        code: "key_revoked",
        message: "This key is revoked, which is final. Create another key.",
        retryable: false
      }
    case "KeyRotated":
      return {
        status: 409,
        type: "key_rotated",
        code: "key_rotated",
        message:
          "Another request rotated the key at the same moment. The secret of that request is valid. This request changed nothing.",
        retryable: false
      }
    case "IdempotencyConflict":
      return reason.kind === "running"
        ? {
            status: 409,
            type: "idempotency_conflict",
            code: "idempotency_key_in_use",
            message: "A request with this Idempotency-Key is still running.",
            retryable: true,
            retryAfterMs: 1_000
          }
        : {
            status: 422,
            type: "idempotency_conflict",
            code: "idempotency_key_reused",
            message: keyReused,
            param: "idempotency-key",
            retryable: false,
            detail: [{ loc: ["header", "idempotency-key"], msg: `Value error, ${keyReused}`, type: "value_error" }]
          }
    case "GenerationRunning":
      return {
        status: 409,
        type: "generation_running",
        code: "generation_running",
        message: "This generation is still running. Its record can be read once it has ended.",
        retryable: true,
        retryAfterMs: reason.retryAfterMs
      }
    case "BodyTooLarge":
    case "RequestUnreadable":
    case "EncodingUnsupported":
    case "BodyTooSlow":
      return bodyWireOf(reason)
    case "ProvidersFailed":
    case "ProvidersTimedOut":
    case "ProviderUnavailable":
    case "ProviderRateLimited":
    case "ProviderLacksModel":
      return providerWireOf(reason)
    case "DependencyUnavailable":
      return {
        status: 503,
        type: "dependency_unavailable",
        code: `${reason.dependency}_unavailable`,
        message:
          reason.dependency === "identity_provider"
            ? "The identity provider does not answer. Retry shortly, or sign in another way."
            : "The gateway cannot reach a store that it needs to answer safely. Retry shortly.",
        retryable: true,
        retryAfterMs: 1_000,
        details: { dependency: reason.dependency }
      }
    case "SignInRefused":
    case "UserSuspended":
    case "SignInLimited":
    case "SignUpRefused":
    case "UnknownSignInMethod":
    case "SignInInputInvalid":
    case "OAuthRefused":
    case "AdminRequired":
    case "OwnAccount":
    case "GrantExceeded":
    case "ForeignSite":
      return signInWireOf(reason)
    case "ProviderSetupRefused":
      return settingsWireOf(reason)
    case "Overloaded":
      return {
        status: 503,
        type: "overloaded",
        code: "overloaded",
        message: "The gateway is overloaded and did not accept the request. Retry shortly.",
        retryable: true,
        retryAfterMs: 1_000
      }
  }
}

const privacyMessages: Readonly<Record<PrivacyBlocked["cause"], string>> = {
  found:
    "The request contains personal data or secrets, which the gateway does not send; details.counts lists their types.",
  unsearched:
    "The request could not be searched for personal data within the time limit, so it was not sent. Shorten it.",
  token_ids: "Token ids of this model cannot be searched for personal data, so the request was not sent. Send text."
}
