/**
 * The port for traces: decides whether a request is traced, and which trace context goes to the
 * next hop. By default nothing is recorded and the client's context is passed to the provider.
 * Contexts follow W3C Trace Context.
 */
import { Context, Exit, Option, Tracer } from "effect"

export interface TraceHeaders {
  readonly traceparent: string
  readonly tracestate: string | null
}

/** A request as it arrives. */
export interface Arrival {
  /** As sent, unvalidated. */
  readonly traceparent: string | undefined
  readonly tracestate: string | undefined
  /** Span name, such as `POST /v1/chat/completions`. Called only if the request is traced. */
  readonly name: () => string
  readonly startedAtNanos: bigint
}

/**
 * `Sampled`: the request has a span. `Passing`: it is not recorded, and its context goes to the
 * next hop unchanged.
 */
export type Trace =
  | {
      readonly _tag: "Sampled"
      readonly span: Tracer.Span
      readonly tracer: Tracer.Tracer
      readonly tracestate: string | null
    }
  | { readonly _tag: "Passing"; readonly traceId: string; readonly headers: TraceHeaders }

export interface TracingShape {
  /** Decides, and begins the request's span. Null: nothing to record and nothing to pass on. */
  readonly begin: (arrival: Arrival) => Trace | null
  /** True if prompts and answers are recorded, masked. */
  readonly capturesContent: boolean
}

/** Accepts a `tracestate` of bounded length, printable, on one line. */
const isTraceState = (text: string | undefined): text is string =>
  text !== undefined && /^[\x20-\x7e]{1,512}$/.test(text)

/** The `tracestate` to pass on: unchanged if valid, otherwise null. */
export const passedState = (tracestate: string | undefined): string | null =>
  isTraceState(tracestate) ? tracestate : null

const traceIdOf = (traceparent: string | undefined): string | undefined =>
  traceparent === undefined ? undefined : /^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/.exec(traceparent)?.[1]

/** Passes the context on unchanged, without recording. Null if there is none. */
const passing = ({ traceparent, tracestate }: Arrival): Trace | null => {
  const traceId = traceIdOf(traceparent)
  return traceId === undefined || traceparent === undefined
    ? null
    : { _tag: "Passing", traceId, headers: { traceparent, tracestate: passedState(tracestate) } }
}

export const Tracing = Context.Reference<TracingShape>("tollgate/domain/Tracing", {
  defaultValue: () => ({ begin: passing, capturesContent: false })
})

/** The shared span of everything that is not recorded. */
const inertSpan: Tracer.Span = {
  _tag: "Span",
  name: "",
  spanId: "0000000000000000",
  traceId: "00000000000000000000000000000000",
  parent: Option.none(),
  annotations: Context.empty(),
  status: { _tag: "Ended", startTime: 0n, endTime: 0n, exit: Exit.void },
  attributes: new Map(),
  links: [],
  sampled: false,
  kind: "internal",
  end: () => undefined,
  attribute: () => undefined,
  event: () => undefined,
  addLinks: () => undefined
}

/** Makes spans only below recorded ones. With `null`: no spans at all. */
export const gatedTracer = (tracer: Tracer.Tracer | null): Tracer.Tracer =>
  Tracer.make({
    span: (options) =>
      tracer !== null && Option.isSome(options.parent) && options.parent.value.sampled
        ? tracer.span(options)
        : inertSpan
  })

/** Trace headers for calls to providers, or null. */
export const OutgoingTrace = Context.Reference<TraceHeaders | null>("tollgate/domain/OutgoingTrace", {
  defaultValue: () => null
})

export const headersOfSpan = ({ sampled, spanId, traceId }: Tracer.Span, tracestate: string | null): TraceHeaders => ({
  traceparent: `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`,
  tracestate
})
