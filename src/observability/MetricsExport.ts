/**
 * Sends the process's metrics by OTLP at intervals, as protobuf. After a failure it tries again a
 * minute later. Loaded only if metrics export is on.
 */
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
  // A collector that accepts the connection and never answers must not block later exports.
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
