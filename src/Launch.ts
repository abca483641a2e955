/** The gateway as one effect that runs until it is told to end: what main.ts launches, and `tollgate start`. It says why it fails. */
import { Layer } from "effect"
import * as Observability from "./Observability.ts"
import * as Start from "./Start.ts"

export const gateway = Start.layer.pipe(
  Layer.provide(Observability.layer),
  Layer.provide(Start.settings),
  Layer.launch,
  Observability.reportFailure
)
