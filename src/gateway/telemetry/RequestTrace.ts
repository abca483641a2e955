/**
 * The spans of a sampled request: its own, one for each stage, one for each call to a provider. As
 * in the log, attributes contain only names from the settings, figures and kinds of errors; never a
 * prompt, a key, a header or a provider's text. Without sampling there is no RequestTrace, and
 * stages run unchanged.
 */
import { Cause, type Clock, Context, Data, Effect, Exit, Option, String as Str, type Tracer } from "effect"
import { type Candidate } from "../../domain/Catalog.ts"
import { GatewayError } from "../../domain/Errors.ts"
import { type Attempt, type Generation, knownFinishReason } from "../../domain/Generation.ts"
import { headersOfSpan, OutgoingTrace, type Trace } from "../../domain/Tracing.ts"

export type SpanAttributes = Readonly<Record<string, string | number | boolean | ReadonlyArray<string> | null>>

/** The error recorded on a span: its kind without its message. */
class SpanFailure extends Data.TaggedError("SpanFailure")<{ readonly message: string }> {}

export class RequestTrace {
  readonly span: Tracer.Span
  readonly #tracer: Tracer.Tracer
  readonly #tracestate: string | null
  readonly #clock: Clock.Clock
  /** Parent of the calls, once the router runs. */
  #route: Tracer.Span | null = null
  /** Spans of calls whose streams are still read, by index of the attempt. */
  readonly #open = new Map<number, Tracer.Span>()

  constructor({ span, tracer, tracestate }: Extract<Trace, { readonly _tag: "Sampled" }>, clock: Clock.Clock) {
    this.span = span
    this.#tracer = tracer
    this.#tracestate = tracestate
    this.#clock = clock
  }

