/**
 * OpenTelemetry traces. Sampling is decided when a request arrives, before it costs anything. Spans
 * are sent in batches by OTLP. Error messages are removed from spans; only the error type stays. An
 * unavailable collector loses spans, never requests. Loaded only if traces are on.
 */
import * as OtelTracer from "@effect/opentelemetry/OtelTracer"
import { ROOT_CONTEXT, SpanKind, trace as traceApi, TraceFlags } from "@opentelemetry/api"
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto"
import { defaultResource, resourceFromAttributes } from "@opentelemetry/resources"
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  type Sampler,
  SamplingDecision,
  type SpanExporter,
  TraceIdRatioBasedSampler
} from "@opentelemetry/sdk-trace-base"
import { Context, Effect, Option, Redacted, type Scope, Tracer } from "effect"
import { Headers, HttpTraceContext } from "effect/http"
import { gatedTracer, passedState, type TracingShape } from "../domain/Tracing.ts"
import { type SettingsShape } from "../Settings.ts"
import { ReportingExporter } from "./ReportingExporter.ts"
import { Scrubbing } from "./Scrubbing.ts"

type TraceSettings = NonNullable<SettingsShape["telemetry"]["traces"]>

/** How long shutdown waits for the last spans to be sent. */
const SHUTDOWN_LIMIT = "3 seconds"

const samplers: Readonly<Record<TraceSettings["sampler"], (ratio: number) => Sampler>> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (ratio) => new TraceIdRatioBasedSampler(ratio),
  parentbased_always_on: () => new ParentBasedSampler({ root: new AlwaysOnSampler() }),
  parentbased_always_off: () => new ParentBasedSampler({ root: new AlwaysOffSampler() }),
  parentbased_traceidratio: (ratio) => new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) })
}

const exporterOf = ({ gzip, headers, timeoutMs, url }: TraceSettings): SpanExporter => {
  // The exporter's enum is in an internal package.
  const compression: object = gzip ? { compression: "gzip" } : {}
  return new OTLPTraceExporter({
    url,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Redacted.value(value)])),
    timeoutMillis: timeoutMs,
    ...compression
  })
}

/** Closing the scope sends the remaining spans. */
export const makeTracing = Effect.fnUntraced(function* (
  { attributes, serviceName }: SettingsShape["telemetry"],
  instanceId: string,
  traces: TraceSettings
): Effect.fn.Return<{ readonly tracing: TracingShape; readonly tracer: Tracer.Tracer }, never, Scope.Scope> {
  const random = new RandomIdGenerator()
  const sampler = samplers[traces.sampler](traces.ratio)
  /** The trace id that was sampled, for the span that begins next. */
  let chosen: string | null = null
  const takeTraceId = (): string => {
    const id = chosen ?? random.generateTraceId()
    chosen = null
    return id
  }

  const run = Effect.runForkWith(yield* Effect.context())
  const report = (isFailing: boolean): void =>
    void run(
      isFailing
        ? Effect.logWarning("the collector does not accept spans; spans are lost until it does")
        : Effect.logInfo("the collector accepts spans again")
    )

  const provider = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const batches = new BatchSpanProcessor(new ReportingExporter(exporterOf(traces), report), {
        maxQueueSize: traces.queueSize,
        maxExportBatchSize: traces.batchSize,
        scheduledDelayMillis: traces.delayMs,
        exportTimeoutMillis: traces.timeoutMs
      })
      return new BasicTracerProvider({
        resource: defaultResource().merge(
          resourceFromAttributes({ ...attributes, "service.name": serviceName, "service.instance.id": instanceId })
        ),
        sampler: new AlwaysOnSampler(),
        idGenerator: { generateTraceId: takeTraceId, generateSpanId: () => random.generateSpanId() },
        spanProcessors: [new Scrubbing(batches)]
      })
    }),
    (provider) =>
      Effect.ignore(
        Effect.timeout(
          Effect.tryPromise(() => provider.shutdown()),
          SHUTDOWN_LIMIT
        )
      ),
    { interruptible: true }
  )
  const otel = yield* Effect.provideService(OtelTracer.make, OtelTracer.OtelTracer, provider.getTracer("tollgate"))
  // Leaves out Effect's per-step hook for OpenTelemetry's current span, which is not used here.
  const tracer = Tracer.make({ span: (options) => otel.span(options) })

  const tracing: TracingShape = {
    capturesContent: traces.capturesContent,
    begin: ({ name, startedAtNanos, traceparent, tracestate }) => {
      const parent =
        traceparent === undefined
          ? Option.none<Tracer.ExternalSpan>()
          : HttpTraceContext.w3c(Headers.fromRecordUnsafe({ traceparent }))
      const traceId = Option.isSome(parent) ? parent.value.traceId : random.generateTraceId()
      const context = Option.match(parent, {
        onNone: () => ROOT_CONTEXT,
        onSome: ({ sampled, spanId }) =>
          traceApi.setSpanContext(ROOT_CONTEXT, {
            traceId,
            spanId,
            traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
            isRemote: true
          })
      })
      const { decision } = sampler.shouldSample(context, traceId, "", SpanKind.SERVER, {}, [])
      const passed = Option.isSome(parent) ? passedState(tracestate) : null
      if (decision !== SamplingDecision.RECORD_AND_SAMPLED) {
        return Option.isSome(parent) && traceparent !== undefined
          ? { _tag: "Passing", traceId, headers: { traceparent, tracestate: passed } }
          : null
      }
      chosen = traceId
      const span = tracer.span({
        name: name(),
        parent: Option.map(parent, ({ spanId }) =>
          OtelTracer.makeExternalSpan({ traceId, spanId, traceFlags: TraceFlags.SAMPLED })
        ),
        annotations: Context.empty(),
        links: [],
        startTime: startedAtNanos,
        kind: "server",
        root: false,
        sampled: true
      })
      chosen = null
      return { _tag: "Sampled", span, tracer, tracestate: passed }
    }
  }
  return { tracing, tracer: gatedTracer(tracer) }
})
