/**
 * The gateway as one effect that runs until it is stopped. main.ts and `tollgate start` launch it.
 * It prints the reason if it fails.
 */
import { Layer } from "effect"
import * as Observability from "./Observability.ts"
import * as Start from "./Start.ts"

export const gateway = Start.layer.pipe(
  Layer.provide(Observability.layer),
  Layer.provide(Start.settings),
  Layer.launch,
  Observability.reportFailure
)
