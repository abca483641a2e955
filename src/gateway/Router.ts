/**
 * The router: calls the candidates of an order, best first, until one answers. Falling back is free until something reached the
 * client, so a stream counts as answered with its first token, not with its status line. Every call is an attempt on the receipt. A
 * request's own fault ends the search, because no other provider would take it better.
 */
import { Clock, Context, Duration, Effect, Exit, Layer, Scope, Stream } from "effect"
import { type Candidate } from "../domain/Catalog.ts"
import { type ChatEvent, type ChatReply, type ChatRequest } from "../domain/Chat.ts"
import { type EmbeddingReply, type EmbeddingRequest } from "../domain/Embedding.ts"
import { type GatewayError } from "../domain/Errors.ts"
import { type Provider, ProviderError } from "../providers/Provider.ts"
import { Providers } from "../providers/Providers.ts"
import { Circuits } from "./Circuits.ts"
import { continuing, isContinuable, successors } from "./Continuation.ts"
import { attemptOf, exhausted, faultOf, type Failure, requestFault, retryPause } from "./Failures.ts"
import { gathered } from "./Gathered.ts"
import { Meter } from "./Meter.ts"
import { openStream, within } from "./OpenedStream.ts"
import { type Order } from "./Order.ts"
import { boundedTo, outputBound } from "./OutputBound.ts"
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
  /** Whether a stream that breaks off goes on at another provider. */
  readonly continueStreams: boolean
  readonly markup: number
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
        const meter = yield* Meter

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
                Effect.map(Clock.currentTimeMillis, (nowMs) => {
                  latencyMs = nowMs - startedAtMs
                  const error = Exit.isFailure(exit) ? faultOf(exit.cause) : undefined
                  order.attempts.push(attemptOf(candidate, latencyMs, exit._tag === "Success", error))
                  const answered = exit._tag === "Success"
                  if (!answered && !(error instanceof ProviderError)) return
                  const rejected = error instanceof ProviderError && error.reason._tag === "Rejected"
                  stats.record(candidate.provider.slug, candidate.offer.id, {
                    ok: answered || rejected,
                    latencyMs: answered ? latencyMs : null,
                    streamed: order.streamed
                  })
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
                const others = candidates.slice(at + 1)
                return { candidate, fallbackUsed: at > 0, latencyMs, answer, others }
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

        const stream = Effect.fnUntraced(function* (order: Order<ChatRequest>) {
          const scope = yield* Effect.scope
          const {
            answer: opened,
            others,
            ...routed
          } = yield* route(order, (provider, candidate) =>
            openStream(provider, candidate, boundedTo(order.request, candidate, order.affordableTokens))
          )
          const after =
            options.continueStreams && others.length > 0 && isContinuable(order)
              ? successors(routed.candidate, others)
              : []
          const rest =
            after.length === 0
              ? opened.pull
              : Scope.provide(
                  continuing({
                    order,
                    opened,
                    candidate: routed.candidate,
                    successors: after,
                    markup: options.markup,
                    broke: ({ offer, provider }) => stats.broke(provider.slug, offer.id),
                    hold: (amountNano) => meter.hold(order, amountNano),
                    open: (candidate, request) => {
                      const provider = providers.get(candidate.provider.slug)
                      return provider === undefined
                        ? Effect.die(new Error("a candidate is of no provider"))
                        : Effect.map(
                            attempt(order, candidate, openStream(provider, candidate, request)),
                            ({ answer }) => answer
                          )
                    }
                  }),
                  scope
                )
          const answer = Stream.concat(Stream.fromArray(opened.head), Stream.fromPull(Effect.succeed(rest)))
          return { ...routed, answer }
        })

        /** A whole reply whose output is paid for while it arrives. */
        const wholeAsItComes = (order: Order<ChatRequest>, provider: Provider, candidate: Candidate) =>
          openStream(provider, candidate, boundedTo(order.request, candidate, order.affordableTokens)).pipe(
            Effect.flatMap(({ head, pull }) =>
              gathered(
                meter.watch(order)(Stream.concat(Stream.fromArray(head), Stream.fromPull(Effect.succeed(pull)))),
                provider.config.slug
              )
            ),
            Effect.scoped
          )

        const withSpeed = (routed: Routed<ChatReply>): Routed<ChatReply> => {
          const { answer, candidate, latencyMs } = routed
          const tokens = answer.usage?.completionTokens ?? 0
          if (tokens > 1 && latencyMs > 0) {
            stats.recordSpeed(candidate.provider.slug, candidate.offer.id, (tokens * 1000) / latencyMs)
          }
          return routed
        }

        return Router.of({
          reply: (order) =>
            route(order, (provider, candidate) => {
              const { timeouts } = candidate.provider
              if (order.account.heldTokens !== null) return wholeAsItComes(order, provider, candidate)
              const longestMs = timeouts.firstTokenMs + SLOWEST_MS_PER_TOKEN * outputBound(order, candidate)
              const request = boundedTo(order.request, candidate, order.affordableTokens)
              return within(
                provider.chat({ request, offer: candidate.offer }),
                Math.min(longestMs, timeouts.totalMs),
                provider,
                longestMs < timeouts.totalMs ? "first_token" : "total"
              )
            }).pipe(Effect.map(withSpeed)),
          stream,
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

const noFallbacks = (request: unknown): boolean =>
  typeof request === "object" &&
  request !== null &&
  "provider" in request &&
  typeof request.provider === "object" &&
  request.provider !== null &&
  "allow_fallbacks" in request.provider &&
  request.provider.allow_fallbacks === false