  /** Runs `self` in a span. `after` makes attributes from its result. */
  stage<A, E, R>(
    name: string,
    self: Effect.Effect<A, E, R>,
    after?: (value: A) => SpanAttributes
  ): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      const span = this.#begin(name, this.span, "internal")
      if (name === ROUTE) this.#route = span
      return Effect.onExit(self, (exit) =>
        Effect.sync(() => {
          if (Exit.isSuccess(exit) && after !== undefined) annotate(span, after(exit.value))
          this.#end(span, exit)
        })
      )
    })
  }

  /** Starts the span of a call to a provider; `called` ends it. */
  beginCall(operation: string, { offer, provider }: Candidate, number: number, more: SpanAttributes): Tracer.Span {
    const span = this.#begin(`${operation} ${offer.id}`, this.#route ?? this.span, "client")
    annotate(span, {
      "gen_ai.operation.name": operation,
      "gen_ai.provider.name": provider.slug,
      "gen_ai.request.model": offer.upstream,
      "gen_ai.response.model": offer.id,
      "tollgate.attempt": number,
      ...more
    })
    return span
  }

  /** Passes the span to the provider in the trace headers of the call. */
  within<A, E, R>(span: Tracer.Span, call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.provideService(call, OutgoingTrace, headersOfSpan(span, this.#tracestate))
  }

  /**
   * Ends the span of a call. The span of a stream that has started stays open until `endCall` or
   * the end of the request.
   */
  called(span: Tracer.Span, at: number, attempt: Attempt, isStream: boolean): void {
    if (attempt.status !== "ok" || !isStream) return this.#endCall(span, attempt, {})
    annotate(span, { "gen_ai.response.time_to_first_chunk": attempt.latencyMs / 1000 })
    span.event("tollgate.first_token", this.#clock.currentTimeNanosUnsafe())
    this.#open.set(at, span)
  }

  /** Ends the span of the stream at this index of the attempts. */
  endCall(at: number, attempt: Attempt | undefined): void {
    const span = this.#open.get(at)
    if (span === undefined || attempt === undefined) return
    this.#open.delete(at)
    this.#endCall(span, attempt, {})
  }

  /**
   * Ends all open spans, then the request's own. `failure` is the kind of error that the request
   * ended with.
   */
  end(attributes: SpanAttributes, generation: Generation | null, failure: string | null): void {
    const last = Math.max(...this.#open.keys())
    for (const [at, span] of this.#open) {
      const attempt = generation?.attempts[at]
      if (attempt === undefined) this.#close(span, Exit.interrupt())
      else
        this.#endCall(
          span,
          attempt,
          at === last && generation !== null ? usageOf(generation) : {},
          generation?.cancelled
        )
    }
    this.#open.clear()
    annotate(this.span, attributes)
    this.#close(this.span, failure === null ? Exit.void : failed(failure))
  }

  #begin(name: string, parent: Tracer.Span, kind: Tracer.SpanKind): Tracer.Span {
    return this.#tracer.span({
      name,
      parent: Option.some(parent),
      annotations: Context.empty(),
      links: [],
      startTime: this.#clock.currentTimeNanosUnsafe(),
      kind,
      root: false,
      sampled: true
    })
  }

  #endCall(span: Tracer.Span, attempt: Attempt, more: SpanAttributes, cancelled = false): void {
    const { errorType, httpStatus, status } = attempt
    annotate(span, { "tollgate.attempt.status": status, "http.response.status_code": httpStatus, ...more })
    if (errorType !== null) {
      span.event("gen_ai.client.operation.exception", this.#clock.currentTimeNanosUnsafe(), {
        "exception.type": errorType
      })
    }
    if (errorType !== null) return this.#close(span, failed(errorType), errorType)
    this.#close(span, status === "cancelled" || cancelled ? Exit.interrupt() : Exit.void)
  }

  #end(span: Tracer.Span, exit: Exit.Exit<unknown, unknown>): void {
    if (Exit.isSuccess(exit)) return this.#close(span, Exit.void)
    if (Cause.hasInterruptsOnly(exit.cause)) return this.#close(span, Exit.interrupt())
    const kind = kindOf(exit.cause)
    this.#close(span, failed(kind), kind)
  }

  #close(span: Tracer.Span, exit: Exit.Exit<void, SpanFailure>, errorType?: string): void {
    if (errorType !== undefined) span.attribute("error.type", errorType)
    span.end(this.#clock.currentTimeNanosUnsafe(), exit)
  }
}

/** The stage that is the parent of calls to providers. */
export const ROUTE = "tollgate.route"
/** The stage that checks the budget. */
export const BUDGET = "tollgate.policy.budget"

/** Runs a stage of a traced request, or `self` alone when there is no trace. */
export const staged = <A, E, R>(
  trace: RequestTrace | null,
  name: string,
  self: Effect.Effect<A, E, R>,
  after?: (value: A) => SpanAttributes
): Effect.Effect<A, E, R> => (trace === null ? self : trace.stage(name, self, after))

const annotate = (span: Tracer.Span, attributes: SpanAttributes): void => {
  for (const [name, value] of Object.entries(attributes)) if (value !== null) span.attribute(name, value)
}

const failed = (kind: string): Exit.Exit<never, SpanFailure> => Exit.fail(new SpanFailure({ message: kind }))

const kindOf = (cause: Cause.Cause<unknown>): string => {
  const reason = cause.reasons.find((one) => one._tag === "Fail")
  if (reason === undefined) return "internal_error"
  return reason.error instanceof GatewayError ? Str.pascalToSnake(reason.error.reason._tag) : "error"
}

/** Usage and finish reason of the call that ended the request. */
const usageOf = (generation: Generation): SpanAttributes => {
  const { usage } = generation
  const finishReason = knownFinishReason(generation)
  return {
    "gen_ai.usage.input_tokens": usage.promptTokens,
    "gen_ai.usage.output_tokens": usage.completionTokens,
    "gen_ai.usage.cache_read.input_tokens": usage.cachedTokens,
    "gen_ai.response.finish_reasons": finishReason === null ? null : [finishReason]
  }
}
