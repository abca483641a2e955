/**
 * The router: calls the candidates of an order, best first, until one answers. Falling back is free until something reached the
 * client, so a stream counts as answered with its first token, not with its status line. Every call is an attempt on the receipt. A
 * request's own fault ends the search, because no other provider would take it better.
 */
import { Clock, Context, Duration, Effect, Exit, Layer, Pull, Scope, Stream } from "effect"
import { type Candidate } from "../domain/Catalog.ts"
import { type ChatEvent, type ChatReply, type ChatRequest } from "../domain/Chat.ts"
import { type EmbeddingReply, type EmbeddingRequest } from "../domain/Embedding.ts"
import { type GatewayError } from "../domain/Errors.ts"
import { Malformed, type Provider, ProviderError, TimedOut } from "../providers/Provider.ts"
import { Providers } from "../providers/Providers.ts"
import { Circuits } from "./Circuits.ts"
import { attemptOf, exhausted, faultOf, type Failure, requestFault, retryPause } from "./Failures.ts"
import { type Order } from "./Order.ts"
import { ProviderStats } from "./ProviderStats.ts"

/** What answered, and how. A stream's first token is in `events` already; it fails when the provider breaks off. */
export interface Routed<A> {
  readonly candidate: Candidate
  readonly fallbackUsed: boolean
  /** Since the attempt began. */
  readonly latencyMs: number
  readonly answer: A
}

export interface RouterOptions {
  readonly retries: number
}

/** The slowest pace at which a whole reply is still worth waiting for. */
const SLOWEST_MS_PER_TOKEN = 20

export class Router extends Context.Service<
  Router,
  {
    readonly reply: (order: Order<ChatRequest>) => Effect.Effect<Routed<ChatReply>, GatewayError>
    /** The scope holds the upstream call: closing it aborts the call. */
    readonly stream: (
      order: Order<ChatRequest>
    ) => Effect.Effect<Routed<Stream.Stream<ChatEvent, ProviderError>>, GatewayError, Scope.Scope>
    readonly embed: (order: Order<EmbeddingRequest>) => Effect.Effect<Routed<EmbeddingReply>, GatewayError>
  }
>()("tollgate/gateway/Router") {
  static readonly layer = (options: RouterOptions) =>
    Layer.effect(
      Router,
      Effect.gen(function* () {
        const providers = yield* Providers
        const circuits = yield* Circuits
        const stats = yield* ProviderStats

        /** One call: guarded by its circuit, on the receipt, in the statistics. */
        const attempt = Effect.fnUntraced(function* <A, R>(
          order: Order<unknown>,
          candidate: Candidate,
          call: Effect.Effect<A, ProviderError, R>
        ) {
          const startedAtMs = yield* Clock.currentTimeMillis
          let latencyMs = 0
          const answer = yield* circuits
            .guard(candidate)(call)
            .pipe(
              Effect.onExit((exit) =>
                Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
                  latencyMs = nowMs - startedAtMs
                  const error = Exit.isFailure(exit) ? faultOf(exit.cause) : undefined
                  order.attempts.push(attemptOf(candidate, latencyMs, exit._tag === "Success", error))
                  if (exit._tag === "Failure" && !(error instanceof ProviderError)) return Effect.void
                  const ok =
                    exit._tag === "Success" || (error instanceof ProviderError && error.reason._tag === "Rejected")
                  return stats.record(candidate.provider.slug, candidate.offer.id, { ok, latencyMs })
                })
              )
            )
          return { answer, latencyMs }
        })

        const route = Effect.fnUntraced(function* <A, R, Request>(
          order: Order<Request>,
          call: (provider: Provider, candidate: Candidate) => Effect.Effect<A, ProviderError, R>
        ) {
          if (order.unroutable !== null) return yield* order.unroutable
          const sole = noFallbacks(order.request)
          const candidates = sole ? order.ranked.slice(0, 1) : order.ranked
          let last: Failure | null = null
          for (const [at, candidate] of candidates.entries()) {
            const provider = providers.get(candidate.provider.slug)
            if (provider === undefined) continue
            for (let tries = 0; ; tries++) {
              const result = yield* Effect.result(attempt(order, candidate, call(provider, candidate)))
              if (result._tag === "Success") {
                order.facts.provider = candidate.provider.slug
                const { answer, latencyMs } = result.success
                return { candidate, fallbackUsed: at > 0, latencyMs, answer } satisfies Routed<A>
              }
              last = result.failure
              const fault = requestFault(last, order)
              if (fault !== null) return yield* fault
              const pauseMs = retryPause(last, tries)
              if (at < candidates.length - 1 || sole || tries >= options.retries || pauseMs === null) break
              yield* Effect.sleep(Duration.millis(pauseMs))
            }
          }
          return yield* exhausted(order.attempts, sole, last)
        })

        return Router.of({
          reply: (order) =>
            route(order, (provider, candidate) => {
              const { timeouts } = candidate.provider
              const longestMs = timeouts.firstTokenMs + SLOWEST_MS_PER_TOKEN * outputBound(order, candidate)
              return within(
                provider.chat({ request: bounded(order, candidate), offer: candidate.offer }),
                Math.min(longestMs, timeouts.totalMs),
                provider,
                longestMs < timeouts.totalMs ? "first_token" : "total"
              )
            }),
          stream: (order) =>
            route(order, (provider, candidate) => openStream(provider, candidate, bounded(order, candidate))),
          embed: (order) =>
            route(order, (provider, candidate) =>
              within(
                provider.embed({ request: order.request, offer: candidate.offer }),
                candidate.provider.timeouts.totalMs,
                provider,
                "total"
              )
            )
        })
      })
    )
}

