/** What to do about an error: by its code where the code says more than its type. */
import { type ErrorType } from "../../api/Failure.ts"

const noKey = "Send the whole API key, as “Authorization: Bearer tg-…”. A revoked, disabled or expired key is refused."
const retry = "Send it again after the time that retry-after names."
const store = "Send it again. If it stays so, bring the database, Redis or the cache back: the overview names it."

/** Generations have `invalid_request` where errors have `invalid_request_error`. */
const byType: Readonly<Record<ErrorType | "invalid_request", string>> = {
  authentication_error: noKey,
  budget_exceeded: "Raise the key's monthly budget, lower max_tokens, or wait for the next month.",
  context_length_exceeded: "Shorten the prompt, or use a model with a larger context.",
  dependency_unavailable: store,
  generation_running: retry,
  idempotency_conflict: "Use a new idempotency key for another request.",
  internal_error: "This is a fault of the gateway. Its log has more under the request id.",
  invalid_request: "Correct the request as the provider's words say. No other provider was tried.",
  invalid_request_error: "Correct the request as the message says.",
  key_revoked: "Make another key: a revoked one cannot be changed.",
  key_rotated: "Read the key again. Another rotation came first.",
  method_not_allowed: "Use one of the methods that the header allow names.",
  model_not_allowed: "Use a model of the key's list, or allow this model for the key.",
  model_not_found: "Take a name from GET /v1/models.",
  no_eligible_provider:
    "Relax the provider preferences of the request, or use the endpoint of the model's kind: chat or embeddings.",
  not_found: "Check the path and the id. Paths begin with /v1.",
  overloaded: "Send it again. If it happens often, run more processes.",
  payload_too_large: "Send a smaller body.",
  permission_denied: "Use a key with the needed scope, or ask an admin.",
  privacy_blocked: "Take personal data and secrets out of the prompt, or let the key mask them.",
  provider_error: "Send it again. If it stays so, read the provider's words below, and check its key.",
  provider_rate_limited: "Wait, raise the limit at the provider, or add another provider for the model.",
  provider_timeout: "Send it again, allow more time, or add a faster provider.",
  provider_unavailable: "Wait until the provider answers again, or allow fallbacks.",
  rate_limit_exceeded: "Send fewer requests a minute, or give the key another tier.",
  request_timeout: "Send it again: the body arrived too slowly.",
  settings_conflict: "Correct what the message names: a provider that is there already, or the settings file.",
  unsupported_media_type: "Compress the body with gzip, deflate or br, or not at all."
}

const byCode: Readonly<Record<string, string>> = {
  idempotency_key_in_use: "Wait: a request with the same idempotency key is still running.",
  invalid_admin_key: "Send the gateway's admin key in the header x-admin-key.",
  invalid_session: "Sign in again.",
  concurrency_limit_exceeded: "Wait until one of the key's requests has ended, or give the key another tier.",
  tokens_limit_exceeded: "Send fewer tokens a minute, or give the key another tier.",
  privacy_not_searched: "Shorten the request, or send text instead of token ids.",
  scope_missing: "Use a key with the scope that the message names.",
  user_suspended: "Reactivate the user, or use another key.",
  unsupported_parameter: "Remove the member that the message names, or allow a provider that knows it.",
  previous_response_not_found: "Send the whole conversation."
}

export const errorTypes: ReadonlyArray<string> = Object.keys(byType)

export const remedyOf = (type: string, code: string | null = null): string | undefined =>
  byCode[code ?? ""] ?? (byType as Readonly<Record<string, string>>)[type]
