/**
 * The router: calls the candidates of an order, best first, until one answers. Falling back is free until something reached the
 * client, so a stream counts as answered with its first token, not with its status line. Every call is an attempt on the receipt. A
 * request's own fault ends the search, because no other provider would take it better.
 */
import { Clock, Context, Duration, Effect, Layer, Scope, type Stream } from "effect"
import { type Candidate } from "../../domain/Catalog.ts"
import { type ChatEvent, type ChatReply, type ChatRequest } from "../../domain/Chat.ts"
import { type EmbeddingReply, type EmbeddingRequest } from "../../domain/Embedding.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { type Provider, type ProviderError } from "../../providers/Provider.ts"
import { Providers } from "../../providers/Providers.ts"
import { attempting } from "./Attempt.ts"
import { plausibleUsage } from "../billing/PlausibleUsage.ts"
import { promptCost } from "../billing/ExtraCharges.ts"
import { Circuits } from "../health/Circuits.ts"
import { continuing, isContinuable, successors } from "./Continuation.ts"
import { exhausted, type Failure, longestPause, requestFault, retryPause } from "./FailurePolicy.ts"
import { hedged } from "./Hedging.ts"
import { Meter } from "../billing/Meter.ts"
import { ended, eventsOf, type OpenedStream, openStream } from "./OpenedStream.ts"
import { type Order } from "../request/Order.ts"
import { boundedTo } from "./MaxTokens.ts"
import { ProviderStats } from "../health/ProviderStats.ts"
import { makeWholeReply } from "./NonStreaming.ts"
import { withinDeadline } from "../request/ClientDeadline.ts"

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
  /** How long the first token of a stream may take before another provider is called beside; `null`: never. */
  readonly hedgeAfterMs: number | null
  readonly markup: number
}

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
>()("tollgate/gateway/routing/Router") {
  static readonly layer = (options: RouterOptions) =>
    Layer.effect(
      Router,
      Effect.gen(function* () {
        const providers = yield* Providers
        const circuits = yield* Circuits
        const stats = yield* ProviderStats
        const meter = yield* Meter

        const attempt = attempting(circuits, stats, yield* Clock.Clock)

        /** Who is called beside a slow candidate: the next best of another provider, for the same model. */
        const rivalOf = (slow: Candidate, candidates: ReadonlyArray<Candidate>, tried: ReadonlySet<Candidate>) => {
          const candidate = candidates.find(
            (other) =>
              !tried.has(other) && other.provider.slug !== slow.provider.slug && other.offer.id === slow.offer.id
          )
          const provider = candidate === undefined ? undefined : providers.get(candidate.provider.slug)
          return candidate === undefined || provider === undefined ? undefined : { candidate, provider }
        }

        /** Who lost was slow: at least as slow as it was waited for. */
        const noteLost = ({ offer, provider }: Candidate, latencyMs: number) =>
          stats.record(provider.slug, offer.id, { ok: true, latencyMs, streamed: true })

        const hedging =
          options.hedgeAfterMs === null
            ? undefined
            : { afterMs: options.hedgeAfterMs, discard: (opened: OpenedStream) => opened.close }

        const route = Effect.fnUntraced(function* <A, R, Request extends ChatRequest | EmbeddingRequest>(
          order: Order<Request>,
          call: (provider: Provider, candidate: Candidate, isLast: boolean) => Effect.Effect<A, ProviderError, R>,
          hedge?: { readonly afterMs: number; readonly discard: (answer: A) => Effect.Effect<void> }
        ) {
          if (order.unroutable !== null) return yield* order.unroutable
          const sole = noFallbacks(order.request)
          const candidates = sole ? order.ranked.slice(0, 1) : order.ranked
          let last: Failure | null = null
          const tried = new Set<Candidate>()
          for (const [at, candidate] of candidates.entries()) {
            const provider = providers.get(candidate.provider.slug)
            if (provider === undefined || tried.has(candidate)) continue
            tried.add(candidate)
            const isLast = candidates.slice(at + 1).every((other) => tried.has(other))
            for (let tries = 0; ; tries++) {
              if (order.log.hasLeft) return yield* exhausted(order, sole, last)
              const rival = hedge === undefined || tries > 0 ? undefined : rivalOf(candidate, candidates, tried)
              const own = attempt(order, candidate, call(provider, candidate, isLast))
              const called =
                hedge === undefined || rival === undefined
                  ? own
                  : hedged({
                      ...hedge,
                      order,
                      first: { candidate, run: own },
                      second: {
                        candidate: rival.candidate,
                        run: attempt(order, rival.candidate, call(rival.provider, rival.candidate, false))
                      },
                      hold: meter.hold(order, promptCost(rival.candidate, order.promptTokens, options.markup)),
                      onSecond: () => void tried.add(rival.candidate),
                      onLost: noteLost
                    })
              const { firstTokenMs, totalMs } = candidate.provider.timeouts
              const limitMs = order.streamed ? firstTokenMs : totalMs
              const result = yield* Effect.result(withinDeadline(order, limitMs, called))
              if (result._tag === "Success") {
                const { answer, candidate: who, latencyMs } = result.success
                order.facts.provider = who.provider.slug
                const others = candidates.slice(at + 1).filter((other) => !tried.has(other))
                return { candidate: who, fallbackUsed: at > 0 || who !== candidate, latencyMs, answer, others }
              }
              if (result.failure._tag === "GatewayError") return yield* result.failure
              last = result.failure
              const fault = requestFault(last, order)
              if (fault !== null) return yield* fault
              const mayRetry =
                tries < options.retries && !sole && candidates.slice(at + 1).every((other) => tried.has(other))
              const longestMs = longestPause(order, yield* Clock.currentTimeMillis)
              const pauseMs = mayRetry ? retryPause(last, tries, longestMs) : null
              if (pauseMs === null) {
                // Nobody waits for an answer that the next provider could give.
                if (longestMs <= 0) return yield* exhausted(order, sole, last)
                break
              }
              yield* Effect.sleep(Duration.millis(pauseMs))
            }
          }
          return yield* exhausted(order, sole, last)
        })

        const stream = Effect.fnUntraced(function* (order: Order<ChatRequest>) {
          const scope = yield* Effect.scope
          const {
            answer: opened,
            others,
            ...routed
          } = yield* route(
            order,
            (provider, candidate) =>
              openStream(provider, candidate, boundedTo(order.request, candidate, order.affordableTokens)),
            hedging
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
                    broke: (candidate, error) => {
                      stats.broke(candidate.provider.slug, candidate.offer.id)
                      return circuits.broke(candidate, error, order.caller.key.id)
                    },
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
          return { ...routed, answer: eventsOf(opened.head, rest) }
        })

        const whole = makeWholeReply(meter.watch)

        const withSpeed = (order: Order<ChatRequest>, routed: Routed<ChatReply>): Routed<ChatReply> => {
          const { answer, candidate, latencyMs } = routed
          const tokens = plausibleUsage(order, candidate.offer, answer.usage)?.completionTokens ?? 0
          if (tokens > 1 && latencyMs > 0) {
            stats.recordSpeed(candidate.provider.slug, candidate.offer.id, (tokens * 1000) / latencyMs)
          }
          return routed
        }

        return Router.of({
          reply: (order) =>
            route(order, (provider, candidate, isLast) => whole({ order, provider, candidate, isLast })).pipe(
              Effect.map((routed) => withSpeed(order, routed))
            ),
          stream,
          embed: (order) =>
            route(order, (provider, candidate) =>
              ended(
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
