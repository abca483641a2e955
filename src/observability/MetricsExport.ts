/** Sends the metrics of the process by OTLP, again and again, as protobuf. A collector that is away is tried again a minute later. Loaded only where it is on. */
// @effect-diagnostics globalFetch:off -- it is what the client of the exporter stands on, and gets a time limit here
import { Effect, Layer, Redacted, type Scope } from "effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as OtlpExporter from "effect/observability/OtlpExporter"
import * as OtlpMetrics from "effect/observability/OtlpMetrics"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import { type SettingsShape } from "../Settings.ts"

/** Sends the `MetricRegistry` of the context until the scope closes, and once more then. */
export const exportMetrics = (
  { attributes, serviceName }: SettingsShape["telemetry"],
  instanceId: string,
  { gzip, headers, intervalMs, temporality, timeoutMs, url }: NonNullable<SettingsShape["telemetry"]["metrics"]>
): Effect.Effect<void, never, Scope.Scope> => {
  // A collector that takes a connection and says nothing must not stop all later ones.
  const bounded: typeof fetch = (input, init) =>
    fetch(input, {
      ...init,
      signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(init?.signal ? [init.signal] : [])])
    })
  return Effect.asVoid(
    Layer.build(
      OtlpMetrics.layer({
        url,
        resource: { serviceName, attributes: { ...attributes, "service.instance.id": instanceId } },
        headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Redacted.value(value)])),
        compression: gzip ? "gzip" : "none",
        exportInterval: intervalMs,
        temporality
      }).pipe(
        Layer.provide(
          Layer.mergeAll(
            OtlpExporter.layerFlusher,
            OtlpSerialization.layerProtobuf,
            Layer.provide(FetchHttpClient.layer, Layer.succeed(FetchHttpClient.Fetch, bounded))
          )
        )
      )
    )
  )
}
