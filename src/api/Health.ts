/** Health of the gateway and its dependencies. Public. */
import { Schema } from "effect"
import { AnsweredMoment } from "./schemas/Moments.ts"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"

const Dependency = Schema.Struct({ status: Schema.Literals(["ok", "unavailable"]), latency_ms: Schema.Finite })

export const HealthReport = Schema.Struct({
  status: Schema.Literals(["ok", "degraded", "overloaded", "unavailable"]),
  version: Schema.String,
  uptime_s: Schema.Int,
  reasons: Schema.Array(Schema.String).annotate({
    description: "Why the status is not `ok`, a sentence each: dependencies that do not answer, and providers."
  }),
  dependencies: Schema.Struct({ database: Dependency, limit_store: Dependency, cache: Dependency }),
  providers: Schema.Array(
    Schema.Struct({
      slug: Schema.String,
      status: Schema.Literals(["ok", "degraded", "down"]),
      circuit: Schema.Literals(["closed", "open", "half_open"]),
      since: Schema.NullOr(AnsweredMoment).annotate({
        description: "Since when this process knows that calls fail, in RFC 3339 and UTC. Null: they do not."
      }),
      models_down: Schema.Int.annotate({ description: "Number of models that get no calls." })
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
