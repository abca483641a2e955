/**
 * OpenTelemetry traces. Sampling is decided when a request arrives, before it costs anything. Spans
 * are sent in batches by OTLP (SpanExport.ts). Loaded only if traces are on.
 */
import { Context, Effect, Option, type Scope, Tracer } from "effect"
import { Headers, HttpTraceContext } from "effect/http"
import * as OtlpResource from "effect/observability/OtlpResource"
import { makeRandomHex } from "../domain/Ids.ts"
import { gatedTracer, passedState, type TracingShape } from "../domain/Tracing.ts"
import { type SettingsShape } from "../Settings.ts"
import { RecordedSpan } from "./RecordedSpan.ts"
import { exportSpans } from "./SpanExport.ts"

type TraceSettings = NonNullable<SettingsShape["telemetry"]["traces"]>

const TRACE_ID_BYTES = 16
const SPAN_ID_BYTES = 8

type Sampler = (parent: Tracer.AnySpan | undefined, traceId: string) => boolean

/** Closing the scope sends the remaining spans. */
export const makeTracing = Effect.fnUntraced(function* (
  { attributes, serviceName }: SettingsShape["telemetry"],
  instanceId: string,
  traces: TraceSettings
): Effect.fn.Return<{ readonly tracing: TracingShape; readonly tracer: Tracer.Tracer }, never, Scope.Scope> {
  const randomHex = makeRandomHex()
  const isSampled = samplerOf(traces)
  const add = yield* exportSpans(
    OtlpResource.make({ serviceName, attributes: { ...attributes, "service.instance.id": instanceId } }),
    traces
  )
  const tracer = Tracer.make({
    span: (options) => {
      const traceId = Option.isSome(options.parent) ? options.parent.value.traceId : randomHex(TRACE_ID_BYTES)
      return new RecordedSpan(options, traceId, randomHex(SPAN_ID_BYTES), add)
    }
  })

  const tracing: TracingShape = {
    capturesContent: traces.capturesContent,
    begin: ({ name, startedAtNanos, traceparent, tracestate }) => {
      const parent =
        traceparent === undefined
          ? undefined
          : Option.getOrUndefined(HttpTraceContext.w3c(Headers.fromRecordUnsafe({ traceparent })))
      const traceId = parent?.traceId ?? randomHex(TRACE_ID_BYTES)
      const passed = parent === undefined ? null : passedState(tracestate)
      if (!isSampled(parent, traceId)) {
        return parent === undefined || traceparent === undefined
          ? null
          : { _tag: "Passing", traceId, headers: { traceparent, tracestate: passed } }
      }
      const span = new RecordedSpan(
        {
          name: name(),
          parent: Option.fromUndefinedOr(parent),
          annotations: Context.empty(),
          links: [],
          startTime: startedAtNanos,
          kind: "server",
          root: false,
          sampled: true
        },
        traceId,
        randomHex(SPAN_ID_BYTES),
        add
      )
      return { _tag: "Sampled", span, tracer, tracestate: passed }
    }
  }
  return { tracing, tracer: gatedTracer(tracer) }
})

const samplerOf = ({ ratio, sampler }: TraceSettings): Sampler => {
  const roots: Sampler = sampler.endsWith("always_on")
    ? () => true
    : sampler.endsWith("always_off")
      ? () => false
      : (_, traceId) => isInShare(traceId, ratio)
  return sampler.startsWith("parentbased_") ? (parent, traceId) => parent?.sampled ?? roots(parent, traceId) : roots
}

/**
 * Whether a trace is in the share, decided by its id as OpenTelemetry's SDK for JavaScript does, so
 * that services with the same share choose the same traces.
 */
const isInShare = (traceId: string, share: number): boolean => {
  let folded = 0
  for (let at = 0; at < traceId.length; at += 8) folded ^= Number.parseInt(traceId.slice(at, at + 8), 16)
  return folded >>> 0 < (share === 1 ? 2 ** 32 : Math.floor(share * 0xffffffff))
}