const within = <A, R>(
  call: Effect.Effect<A, ProviderError, R>,
  limitMs: number,
  provider: Provider,
  phase: TimedOut["phase"]
): Effect.Effect<A, ProviderError, R> =>
  Effect.timeoutOrElse(call, {
    duration: Duration.millis(limitMs),
    orElse: () => Effect.fail(timedOut(provider, phase))
  })

const timedOut = (provider: Provider, phase: TimedOut["phase"]) =>
  new ProviderError({ provider: provider.config.slug, reason: new TimedOut({ phase }) })

/**
 * Opens a stream and reads on until its first token, so that an error before it can still become a fallback. The call lives in a scope
 * of its own under the request's: a failed attempt is aborted at once, a good one lives as long as the request.
 */
const openStream = Effect.fnUntraced(function* (provider: Provider, candidate: Candidate, request: ChatRequest) {
  const { timeouts } = candidate.provider
  const scope = yield* Scope.fork(yield* Effect.scope)
  const first = Effect.gen(function* () {
    const events = yield* Scope.provide(provider.chatStream({ request, offer: candidate.offer }), scope)
    const pull = yield* Scope.provide(Stream.toPull(events), scope)
    const head: Array<ChatEvent> = []
    while (true) {
      const chunk = yield* Pull.catchDone(pull, () =>
        Effect.fail(
          new ProviderError({ provider: provider.config.slug, reason: new Malformed({ detail: "empty stream" }) })
        )
      )
      for (const event of chunk) head.push(event)
      if (chunk.some(carriesToken)) return { head, pull }
    }
  })
  const { head, pull } = yield* within(first, timeouts.firstTokenMs, provider, "first_token").pipe(
    Effect.onExit((exit) => (exit._tag === "Failure" ? Scope.close(scope, exit) : Effect.void))
  )
  const rest = Effect.timeoutOrElse(pull, {
    duration: Duration.millis(timeouts.idleMs),
    orElse: () => Effect.fail(timedOut(provider, "idle"))
  })
  return Stream.concat(Stream.fromArray(head), Stream.fromPull(Effect.succeed(rest)))
})

const carriesToken = (event: ChatEvent): boolean =>
  event._tag === "End" ||
  event.choices.some(
    ({ delta, finish_reason }) =>
      finish_reason !== null || Boolean(delta.content || delta.refusal || delta.reasoning || delta.tool_calls?.length)
  )

const noFallbacks = (request: unknown): boolean =>
  typeof request === "object" &&
  request !== null &&
  "provider" in request &&
  typeof request.provider === "object" &&
  request.provider !== null &&
  "allow_fallbacks" in request.provider &&
  request.provider.allow_fallbacks === false

const outputBound = (order: Order<ChatRequest>, { offer }: Candidate): number =>
  order.affordableTokens ?? order.outputTokens ?? offer.maxCompletionTokens ?? 4_096

/** The client's request, its output bounded by what the reservation affords where that is less than it asked for. */
const bounded = (order: Order<ChatRequest>, { offer }: Candidate): ChatRequest => {
  const { affordableTokens: affordable, request } = order
  if (affordable === null) return request
  const asked = request.max_completion_tokens ?? request.max_tokens ?? offer.maxCompletionTokens
  if (asked !== null && asked !== undefined && asked <= affordable) return request
  return request.max_completion_tokens !== undefined && request.max_completion_tokens !== null
    ? { ...request, max_completion_tokens: affordable }
    : { ...request, max_tokens: affordable }
}
