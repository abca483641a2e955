/**
 * Previews the routing of a chat request without a call: the ranked candidates, the excluded offers
 * with their reasons, and the likely cost at each candidate. It ranks with the code that serves. A
 * preview counts as a request of the key's rate limit and records nothing else. An unknown model,
 * or one that the key may not use, fails as in a real request.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import { type Candidate, type Exclusion, type SortAxis } from "../../domain/Catalog.ts"
import { type ChatRequest } from "../../domain/Chat.ts"
import { gatewayError, type GatewayError, ModelNotAllowed } from "../../domain/Errors.ts"
import { allowsModel } from "../../domain/Key.ts"
import { type NanoUsd, type Prices } from "../../domain/pricing/Money.ts"
import { pricesFor } from "../../domain/pricing/Pricing.ts"
import { Admission } from "./Admission.ts"
import { Catalog } from "../routing/Catalog.ts"
import { chatPlanInput } from "./ChatPlanInput.ts"
import { chatTexts } from "../tokens/RequestTexts.ts"
import { Circuits } from "../health/Circuits.ts"
import { type CircuitState } from "../health/CircuitState.ts"
import { Planner } from "./Planner.ts"
import { type Caller } from "../request/Caller.ts"
import { type Note } from "../request/ResponseMetadata.ts"
import { mostTokens, tooLong } from "./Policy.ts"
import { ProviderStats } from "../health/ProviderStats.ts"
import { expectedCost, likelyOutput } from "../routing/Ranking.ts"
import { type StatsSnapshot } from "../health/StatsTable.ts"

export interface PreviewedCandidate {
  readonly candidate: Candidate
  /** The price in the tier of the prompt's length. */
  readonly price: Prices
  readonly expectedNano: NanoUsd
  readonly circuit: CircuitState
  readonly stats: StatsSnapshot
}

export interface PreviewedExclusion extends Exclusion {
  /**
   * Null if the exclusion is of a whole model, such as a fallback model that the key may not use.
   */
  readonly expectedNano: NanoUsd | null
}

export interface Preview {
  readonly model: string
  readonly sort: SortAxis
  readonly promptTokens: number
  readonly likelyOutputTokens: number
  readonly candidates: ReadonlyArray<PreviewedCandidate>
  readonly excluded: ReadonlyArray<PreviewedExclusion>
  /** The error of the request, because it has no candidate. */
  readonly error: GatewayError | null
}

export interface PreviewQuery {
  readonly request: ChatRequest
  readonly caller: Caller
  readonly note: Note
}

export interface PreviewOptions {
  readonly defaultSort: SortAxis
  readonly modelsFallback: ReadonlyArray<string>
}

export class RoutePreview extends Context.Service<
  RoutePreview,
  {
    /** Fails with `RateLimited`, `ModelNotFound` and `ModelNotAllowed`. */
    readonly of: (query: PreviewQuery) => Effect.Effect<Preview, GatewayError, Scope.Scope>
  }
>()("tollgate/gateway/chat/RoutePreview") {
  static readonly layer = (options: PreviewOptions) =>
    Layer.effect(
      RoutePreview,
      Effect.gen(function* () {
        const admission = yield* Admission
        const planner = yield* Planner
        const catalog = yield* Catalog
        const circuits = yield* Circuits
        const stats = yield* ProviderStats

        const of = Effect.fnUntraced(function* ({ caller, note, request }: PreviewQuery) {
          const prompt = yield* admission.preview({ caller, note, prompt: (isRough) => chatTexts(request, isRough) })
          const promptTokens = prompt.most
          if (promptTokens > mostTokens(caller)) return yield* tooLong(caller, promptTokens)
          const intent = chatPlanInput({ request, caller }, options.modelsFallback, prompt)
          const { excluded, model, ranked, unroutable } = planner.route(intent)
          if (!allowsModel(caller.key.allowedModels, model)) return yield* gatewayError(new ModelNotAllowed({ model }))
          if (unroutable?.reason._tag === "ModelNotFound") return yield* unroutable
          const likelyOutputTokens = likelyOutput(intent.outputTokens, intent.choices)
          const costAt = (candidate: Candidate) => expectedCost(candidate, promptTokens, likelyOutputTokens)

          const candidates = yield* Effect.forEach(ranked, (candidate) =>
            Effect.map(circuits.state(candidate), (circuit): PreviewedCandidate => ({
              candidate,
              price: pricesFor(candidate.offer.pricing, promptTokens),
              expectedNano: costAt(candidate),
              circuit,
              stats: stats.snapshot(candidate.provider.slug, candidate.offer.id)
            }))
          )
          const offers = catalog.models.filter(({ id }) => excluded.some((exclusion) => exclusion.model === id))
          return {
            model,
            sort: request.provider?.sort ?? options.defaultSort,
            promptTokens,
            likelyOutputTokens,
            candidates,
            excluded: excluded.map((exclusion) => {
              const offered = offers
                .find(({ id }) => id === exclusion.model)
                ?.candidates.find(({ provider }) => provider.slug === exclusion.slug)
              return { ...exclusion, expectedNano: offered === undefined ? null : costAt(offered) }
            }),
            error: unroutable
          } satisfies Preview
        })

        return RoutePreview.of({ of })
      })
    )
}
