/**
 * Wire errors: one envelope for all errors, and FastAPI's `detail` in addition for requests that
 * fail validation. `errors` declares an endpoint's error statuses for the OpenAPI document and
 * typed clients.
 */
import { Context, Schema } from "effect"
import { HttpApiMiddleware, HttpApiSchema } from "effect/http-api"

/** Every kind of error. The errors page of the documentation says what each means. */
const errorTypes = [
  "authentication_error",
  "budget_exceeded",
  "context_length_exceeded",
  "dependency_unavailable",
  "generation_running",
  "idempotency_conflict",
  "internal_error",
  "invalid_request_error",
  "key_revoked",
  "key_rotated",
  "method_not_allowed",
  "model_not_allowed",
  "model_not_found",
  "no_eligible_provider",
  "not_found",
  "overloaded",
  "payload_too_large",
  "permission_denied",
  "privacy_blocked",
  "provider_error",
  "provider_rate_limited",
  "provider_timeout",
  "provider_unavailable",
  "rate_limit_exceeded",
  "request_timeout",
  "settings_conflict",
  "unsupported_media_type"
] as const
export type ErrorType = (typeof errorTypes)[number]

/**
 * `type` is one of `errorTypes`; clients of an older version read newer ones too. `retry_after`:
 * whole seconds, equal to the `Retry-After` header. `retryable`: the same request may succeed
 * within a minute.
 */
export const ErrorBody = Schema.Struct({
  type: Schema.String.annotate({ contentSchema: { type: "string", enum: errorTypes } }),
  code: Schema.NullOr(Schema.String),
  message: Schema.String,
  param: Schema.NullOr(Schema.String),
  request_id: Schema.String,
  retryable: Schema.Boolean,
  retry_after: Schema.NullOr(Schema.Int),
  details: Schema.Record(Schema.String, Schema.Unknown)
}).annotate({ identifier: "Error" })
export type ErrorBody = typeof ErrorBody.Type

export const ErrorEnvelope = Schema.Struct({ error: ErrorBody }).annotate({ identifier: "ErrorEnvelope" })
export type ErrorEnvelope = typeof ErrorEnvelope.Type

/** One fault of a request, in the form of FastAPI and Pydantic v2. */
export const ValidationError = Schema.Struct({
  loc: Schema.Array(Schema.Union([Schema.String, Schema.Int])),
  msg: Schema.String,
  type: Schema.String,
  input: Schema.optionalKey(Schema.Unknown),
  ctx: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
}).annotate({ identifier: "ValidationError" })
export type ValidationError = typeof ValidationError.Type

export const HTTPValidationError = Schema.Struct({
  detail: Schema.Array(ValidationError),
  error: ErrorBody
}).annotate({ identifier: "HTTPValidationError" })
export type HTTPValidationError = typeof HTTPValidationError.Type

type Status = 400 | 401 | 402 | 403 | 404 | 408 | 409 | 413 | 415 | 429 | 500 | 502 | 503 | 504

/** The error envelope at each of the statuses. */
export const errors = <const Statuses extends ReadonlyArray<Status>>(...statuses: Statuses) =>
  statuses.map((status) => ErrorEnvelope.pipe(HttpApiSchema.status(status)))

/**
 * Size limit of an endpoint's body, in bytes. `null`: the limit for model requests in the settings.
 */
export const BodyBytes = Context.Reference<number | null>("tollgate/api/BodyBytes", { defaultValue: () => 65_536 })

/**
 * Reads the body within its limits. An invalid body is a 422 that lists every fault. It runs after
 * authorization, so that unauthorized callers learn nothing about the schema.
 */
export class Validation extends HttpApiMiddleware.Service<Validation>()("tollgate/api/Validation", {
  error: [HTTPValidationError.pipe(HttpApiSchema.status(422)), ...errors(400, 408, 413, 415, 503)]
}) {}
