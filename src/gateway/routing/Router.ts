/**
 * Calls the candidates of a request, best first, until one answers. A fallback is possible until
 * something reached the client, so a stream counts as answered with its first token, not with its
 * status line. Every call is an attempt on the receipt. A client's error ends the search, because
 * every other provider would refuse the request too.
 */
import { Clock, Context, Effect, Layer, Scope } from "effect"
import { type Batches } from "../../domain/runtime/Batches.ts"
import { type Candidate, limitsOf } from "../../domain/Catalog.ts"
import { addFinalizer, withScope } from "../../domain/runtime/OnClose.ts"
import { type ChatEvent, type ChatReply, type ChatRequest } from "../../domain/Chat.ts"
import { type EmbeddingReply, type EmbeddingRequest } from "../../domain/Embedding.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { type Provider, ProviderError, Unsupported } from "../../providers/Provider.ts"
import { Providers } from "../../providers/Providers.ts"
import { attempting } from "./Attempt.ts"
import { type Found, makeCandidateSearch } from "./CandidateSearch.ts"
import { plausibleUsage } from "../reply/PlausibleUsage.ts"
import { Circuits } from "../health/Circuits.ts"
import { continueStream, isContinuable, successors } from "./Continuation.ts"
import { withTimeout, type OpenedStream, openStream } from "./OpenedStream.ts"
import { InFlight } from "./InFlight.ts"
import { makeKeysOf } from "./ProviderKeys.ts"
import { type RoutedRequest } from "./RoutedRequest.ts"
import { contentOf } from "./MaxTokens.ts"
import { ProviderStats } from "../health/ProviderStats.ts"
import { makeWholeReply } from "./NonStreaming.ts"
import { ConversationStore } from "../../store/providerState/ConversationStore.ts"
import { makeWarmCaches } from "./WarmCaches.ts"
import { withTexts } from "../tokens/TokenText.ts"

/**
 * The answer and its candidate. A stream has received its first token. It fails if the provider
 * breaks off.
 */
export interface Routed<A> {
  readonly candidate: Candidate
  readonly fallbackUsed: boolean
  /** Measured from the start of the attempt. */
  readonly latencyMs: number
  readonly answer: A
}

export interface RouterOptions {
  readonly retries: number
  /** Whether another provider continues a stream that breaks off. */
  readonly continueStreams: boolean
  /** How long the first token of a stream may take before a hedged call starts; null: never. */
  readonly hedgeAfterMs: number | null
}

export class Router extends Context.Service<
  Router,
  {
    readonly reply: (request: RoutedRequest<ChatRequest>) => Effect.Effect<Routed<ChatReply>, GatewayError>
    /** The scope holds the upstream call: closing it aborts the call. */
    readonly stream: (
      request: RoutedRequest<ChatRequest>
    ) => Effect.Effect<Routed<Batches<ChatEvent, ProviderError>>, GatewayError, Scope.Scope>
    readonly embed: (request: RoutedRequest<EmbeddingRequest>) => Effect.Effect<Routed<EmbeddingReply>, GatewayError>
  }
