/**
 * Errors of the Responses API: the envelope of all endpoints, which is OpenAI's, without FastAPI's
 * 422.
 */
import { HttpApiMiddleware } from "effect/http-api"
import { errors } from "./Failure.ts"

/** As `Validation`: an invalid body is a 400 with its first fault. */
export class ResponsesValidation extends HttpApiMiddleware.Service<ResponsesValidation>()(
  "tollgate/api/ResponsesValidation",
  { error: errors(400, 408, 413, 415, 503) }
) {}
