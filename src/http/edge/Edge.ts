/**
 * Outermost middleware: gives each request an id, a log line and a trace, and turns every outcome
 * into a response. An unknown route is a 404, a method that the route does not have is a 405, and a
 * defect is a 500 without its cause. The common headers are set here, on successes and errors
 * alike.
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Cause, Clock, Context, Effect, Scope, Tracer } from "effect"
import { HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { gatewayError, MethodNotAllowed, NotFound, RequestUnreadable } from "../../domain/Errors.ts"
import { Ids } from "../../domain/Ids.ts"
import { addFinalizer } from "../../domain/runtime/OnClose.ts"
import { OutgoingTrace, type Trace, Tracing } from "../../domain/Tracing.ts"
import { type EndedRequest, RequestMetrics } from "../../gateway/telemetry/RequestMetrics.ts"
import { Load } from "../../gateway/process/Load.ts"
import { type ResponseMetadata } from "../../gateway/request/ResponseMetadata.ts"
import { RefusalLog } from "../../gateway/telemetry/RefusalLog.ts"
import { RequestTrace } from "../../gateway/telemetry/RequestTrace.ts"
import { RequestCounters } from "../../gateway/telemetry/RequestCounters.ts"
import { cameByHttps, forwarded } from "../auth/ClientAddress.ts"
import { CurrentRequest, newRequest, type RequestState } from "./CurrentRequest.ts"
import { endTrace } from "./EndTrace.ts"
import { errorResponse, internalErrorResponse, recordError } from "../errors/ErrorResponse.ts"
import { surfaceOf } from "../errors/Surface.ts"
import { type CorsOrigins, crossOrigin } from "./Cors.ts"
import { refusalOf } from "./Refusal.ts"
import * as RequestLog from "./RequestLog.ts"
import { methodsOf, pathMeant, routeOf } from "./Routes.ts"

/** Status of a request whose client left before the response, as in nginx. */
const LEFT_STATUS = 499

/** Health checks and scrapes. They are not traced: they come every few seconds and say nothing. */
const probe = /^\/(?:health|metrics)(?:[/?]|$)/
const acceptedId = /^[A-Za-z0-9._-]{1,128}$/

/** Paths are matched by exact case and without doubled slashes. One trailing slash is allowed. */
export const routerConfig = { caseSensitive: true, ignoreDuplicateSlashes: false } as const

export interface EdgeOptions {
  readonly hsts: "auto" | "always" | "never"
  readonly trustedProxies: ReadonlyArray<string>
  readonly corsOrigins?: CorsOrigins
}

export const layer = ({ corsOrigins = [], hsts, trustedProxies }: EdgeOptions) =>
  HttpRouter.middleware(
    Effect.gen(function* () {
      const load = yield* Load
      const isSecure = cameByHttps(trustedProxies)
      const withCors = crossOrigin(corsOrigins)
      const ids = yield* Ids
      const requestCounters = yield* RequestCounters
      const requestMetrics = yield* RequestMetrics
      const refusals = yield* RefusalLog
      const log = yield* RequestLog.make
      const tracing = yield* Tracing
      const clock = yield* Clock.Clock
      return (app) =>
        Effect.withFiber((fiber) => {
          const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
          const startedAt = clock.currentTimeNanosUnsafe()
          const sent = request.headers["x-request-id"]
          const requestId =
            sent !== undefined && acceptedId.test(sent) ? sent : ids.next("req", clock.currentTimeMillisUnsafe())
          let status = LEFT_STATUS
          const trace = probe.test(request.url)
            ? null
            : tracing.begin({
                traceparent: request.headers["traceparent"],
                tracestate: request.headers["tracestate"],
                name: () => nameOf(request),
                startedAtNanos: startedAt
              })
          const spans = trace?._tag === "Sampled" ? new RequestTrace(trace, clock) : null
          const state = newRequest(requestId, spans, surfaceOf(request.url))
          requestMetrics.onStart()
          const end = () => {
            const ended: EndedRequest = {
              method: request.method,
              // A request whose client left has no route in its context.
              route: state.route ?? routeNameOf(request),
              status,
              durationMs: Number(clock.currentTimeNanosUnsafe() - startedAt) / 1e6,
              rejection: state.rejection,
              metadata: state.recorder.metadata
            }
            requestMetrics.onEnd(ended)
            const traceId = trace === null ? null : trace._tag === "Sampled" ? trace.span.traceId : trace.traceId
            endTrace(state, ended)
            if (state.refused !== null) {
              const refused = refusalOf(state, request, clock.currentTimeMillisUnsafe() - ended.durationMs)
              if (refused !== null) refusals.record(refused)
            }
            load.release(state.share)
            return log(state, ended, traceId)
          }
          const answer = (response: HttpServerResponse.HttpServerResponse) => {
            // The router puts the matched route into the fiber's context.
            state.route = Context.getOrUndefined(fiber.context, HttpRouter.RouteContext)?.route.path ?? null
            status = response.status
            requestCounters.countAnswer(status, state.rejection)
            return withHeaders(response, state, hsts === "always" || (hsts === "auto" && isSecure(request)))
          }
          // The router restores the fiber's context at the end of the request.
          fiber.setContext(traced(Context.add(fiber.context, CurrentRequest, state), trace))
          // The request's scope closes after its response was sent, streams included.
          const ended = addFinalizer(Context.getUnsafe(fiber.context, Scope.Scope), end)
          return Effect.flatMapEager(ended, () =>
            Effect.matchCauseEffect(hasOneHost(request) ? withCors(request, app) : twoHosts, {
              onSuccess: (response) => Effect.succeed(answer(response)),
              onFailure: (cause) => Effect.map(ending(cause, request, state), answer)
            })
          )
        }).pipe(forwarded(trustedProxies))
    }),
    { global: true }
  )