>()("tollgate/gateway/routing/Router") {
  static readonly layer = (options: RouterOptions) =>
    Layer.effect(
      Router,
      Effect.gen(function* () {
        const providers = yield* Providers
        const circuits = yield* Circuits
        const stats = yield* ProviderStats

        const inFlight = new InFlight()
        const keysOf = makeKeysOf(circuits, inFlight)
        const clock = yield* Clock.Clock
        const attempt = attempting(circuits, stats, inFlight, clock)
        const warmCaches = makeWarmCaches(yield* ConversationStore, circuits, clock)
        const { retries } = options
        const route = makeCandidateSearch({
          attempt,
          circuits,
          clock,
          inFlight,
          keysOf,
          providers,
          stats,
          retries,
          warmCaches
        })

        /** The candidate counts as busy until the scope closes. */
        const untilClosed = (candidate: Candidate, scope: Scope.Scope) => {
          inFlight.begin(candidate)
          return addFinalizer(scope, () => {
            inFlight.end(candidate)
            return Effect.void
          })
        }

        const hedging =
          options.hedgeAfterMs === null
            ? undefined
            : { afterMs: options.hedgeAfterMs, discard: (opened: OpenedStream) => opened.close }

        /** The candidates that continue a stream that breaks off. */
        const afterBreak = ({ plan }: RoutedRequest<ChatRequest>, { candidate, others }: Found<OpenedStream>) =>
          options.continueStreams && others.length > 0 && isContinuable(plan) ? successors(candidate, others) : []

        /** The rest of the stream, which other candidates continue if it breaks off. */
        const continued = (
          request: RoutedRequest<ChatRequest>,
          { answer: opened, candidate }: Found<OpenedStream>,
          after: Array<Candidate>,
          scope: Scope.Scope
        ) => {
          const { plan } = request
          return continueStream({
            request,
            opened,
            candidate,
            nextCandidate: () => after.splice(0, 1).flatMap((next) => keysOf(next, plan.caller.key.id))[0],
            broke: (candidate, error) => {
              stats.recordBreak(candidate.provider.slug, candidate.offer.id)
              return circuits.recordBreak(candidate, error, plan.caller.key.id)
            },
            open: (candidate, request_) => {
              const provider = providers.get(candidate)
              return provider === undefined
                ? Effect.die(new Error("a candidate is of no provider"))
                : Effect.suspend(() =>
                    attempt(request, candidate, () =>
                      openStream(provider, candidate, { request: request_ }, request, after.length === 0)
                    )
                  ).pipe(
                    Effect.map(({ answer }) => answer),
                    Effect.tap(() => untilClosed(candidate, scope)),
                    Scope.provide(scope)
                  )
            }
          })
        }

        const stream = (request: RoutedRequest<ChatRequest>) =>
          withScope((scope) => {
            const found = route(request, {
              make: (provider, candidate, isLast) =>
                openStream(provider, candidate, contentOf(request, candidate), request, isLast),
              hedge: hedging
            })
            return Effect.flatMapEager(found, (found) => {
              const { answer: opened, candidate, fallbackUsed, latencyMs } = found
              const after = afterBreak(request, found)
              const rest = after.length === 0 ? opened.rest : continued(request, found, after, scope)
              const answer = rest.after(opened.head)
              return Effect.mapEager(untilClosed(candidate, scope), () => ({
                candidate,
                fallbackUsed,
                latencyMs,
                answer
              }))
            })
          })

        const whole = makeWholeReply()

        const recordSpeed = ({ budget, plan }: RoutedRequest<ChatRequest>, found: Found<ChatReply>): void => {
          const { answer, candidate, latencyMs } = found
          const usage = plausibleUsage(plan, budget.affordableTokens, candidate.offer, answer.usage)
          const tokens = usage?.completionTokens ?? 0
          if (tokens > 1 && latencyMs > 0) {
            stats.recordSpeed(candidate.provider.slug, candidate.offer.id, (tokens * 1000) / latencyMs)
          }
        }

        return Router.of({
          reply: (request) =>
            Effect.suspend(() =>
              route(request, {
                make: (provider, candidate, isLast) => whole({ request, provider, candidate, isLast }),
                answered: (found) => recordSpeed(request, found)
              })
            ),
          stream,
          embed: (request) =>
            Effect.suspend(() =>
              route(request, {
                make: (provider, candidate) =>
                  withTimeout(
                    Effect.flatMap(inputFor(provider, request.plan.request), (readable) =>
                      provider.embed({ request: readable, offer: candidate.offer })
                    ),
                    limitsOf(candidate).totalMs,
                    provider,
                    "total"
                  )
              })
            )
        })
      })
    )
}

/** The request with texts for token ids, where the provider takes none. */
const inputFor = (
  { config, takesTokenIds }: Provider,
  request: EmbeddingRequest
): Effect.Effect<EmbeddingRequest, ProviderError> => {
  const readable = takesTokenIds === true ? request : withTexts(request)
  const reason = new Unsupported({ param: "input", message: "token ids that are not of cl100k_base" })
  return readable === null
    ? Effect.fail(new ProviderError({ provider: config.slug, reason }))
    : Effect.succeed(readable)
}
