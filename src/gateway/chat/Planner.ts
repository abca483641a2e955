/**
 * Plans an admitted request: resolves its model and ranks the candidates, before budget and
 * whitelist are checked. A request that cannot be routed is planned too, because the policies come
 * first. It then fails with `unroutable`.
 */
import { Context, Effect, Layer, Random, Result } from "effect"
import { type Candidate, type Exclusion, type SortAxis } from "../../domain/Catalog.ts"
import { type ProviderPreferences } from "../../domain/Chat.ts"
import { ContextLengthExceeded, gatewayError, type GatewayError, NoEligibleProvider } from "../../domain/Errors.ts"
import { allowsModel } from "../../domain/Key.ts"
import { monthOf } from "../../domain/Money.ts"
import { type Admitted } from "./Admission.ts"
import { Catalog } from "../routing/Catalog.ts"
import { type Caller } from "../request/Caller.ts"
import { type ClientDeadline } from "../request/ClientDeadline.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { type RequestTrace } from "../telemetry/RequestTrace.ts"
import { ProviderStats } from "../health/ProviderStats.ts"
import { explorable, explored, rank, type RankingInput } from "../routing/Ranking.ts"

/**
 * The most candidates of a request, and the most exclusions that it is shown. This bounds the work,
 * the answer and the record.
 */
const MOST_LISTED = 64

/** The planner's input for a request, chat or embeddings. */
export interface PlanInput<Request> {
  readonly kind: "chat" | "embeddings"
  readonly request: Request
  readonly model: string
  /** Tried in order when the first model has no provider left. */
  readonly fallbackModels: ReadonlyArray<string>
  readonly preferences: ProviderPreferences | null
  readonly promptTokens: number
  readonly outputTokens: number | null
  readonly choices: number
  readonly streamed: boolean
  readonly caller: Caller
  readonly deadline: ClientDeadline | null
  readonly trace: RequestTrace | null
}

/** The candidates of a request, best first, and the excluded offers. */
export interface Route {
  /** The client's name of the model, or its full id once it is resolved. */
  readonly model: string
  readonly ranked: ReadonlyArray<Candidate>
  readonly excluded: ReadonlyArray<Exclusion>
  /** Why there is no candidate; null if there is one. */
  readonly unroutable: GatewayError | null
}

export class Planner extends Context.Service<
  Planner,
  {
    /** Records nothing, and does not explore. */
    readonly route: (input: PlanInput<unknown>) => Route
    readonly begin: <Request>(
      input: PlanInput<Request>,
      admitted: Pick<Admitted, "generationId" | "startedAtMs">
    ) => Effect.Effect<RequestPlan<Request>>
  }
