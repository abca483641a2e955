/** `TOLLGATE_ADMIN_PORT`: a port for operators only. It serves the metrics. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { createServer } from "node:http"
import { listenFault } from "./ListenFault.ts"
import * as MetricsRoutes from "../endpoints/Metrics.ts"

export const layer = ({ adminPort, host }: { readonly adminPort: number | null; readonly host: string }) =>
  adminPort === null
    ? Layer.empty
    : Layer.effectDiscard(Effect.andThen(HttpServer.serveEffect(MetricsRoutes.open), logAddress)).pipe(
        Layer.provide(NodeHttpServer.layer(() => createServer(), { host, port: adminPort })),
        Layer.catchTag("ServeError", (error) =>
          Layer.effectDiscard(
            Effect.fail(listenFault({ host, port: adminPort, setting: "TOLLGATE_ADMIN_PORT" })(error))
          )
        )
      )

const logAddress = Effect.flatMap(HttpServer.HttpServer, ({ address }) =>
  Effect.annotateLogs(Effect.logInfo("metrics are open"), { url: `${HttpServer.formatAddress(address)}/metrics` })
)
