/**
 * The metrics endpoint: `/metrics` behind the admin key, and without a key on a separate port for
 * operators. Names are those of OpenTelemetry in Prometheus' form: dots become underscores, and
 * units and counters have suffixes.
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

/** Serves only `/metrics`, to every client that reaches its port. */
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