>()("tollgate/gateway/chat/Planner") {
  static readonly layer = (options: { readonly defaultSort: SortAxis }) =>
    Layer.effect(
      Planner,
      Effect.gen(function* () {
        const catalog = yield* Catalog
        const stats = yield* ProviderStats

        const inputOf = (input: PlanInput<unknown>, candidates: ReadonlyArray<Candidate>): RankingInput => ({
          candidates,
          preferences: input.preferences,
          defaultSort: options.defaultSort,
          kind: input.kind,
          promptTokens: input.promptTokens,
          outputTokens: input.outputTokens,
          choices: input.choices,
          streamed: input.streamed,
          stats: ({ offer, provider }) => stats.snapshot(provider.slug, offer.id)
        })

        const rankFor = (input: PlanInput<unknown>, candidates: ReadonlyArray<Candidate>) =>
          rank(inputOf(input, candidates))

        /**
         * The fallback models' candidates, after the first model's. The whitelist applies to them
         * too.
         */
        const fallbacks = (input: PlanInput<unknown>) => {
          const ranked: Array<Candidate> = []
          const excluded: Array<Exclusion> = []
          for (const name of new Set(input.fallbackModels)) {
            const model = catalog.resolve(name)
            if (Result.isFailure(model)) excluded.push({ slug: "*", model: name, reason: "unknown_model" })
            else if (!allowsModel(input.caller.key.allowedModels, model.success.id)) {
              excluded.push({ slug: "*", model: model.success.id, reason: "not_allowed" })
            } else {
              const ranking = rankFor(input, model.success.candidates)
              ranked.push(...ranking.ranked)
              excluded.push(...ranking.excluded)
            }
          }
          return { ranked, excluded }
        }

        /**
         * Names in `order` and `only` that no provider has. They are shown to the client and not
         * recorded.
         */
        const unknownProviders = ({ preferences }: PlanInput<unknown>, model: string): ReadonlyArray<Exclusion> => {
          const known = new Set(
            catalog.models.flatMap(({ candidates }) => candidates.map(({ provider }) => provider.slug))
          )
          const named = [
            ...(preferences?.allow_fallbacks === false ? (preferences.order ?? []) : []),
            ...(preferences?.only ?? [])
          ]
          return [...new Set(named)]
            .filter((slug) => !known.has(slug))
            .map((slug) => ({ slug, model, reason: "unknown_provider" }))
        }

        const route = (input: PlanInput<unknown>): Route => {
          const model = catalog.resolve(input.model)
          const first = rankFor(input, Result.isSuccess(model) ? model.success.candidates : [])
          const rest = input.fallbackModels.length === 0 ? { ranked: [], excluded: [] } : fallbacks(input)
          const ranked = rest.ranked.length === 0 ? first.ranked : [...first.ranked, ...rest.ranked]
          const all = rest.excluded.length === 0 ? first.excluded : [...first.excluded, ...rest.excluded]
          const excluded = all.slice(0, MOST_LISTED)
          const id = Result.isSuccess(model) ? model.success.id : input.model
          return {
            model: id,
            ranked: ranked.slice(0, MOST_LISTED),
            excluded,
            unroutable: Result.isFailure(model)
              ? model.failure
              : ranked.length > 0
                ? null
                : unroutable(id, model.success.candidates, [...excluded, ...unknownProviders(input, id)], input)
          }
        }

        /** Sometimes puts another of the first model's candidates first. */
        const exploring = (input: PlanInput<unknown>, model: string, ranked: ReadonlyArray<Candidate>) => {
          const own = ranked.filter(({ offer }) => offer.id === model)
          const others = explorable(own, inputOf(input, own))
          return others.length === 0
            ? Effect.succeed(ranked)
            : Effect.map(Random.next, (roll) => explored(ranked, others, roll))
        }

        const begin = <Request>(
          input: PlanInput<Request>,
          { generationId, startedAtMs }: Pick<Admitted, "generationId" | "startedAtMs">
        ): Effect.Effect<RequestPlan<Request>> =>
          Effect.suspend(() => {
            const { excluded, model, ranked: best, unroutable } = route(input)
            const planOf = (ranked: ReadonlyArray<Candidate>): RequestPlan<Request> => ({
              kind: input.kind,
              generationId,
              caller: input.caller,
              request: input.request,
              model,
              ranked,
              excluded,
              unroutable,
              startedAtMs,
              month: monthOf(startedAtMs),
              promptTokens: input.promptTokens,
              outputTokens: input.outputTokens,
              choices: input.choices,
              streamed: input.streamed,
              deadline: input.deadline,
              trace: input.trace
            })
            return best.length < 2 ? Effect.succeed(planOf(best)) : Effect.map(exploring(input, model, best), planOf)
          })

        return Planner.of({ route, begin })
      })
    )
}

/**
 * The error of a model that exists but has no candidate. A prompt too long for every provider is
 * the client's error.
 */
const unroutable = (
  model: string,
  candidates: ReadonlyArray<Candidate>,
  excluded: ReadonlyArray<Exclusion>,
  { kind, promptTokens }: Pick<PlanInput<unknown>, "kind" | "promptTokens">
): GatewayError => {
  if (excluded.length > 0 && excluded.every(({ reason }) => reason === "context_length")) {
    const contextLength = candidates.reduce((longest, { offer }) => Math.max(longest, offer.contextLength ?? 0), 0)
    return gatewayError(
      new ContextLengthExceeded({
        message: null,
        promptTokens,
        contextLength,
        param: kind === "chat" ? "messages" : "input"
      })
    )
  }
  return gatewayError(new NoEligibleProvider({ model, excluded }))
}
