/**
 * The errors of the wire (contract §2): one envelope for everything, and spec.md's `detail` beside it where a request does not
 * validate. `Errors` declares which statuses an endpoint may answer with, for the OpenAPI document and for typed clients.
 */
import { Context, Schema } from "effect"
import { HttpApiMiddleware, HttpApiSchema } from "effect/http-api"

/** `retry_after`: whole seconds, the same as the `Retry-After` header. `retryable`: whether the same request may succeed later. */
export const ErrorBody = Schema.Struct({
  type: Schema.String,
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

/** One fault of a request, as FastAPI and Pydantic v2 name them. */
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

/** The envelope at each of the statuses. */
export const errors = <const Statuses extends ReadonlyArray<Status>>(...statuses: Statuses) =>
  statuses.map((status) => ErrorEnvelope.pipe(HttpApiSchema.status(status)))

/** How large the body of an endpoint may be, in bytes; `null`: as large as the settings let the body of a model request be. */
export const BodyBytes = Context.Reference<number | null>("tollgate/api/BodyBytes", { defaultValue: () => 65_536 })

/**
 * Reads the body within its limits and turns what does not validate into the 422 that lists every fault. It stands inside the
 * authorization: who may not come in learns nothing of the form.
 */
export class Validation extends HttpApiMiddleware.Service<Validation>()("tollgate/api/Validation", {
  error: [HTTPValidationError.pipe(HttpApiSchema.status(422)), ...errors(400, 408, 413, 415, 503)]
}) {}
