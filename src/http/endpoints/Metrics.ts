/**
 * Metrics at the edge: `/metrics` behind the admin key, and the same without a key on a port that only operators reach. Names are
 * OpenTelemetry's, written as Prometheus has them: dots are underscores, units and counters say so at the end.
 */
import { Context, Effect, Metric } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import { Api } from "../../api/Api.ts"
import { metricsContentType } from "../../api/Metrics.ts"
import { RequestMetrics } from "../../gateway/telemetry/RequestMetrics.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "metrics",
  Effect.fnUntraced(function* (handlers) {
    const requestMetrics = yield* RequestMetrics
    return handlers.handle("read", () => exposition(requestMetrics))
  })
)

/** `/metrics` and nothing else, for whoever reaches the port that it is served on. */
export const open = Effect.gen(function* () {
  const requestMetrics = yield* RequestMetrics
  const { method, url } = yield* HttpServerRequest.HttpServerRequest
  return (method === "GET" || method === "HEAD") && /^\/metrics\/?(?:\?|$)/.test(url)
    ? HttpServerResponse.text(yield* exposition(requestMetrics), { contentType: metricsContentType })
    : HttpServerResponse.empty({ status: 404 })
})

const exposition = ({ context, refresh }: RequestMetrics["Service"]): Effect.Effect<string> =>
  Effect.map(refresh, () => {
    const metrics = Context.get(context, Metric.MetricRegistry).values()
    const names = new Map(Array.from(metrics, (metric) => [metric.id, nameOf(metric)]))
    return PrometheusMetrics.formatUnsafe(context, { metricNameMapper: (id) => names.get(id) ?? id })
  })

const units: Readonly<Record<string, string>> = { s: ".seconds", By: ".bytes", USD: ".usd" }

const nameOf = ({ attributes, id, type }: Pick<Metric.Metric.Snapshot, "attributes" | "id" | "type">): string =>
  id + (units[attributes?.["unit"] ?? ""] ?? "") + (type === "Counter" ? ".total" : "")
