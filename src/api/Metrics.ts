/** `GET /metrics`: counters and gauges of this process, in Prometheus's text format. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AdminAuthorization } from "./Authorization.ts"
import { errors } from "./Failure.ts"

export const metricsContentType = "text/plain; version=0.0.4; charset=utf-8"

export class MetricsGroup extends HttpApiGroup.make("metrics")
  .add(
    HttpApiEndpoint.get("read", "/metrics", {
      success: Schema.String.pipe(HttpApiSchema.asText({ contentType: metricsContentType })),
      error: errors(500)
    }).annotateMerge(OpenApi.annotations({ summary: "Metrics of this process, in Prometheus's text format" }))
  )
  .middleware(AdminAuthorization)
  .annotateMerge(OpenApi.annotations({ title: "Administration: metrics" })) {}
