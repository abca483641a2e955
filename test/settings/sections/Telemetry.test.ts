/** OpenTelemetry's variables: their effect, and their faults. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Settings } from "../../../src/Settings.ts"
import { sourceOf } from "../source.ts"

const telemetryOf = (env: Record<string, string>) =>
  Effect.map(Settings.load(sourceOf(env)), ({ telemetry }) => telemetry)
const faultsOf = (env: Record<string, string>) =>
  Effect.map(Effect.flip(Settings.load(sourceOf(env))), ({ faults }) => faults)

const endpoint = "http://127.0.0.1:4318"

describe("an endpoint", () => {
  it.effect("is where traces and metrics go, with the defaults of the standard", () =>
    Effect.gen(function* () {
      const { metrics, traces } = yield* telemetryOf({ OTEL_EXPORTER_OTLP_ENDPOINT: `${endpoint}/` })
      const target = { headers: {}, timeoutMs: 10_000, gzip: false }
      assert.deepStrictEqual(traces, {
        ...target,
        url: `${endpoint}/v1/traces`,
        sampler: "parentbased_always_on",
        ratio: 1,
        delayMs: 5_000,
        queueSize: 2_048,
        batchSize: 512,
        capturesContent: false
      })
      assert.deepStrictEqual(metrics, {
        ...target,
        url: `${endpoint}/v1/metrics`,
        intervalMs: 60_000,
        temporality: "cumulative"
      })
    })
  )

  it.effect("of one signal is taken as it is, and switches nothing else on", () =>
    Effect.gen(function* () {
      const { metrics, traces } = yield* telemetryOf({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${endpoint}/spans` })
      assert.deepStrictEqual([traces?.url, metrics], [`${endpoint}/spans`, null])
    })
  )

  it.effect("counts for nothing where a signal, or all of it, is switched off", () =>
    Effect.gen(function* () {
      const common = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }
      const some = yield* telemetryOf({ ...common, OTEL_TRACES_EXPORTER: "none" })
      assert.deepStrictEqual([some.traces, some.metrics?.url], [null, `${endpoint}/v1/metrics`])
      const none = yield* telemetryOf({ ...common, OTEL_SDK_DISABLED: "true" })
      assert.deepStrictEqual([none.traces, none.metrics], [null, null])
    })
  )
})

it.effect("headers are secret, decoded, and of one signal where it has its own", () =>
  Effect.gen(function* () {
    const { metrics, traces } = yield* telemetryOf({
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20hunter2, x-tenant=a",
      OTEL_EXPORTER_OTLP_METRICS_HEADERS: "x-tenant=b"
    })
    assert.deepStrictEqual(traces?.headers, {
      authorization: Redacted.make("Bearer hunter2"),
      "x-tenant": Redacted.make("a")
    })
    assert.deepStrictEqual(metrics?.headers, { "x-tenant": Redacted.make("b") })
  })
)

it.effect("sampling, batches, names: each by its own variable", () =>
  Effect.gen(function* () {
    const settings = yield* telemetryOf({
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
      OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: "50",
      OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
      OTEL_TRACES_SAMPLER_ARG: "0.25",
      OTEL_BSP_MAX_QUEUE_SIZE: "100",
      OTEL_RESOURCE_ATTRIBUTES: "service.name=other,deployment.environment.name=test",
      OTEL_METRIC_EXPORT_INTERVAL: "1000",
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true"
    })
    assert.strictEqual(settings.serviceName, "other")
    assert.deepStrictEqual(settings.attributes, {
      "service.name": "other",
      "deployment.environment.name": "test"
    })
    assert.deepInclude(settings.traces, {
      gzip: true,
      timeoutMs: 50,
      sampler: "parentbased_traceidratio",
      ratio: 0.25,
      queueSize: 100,
      // A batch is never larger than the queue.
      batchSize: 100,
      capturesContent: true
    })
    assert.deepInclude(settings.metrics, { gzip: true, timeoutMs: 10_000, intervalMs: 1_000 })
  })
)

it.effect("a wrong one stops the start, and headers are not shown; one that is not known is left alone", () =>
  Effect.gen(function* () {
    const faults = yield* faultsOf({
      OTEL_EXPORTER_OTLP_ENDPOINT: "127.0.0.1:4318",
      OTEL_EXPORTER_OTLP_HEADERS: "hunter2",
      OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
      OTEL_TRACES_SAMPLER: "jaeger_remote",
      OTEL_TRACES_SAMPLER_ARG: "2"
    })
    assert.deepStrictEqual(faults.map(({ setting }) => setting).toSorted(), [
      "OTEL_EXPORTER_OTLP_ENDPOINT",
      "OTEL_EXPORTER_OTLP_HEADERS",
      "OTEL_EXPORTER_OTLP_PROTOCOL",
      "OTEL_TRACES_SAMPLER",
      "OTEL_TRACES_SAMPLER_ARG"
    ])
    assert.notInclude(JSON.stringify(faults), "hunter2")
    assert.isNull((yield* telemetryOf({ OTEL_ANYTHING: "x" })).traces)
  })
)
