/** Health of the gateway and its dependencies. Public. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"

const Dependency = Schema.Struct({ status: Schema.Literals(["ok", "unavailable"]), latency_ms: Schema.Finite })

export const HealthReport = Schema.Struct({
  status: Schema.Literals(["ok", "degraded", "overloaded", "unavailable"]),
  version: Schema.String,
  uptime_s: Schema.Int,
  dependencies: Schema.Struct({ database: Dependency, limit_store: Dependency, cache: Dependency }),
  providers: Schema.Array(
    Schema.Struct({
      slug: Schema.String,
      status: Schema.Literals(["ok", "degraded", "down"]),
      circuit: Schema.Literals(["closed", "open", "half_open"])
    })
  )
}).annotate({ identifier: "HealthReport" })
export type HealthReport = typeof HealthReport.Type

export const Probe = Schema.Struct({ status: Schema.Literals(["ok", "unavailable"]) }).annotate({ identifier: "Probe" })

export class HealthGroup extends HttpApiGroup.make("health")
  .add(
    HttpApiEndpoint.get("report", "/health", {
      success: [HealthReport, HealthReport.annotate({ identifier: "UnhealthyReport" }).pipe(HttpApiSchema.status(503))]
    }).annotateMerge(
      OpenApi.annotations({ summary: "Health of the gateway and its dependencies; 503 if it cannot serve" })
    ),
    HttpApiEndpoint.get("live", "/health/live", { success: Probe }).annotateMerge(
      OpenApi.annotations({ summary: "Liveness: the process runs" })
    ),
    HttpApiEndpoint.get("ready", "/health/ready", {
      success: [Probe, Probe.annotate({ identifier: "NotReady" }).pipe(HttpApiSchema.status(503))]
    }).annotateMerge(
      OpenApi.annotations({ summary: "Readiness: migrated, dependencies answer, not draining; 503 otherwise" })
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "Health" })) {}
