/**
 * The spans of a sampled request: its own, one for each stage, one for each call to a provider. As
 * in the log, attributes contain only names from the settings, figures and kinds of errors; never a
 * prompt, a key, a header or a provider's text. Without sampling there is no RequestTrace, and
 * stages run unchanged.
 */
import { Cause, type Clock, Context, Data, Effect, Exit, Option, String as Str, type Tracer } from "effect"
import { hash } from "node:crypto"
import { type Candidate } from "../../domain/Catalog.ts"
import { GatewayError } from "../../domain/Errors.ts"
import { type Attempt, type Generation, knownFinishReason } from "../../domain/Generation.ts"
import { type TokenUsage } from "../../domain/pricing/Money.ts"
import { headersOfSpan, OutgoingTrace, type Trace } from "../../domain/Tracing.ts"

export type SpanAttributes = Readonly<Record<string, string | number | boolean | ReadonlyArray<string> | null>>

/** The error recorded on a span: its kind without its message. */
class SpanFailure extends Data.TaggedError("SpanFailure")<{ readonly message: string }> {}

/** The form of ids that clients generate. An address or a name does not have it. */
const plainId = /^[A-Za-z0-9._:-]{1,128}$/

/**
 * A call whose span is open. The span ends with the request, at the time when the call ended: only
 * then are its tokens known.
 */
interface CallSpan {
  readonly span: Tracer.Span
  readonly hasAnswered: boolean
  /** Null: its stream is still being read. */
  endedAtNanos: bigint | null
}

export class RequestTrace {
  readonly span: Tracer.Span
  readonly #tracer: Tracer.Tracer
  readonly #tracestate: string | null
  readonly #clock: Clock.Clock
  /** Parent of the calls, once the router runs. */
  #route: Tracer.Span | null = null
  #conversationId: string | null = null
  /** The calls, by index of the attempt. */
  readonly #calls = new Map<number, CallSpan>()
  #hasEnded = false
  /** The span of the stage that is being built. It stays here if that throws. */
  #building: Tracer.Span | null = null

  constructor({ span, tracer, tracestate }: Extract<Trace, { readonly _tag: "Sampled" }>, clock: Clock.Clock) {
    this.span = span
    this.#tracer = tracer
    this.#tracestate = tracestate
    this.#clock = clock
  }

  /**
   * Names the conversation that the request belongs to: the client's own id, or its digest if it
   * might hold anything else.
   */
  belongsTo(sessionId: string | null): void {
    if (sessionId === null) return
    this.#conversationId = plainId.test(sessionId) ? sessionId : hash("sha256", sessionId, "hex").slice(0, 32)
  }

  /**
   * Builds a stage in a span, and may run it at once. `after` makes attributes from its result.
   */
  stage<A, E, R>(
    name: string,
    build: () => Effect.Effect<A, E, R>,
    after?: (value: A) => SpanAttributes
  ): Effect.Effect<A, E, R> {
    const span = this.#begin(name, this.span, "internal")
    if (name === ROUTE) this.#route = span
    const noteEnd = (exit: Exit.Exit<A, E>): undefined => {
      if (Exit.isSuccess(exit) && after !== undefined) annotate(span, after(exit.value))
      this.#end(span, exit)
    }
    this.#building = span
    const self = build()
    this.#building = null
    if (!isExit(self)) return Effect.onExitPrimitive(self, noteEnd)
    noteEnd(self)
    return self
  }

  /** Starts the span of a call to a provider; `called` tells that it ended or began to stream. */
  beginCall(operation: string, { offer, provider }: Candidate, number: number, more: SpanAttributes): Tracer.Span {
    const span = this.#begin(`${operation} ${offer.upstream}`, this.#route ?? this.span, "client")
    annotate(span, {
      "gen_ai.operation.name": operation,
      "gen_ai.provider.name": providerNames.get(provider.slug) ?? provider.slug,
      "gen_ai.request.model": offer.upstream,
      "gen_ai.conversation.id": this.#conversationId,
      "tollgate.provider": provider.slug,
      "tollgate.model": offer.id,
      "tollgate.attempt": number,
      ...more
    })
    return span
  }

