/** The process: Start and Observability, launched until a signal; nothing else. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Layer } from "effect"
import * as Observability from "./Observability.ts"
import * as Start from "./Start.ts"

Start.layer.pipe(
  Layer.provide(Observability.layer),
  Layer.provide(Start.settings),
  Layer.launch,
  Observability.reportFailure,
  NodeRuntime.runMain({ disableErrorReporting: true, teardown: Observability.teardown })
)
