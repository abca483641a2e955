/** The layer of an application whose traces go to a collector. */
import { Context, Effect, Layer, Tracer } from "effect"
import { HttpMiddleware } from "effect/http"
import { Tracing } from "../../../src/domain/Tracing.ts"
import { makeTracing } from "../../../src/observability/Traces.ts"
import { defaultSettings } from "../../../src/Settings.ts"
import { type Collector } from "./Collector.ts"

export interface Sampling {
  readonly sampler?: "parentbased_always_on" | "parentbased_traceidratio" | "always_on"
  readonly ratio?: number
  readonly capturesContent?: boolean
}

export const target = (url: string) => ({ url: `${url}/v1/traces`, headers: {}, timeoutMs: 5_000, gzip: false })

export const tracing = (
  collector: Collector,
  { capturesContent = false, ratio = 1, sampler = "parentbased_always_on" }: Sampling = {}
) =>
  Layer.effectContext(
    Effect.map(
      makeTracing({ ...defaultSettings.telemetry, attributes: { "deployment.environment.name": "test" } }, "one", {
        ...target(collector.url),
        sampler,
        ratio,
        delayMs: 5_000,
        queueSize: 1_000,
        batchSize: 100,
        capturesContent
      }),
      ({ tracer, tracing }) =>
        Context.make(Tracing, tracing).pipe(
          Context.add(Tracer.Tracer, tracer),
          Context.add(HttpMiddleware.TracerDisabledWhen, () => true)
        )
    )
  )