  /** Passes the span to the provider in the trace headers of the call. */
  within<A, E, R>(span: Tracer.Span, call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.provideService(call, OutgoingTrace, headersOfSpan(span, this.#tracestate))
  }

  /** A call has ended, or the first token of its stream is there. */
  called(span: Tracer.Span, { offer }: Candidate, at: number, attempt: Attempt, isStream: boolean): void {
    const nowNanos = this.#clock.currentTimeNanosUnsafe()
    const isAnswer = attempt.status === "ok"
    const isOpen = isAnswer && isStream
    if (isAnswer) annotate(span, { "gen_ai.response.model": offer.upstream })
    if (isOpen) {
      annotate(span, { "gen_ai.response.time_to_first_chunk": attempt.latencyMs / 1000 })
      span.event("tollgate.first_token", nowNanos)
    }
    if (attempt.errorType !== null) failureEvent(span, attempt.errorType, nowNanos)
    const call = { span, hasAnswered: isAnswer, endedAtNanos: isOpen ? null : nowNanos }
    this.#calls.set(at, call)
    // A call may outlive the request whose client has left.
    if (this.#hasEnded) this.#endCall(call, attempt)
  }

  /** The stream at this index of the attempts has broken off. */
  broke(at: number, attempt: Attempt | undefined): void {
    const call = this.#calls.get(at)
    if (call === undefined || attempt === undefined) return
    call.endedAtNanos = this.#clock.currentTimeNanosUnsafe()
    if (attempt.errorType !== null) failureEvent(call.span, attempt.errorType, call.endedAtNanos)
  }

  /**
   * Sets an attribute of the call that answers. Without one, as for a cache hit, it is left out.
   */
  annotateAnswer(attribute: string, value: string): void {
    ;[...this.#calls.values()].findLast(({ hasAnswered }) => hasAnswered)?.span.attribute(attribute, value)
  }

  /**
   * Ends the spans of all calls, then the request's own. `failure` is the kind of error that the
   * request ended with.
   */
  end(attributes: SpanAttributes, generation: Generation | null, failure: string | null): void {
    this.#hasEnded = true
    const attempts = generation?.attempts ?? []
    const answering = answeringCall(attempts)
    for (const [at, call] of this.#calls) {
      const attempt = attempts[at]
      const isAnswer = at === answering && generation !== null
      if (attempt !== undefined && isAnswer) annotate(call.span, answerOf(generation))
      this.#endCall(call, attempt, isAnswer && generation.cancelled)
    }
    this.#calls.clear()
    if (this.#building !== null) this.#close(this.#building, failed(DEFECT), DEFECT)
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

  #endCall({ endedAtNanos, span }: CallSpan, attempt: Attempt | undefined, cancelled = false): void {
    const atNanos = endedAtNanos ?? this.#clock.currentTimeNanosUnsafe()
    if (attempt === undefined) return this.#close(span, Exit.interrupt(), undefined, atNanos)
    const { charge, errorType, httpStatus, message, status } = attempt
    annotate(span, {
      "tollgate.attempt.message": message ?? null,
      "tollgate.attempt.status": status,
      "http.response.status_code": httpStatus,
      ...(charge === undefined ? {} : tokensOf(charge.usage))
    })
    if (errorType !== null) return this.#close(span, failed(errorType), errorType, atNanos)
    this.#close(span, status === "cancelled" || cancelled ? Exit.interrupt() : Exit.void, undefined, atNanos)
  }

  #end(span: Tracer.Span, exit: Exit.Exit<unknown, unknown>): void {
    if (Exit.isSuccess(exit)) return this.#close(span, Exit.void)
    if (Cause.hasInterruptsOnly(exit.cause)) return this.#close(span, Exit.interrupt())
    const kind = kindOf(exit.cause)
    this.#close(span, failed(kind), kind)
  }

  #close(
    span: Tracer.Span,
    exit: Exit.Exit<void, SpanFailure>,
    errorType?: string,
    atNanos = this.#clock.currentTimeNanosUnsafe()
  ): void {
    if (errorType !== undefined) span.attribute("error.type", errorType)
    span.end(atNanos, exit)
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
): Effect.Effect<A, E, R> => (trace === null ? self : Effect.suspend(() => trace.stage(name, () => self, after)))

/** The same for a stage that may run as its effect is built: it is built, and may run, here. */
export const stagedNow = <A, E, R>(
  trace: RequestTrace | null,
  name: string,
  build: () => Effect.Effect<A, E, R>,
  after?: (value: A) => SpanAttributes
): Effect.Effect<A, E, R> => (trace === null ? build() : trace.stage(name, build, after))

const isExit = <A, E, R>(effect: Effect.Effect<A, E, R>): effect is Exit.Exit<A, E> => Exit.isExit(effect)

const annotate = (span: Tracer.Span, attributes: SpanAttributes): void => {
  for (const name of Object.keys(attributes)) {
    const value = attributes[name]
    if (value !== null) span.attribute(name, value)
  }
}

/** The kind of a broken invariant. */
const DEFECT = "internal_error"

const failed = (kind: string): Exit.Exit<never, SpanFailure> => Exit.fail(new SpanFailure({ message: kind }))

const kindOf = (cause: Cause.Cause<unknown>): string => {
  const reason = cause.reasons.find((one) => one._tag === "Fail")
  if (reason === undefined) return DEFECT
  return reason.error instanceof GatewayError ? Str.pascalToSnake(reason.error.reason._tag) : "error"
}

const failureEvent = (span: Tracer.Span, errorType: string, atNanos: bigint): void =>
  span.event("gen_ai.client.operation.exception", atNanos, { "exception.type": errorType })

/** The names that the conventions give to vendors whose slug is another. */
const providerNames: ReadonlyMap<string, string> = new Map([
  ["azure", "azure.ai.openai"],
  ["bedrock", "aws.bedrock"],
  ["gemini", "gcp.gemini"],
  ["mistral", "mistral_ai"],
  ["xai", "x_ai"]
])

/** The index of the call that the generation's own tokens belong to; -1 without one. */
const answeringCall = (attempts: ReadonlyArray<Attempt>): number => {
  const answered = attempts.findLastIndex(({ charge, status }) => status === "ok" && charge === undefined)
  return answered !== -1
    ? answered
    : attempts.findLastIndex(({ charge, status }) => status !== "skipped" && charge === undefined)
}

/**
 * Usage, finish reason and id of the call that ended the request, without the charges of others.
 */
const answerOf = (generation: Generation): SpanAttributes => {
  const { attempts, usage } = generation
  const others = attempts.flatMap(({ charge }) => (charge === undefined ? [] : [charge.usage]))
  const own = (count: (usage: TokenUsage) => number): number =>
    others.reduce((rest, other) => rest - count(other), count(usage))
  const finishReason = knownFinishReason(generation)
  const promptTokens = own((one) => one.promptTokens)
  const completionTokens = own((one) => one.completionTokens)
  // A call that failed has no usage.
  if (promptTokens + completionTokens <= 0) return {}
  return {
    ...tokensOf({
      ...usage,
      promptTokens,
      completionTokens,
      cachedTokens: own((one) => one.cachedTokens),
      rare: { cache_write: own(writtenTokens) }
    }),
    "gen_ai.response.id": generation.id,
    "gen_ai.response.finish_reasons": finishReason === null ? null : [finishReason]
  }
}

const writtenTokens = ({ rare }: TokenUsage): number => (rare?.cache_write ?? 0) + (rare?.cache_write_1h ?? 0)

const tokensOf = (usage: TokenUsage): SpanAttributes => ({
  "gen_ai.usage.input_tokens": usage.promptTokens,
  "gen_ai.usage.output_tokens": usage.completionTokens,
  "gen_ai.usage.cache_read.input_tokens": usage.cachedTokens,
  "gen_ai.usage.cache_creation.input_tokens": writtenTokens(usage),
  "gen_ai.usage.reasoning.output_tokens": usage.reasoningTokens ?? null
})
