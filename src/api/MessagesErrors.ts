/**
 * Errors of the Messages API: its envelope, the middleware that declares it, and the statuses of an
 * endpoint for the OpenAPI document and typed clients.
 */
import { Schema } from "effect"
import { HttpApiMiddleware, HttpApiSchema } from "effect/http-api"
import { apiKeySecurity, type CurrentKey } from "./Authorization.ts"

export const MessagesErrorType = Schema.Literals([
  "invalid_request_error",
  "authentication_error",
  "billing_error",
  "permission_error",
  "not_found_error",
  "conflict_error",
  "request_too_large",
  "rate_limit_error",
  "api_error",
  "timeout_error",
  "overloaded_error"
])
export type MessagesErrorType = typeof MessagesErrorType.Type

export const MessagesErrorBody = Schema.Struct({
  type: Schema.Literal("error"),
  error: Schema.Struct({
    type: MessagesErrorType,
    message: Schema.String,
    details: Schema.Record(Schema.String, Schema.Unknown).annotate({
      description: "`error_code`: the code that chat completions tell. `param`: the faulty member."
    })
  }),
  request_id: Schema.String
}).annotate({ identifier: "MessagesError" })
export type MessagesErrorBody = typeof MessagesErrorBody.Type

type Status = 400 | 401 | 402 | 403 | 404 | 408 | 409 | 413 | 415 | 429 | 500 | 502 | 503 | 504 | 529

/** The envelope at each of the statuses. */
export const messagesErrors = <const Statuses extends ReadonlyArray<Status>>(...statuses: Statuses) =>
  statuses.map((status) => MessagesErrorBody.pipe(HttpApiSchema.status(status)))

/** As `Validation`, with the errors of this API: it has no 422. */
export class MessagesValidation extends HttpApiMiddleware.Service<MessagesValidation>()(
  "tollgate/api/MessagesValidation",
  { error: messagesErrors(400, 408, 413, 415, 529) }
) {}

/** As `Authorization`, with the errors of this API. */
export class MessagesAuthorization extends HttpApiMiddleware.Service<MessagesAuthorization, { provides: CurrentKey }>()(
  "tollgate/api/MessagesAuthorization",
  {
    security: apiKeySecurity,
    error: messagesErrors(401, 503)
  }
) {}