/** Of two hosts, a proxy and a server might each pick a different one. */
const hasOneHost = (request: HttpServerRequest.HttpServerRequest): boolean => {
  const { rawHeaders } = NodeHttpServerRequest.toIncomingMessage(request)
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name !== undefined && name.length === 4 && name.toLowerCase() === "host") hosts++
  }
  return hosts < 2
}

const twoHosts = Effect.map(CurrentRequest, (state) => {
  const error = gatewayError(new RequestUnreadable({ fault: "malformed" }))
  recordError(state, error)
  return errorResponse(error, state)
})

/** The response to a request that failed. Interruption by a client that left is passed on. */
const ending = <E>(cause: Cause.Cause<E>, request: HttpServerRequest.HttpServerRequest, state: RequestState) => {
  if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
  const failure = cause.reasons.find((reason) => reason._tag === "Fail")?.error
  if (failure instanceof HttpServerError.HttpServerError && failure.reason._tag === "RouteNotFound") {
    return Effect.succeed(unrouted(request, state))
  }
  return Effect.as(
    Effect.annotateLogs(Effect.logError("a request ended in a defect", cause), { request_id: state.requestId }),
    internalErrorResponse(state)
  )
}

/**
 * The context of a traced request. A foreign trace that is not sampled is only passed on to
 * providers.
 */
const traced = (context: Context.Context<never>, trace: Trace | null): Context.Context<never> => {
  if (trace === null) return context
  return trace._tag === "Sampled"
    ? Context.add(context, Tracer.ParentSpan, trace.span)
    : Context.add(context, OutgoingTrace, trace.headers)
}

/** The route as declared. */
const routeNameOf = ({ method, url }: HttpServerRequest.HttpServerRequest): string => {
  const [path = ""] = url.split("?")
  return routeOf(method, path) ?? "unmatched"
}

/** The name of the request's span. */
const nameOf = (request: HttpServerRequest.HttpServerRequest): string => `${request.method} ${routeNameOf(request)}`

/** Paths that clients probe to see whether the server answers. */
const probes: ReadonlySet<string> = new Set(["/", "/api/hello"])

const unrouted = (request: HttpServerRequest.HttpServerRequest, state: RequestState) => {
  const [path = ""] = request.url.split("?")
  if (request.method === "HEAD" && probes.has(path)) return HttpServerResponse.empty({ status: 200 })
  const allow = methodsOf(path)
  return errorResponse(
    gatewayError(
      // An unreadable path is not a route, even if it matches the form of one.
      allow.length > 0 && !allow.some((method) => method === request.method)
        ? new MethodNotAllowed({ allow })
        : new NotFound({
            what: "route",
            id: `${request.method} ${path.slice(0, 200)}`,
            meant: allow.length > 0 ? null : (pathMeant(request.method, path)?.slice(0, 200) ?? null)
          })
    ),
    state
  )
}

/**
 * The response with the common headers. A response of a request to a model was made for it alone,
 * with headers of its own, because it has a body: they are completed in place, not copied.
 */
const withHeaders = (
  response: HttpServerResponse.HttpServerResponse,
  state: RequestState,
  isStrict: boolean
): HttpServerResponse.HttpServerResponse => {
  const isOwn = state.isMetered && response.body._tag !== "Empty"
  const headers: Record<string, string> = isOwn ? response.headers : {}
  const { metadata } = state.recorder
  headers["x-request-id"] = state.requestId
  // The name that Anthropic's libraries read.
  if (state.surface === "messages") headers["request-id"] = state.requestId
  if (metadata.generationId !== null) headers["x-generation-id"] = metadata.generationId
  if (metadata.cache !== null) headers["x-tollgate-cache"] = metadata.cache
  if (metadata.replayed) headers["idempotent-replayed"] = "true"
  if (metadata.provider !== null) headers["x-tollgate-provider"] = metadata.provider
  if (metadata.dropped.length > 0) headers["x-tollgate-dropped"] = metadata.dropped.join(", ")
  addLimits(headers, metadata)
  headers["x-content-type-options"] = "nosniff"
  // For responses about keys, people and money. Pages and model responses set it themselves.
  if (!state.isMetered && response.status < 400 && response.headers["cache-control"] === undefined) {
    headers["cache-control"] = "no-store"
  }
  if (isStrict) headers["strict-transport-security"] = "max-age=31536000"
  return isOwn ? response : HttpServerResponse.setHeaders(response, headers)
}

const addLimits = (headers: Record<string, string>, { requests, tokens }: ResponseMetadata): void => {
  if (requests === null || tokens === null) return
  headers["x-ratelimit-limit-requests"] = String(requests.limit)
  headers["x-ratelimit-remaining-requests"] = String(Math.max(0, Math.floor(requests.remaining)))
  headers["x-ratelimit-reset-requests"] = duration(requests.resetMs)
  headers["x-ratelimit-limit-tokens"] = String(tokens.limit)
  headers["x-ratelimit-remaining-tokens"] = String(Math.max(0, Math.floor(tokens.remaining)))
  headers["x-ratelimit-reset-tokens"] = duration(tokens.resetMs)
}

/** In OpenAI's format: `350ms`, `2.5s`, `1m30s`. */
const duration = (ms: number): string => {
  if (ms < 1000) return `${Math.ceil(ms)}ms`
  const minutes = Math.floor(ms / 60_000)
  const rest = `${Number(((ms % 60_000) / 1000).toFixed(3))}s`
  return minutes > 0 ? `${minutes}m${rest}` : rest
}
