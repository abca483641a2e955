/**
 * Opens the API under `/v1/` to the pages of other origins that the operator names. Requests carry
 * a key in a header and never a cookie: credentials are not allowed, and sign-in, the console and
 * the metrics stay closed to other sites.
 */
import { type Effect } from "effect"
import { HttpMiddleware, type HttpServerRequest, type HttpServerResponse } from "effect/http"

/** Origins such as `https://app.example.com`; `*` alone allows any. Empty: none. */
export type CorsOrigins = ReadonlyArray<string>

/** Response headers that a page may read. */
const exposed = [
  "x-request-id",
  "request-id",
  "x-generation-id",
  "x-ratelimit-limit-requests",
  "x-ratelimit-remaining-requests",
  "x-ratelimit-reset-requests",
  "x-ratelimit-limit-tokens",
  "x-ratelimit-remaining-tokens",
  "x-ratelimit-reset-tokens",
  "x-tollgate-cache",
  "x-tollgate-provider",
  "x-tollgate-dropped",
  "idempotent-replayed",
  "retry-after",
  "x-should-retry"
]

/** How long a browser may keep the answer to a preflight. */
const MAX_AGE_SECONDS = 600

export const crossOrigin = (origins: CorsOrigins) => {
  const isAllowed = (origin: string): boolean => origins.includes("*") || origins.includes(origin)
  const cors = HttpMiddleware.cors({
    allowedOrigins: origins.includes("*") ? [] : isAllowed,
    allowedMethods: ["GET", "POST", "PATCH", "DELETE"],
    exposedHeaders: exposed,
    maxAge: MAX_AGE_SECONDS
  })
  const isCrossOrigin = ({ headers, method, url }: HttpServerRequest.HttpServerRequest): boolean =>
    headers["origin"] !== undefined &&
    url.startsWith("/v1/") &&
    isAllowed(headers["origin"]) &&
    (method !== "OPTIONS" || headers["access-control-request-method"] !== undefined)
  return <E, R>(
    request: HttpServerRequest.HttpServerRequest,
    app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
  ): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | HttpServerRequest.HttpServerRequest> =>
    origins.length > 0 && isCrossOrigin(request) ? cors(app) : app
}
