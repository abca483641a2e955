/** The endpoints of health, liveness and readiness. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { version } from "../../api/Version.ts"
import { type HealthReport } from "../../api/Health.ts"
import { type DependencyHealth, Health } from "../../gateway/admin/Health.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "health",
  Effect.fnUntraced(function* (handlers) {
    const health = yield* Health
    return handlers.handleAll({
      report: () =>
        Effect.map(health.report, ({ cache, database, limitStore, providers, reasons, status, uptimeSeconds }) => {
          const report: HealthReport = {
            status,
            version,
            uptime_s: uptimeSeconds,
            reasons,
            dependencies: {
              database: dependency(database),
              limit_store: dependency(limitStore),
              cache: dependency(cache)
            },
            providers: providers.map(({ circuit, models, sinceMs, slug, status }) => ({
              slug,
              status,
              circuit,
              since: sinceMs === null ? null : new Date(sinceMs).toISOString(),
              models_down: models.filter(({ state }) => state === "open").length
            }))
          }
          return HttpServerResponse.jsonUnsafe(report, { status: status === "unavailable" ? 503 : 200 })
        }),
      live: () => Effect.succeed({ status: "ok" as const }),
      ready: () =>
        Effect.map(health.ready, (ready) =>
          HttpServerResponse.jsonUnsafe({ status: ready ? "ok" : "unavailable" }, { status: ready ? 200 : 503 })
        )
    })
  })
)

const dependency = ({ latencyMs, status }: DependencyHealth) => ({ status, latency_ms: latencyMs })
