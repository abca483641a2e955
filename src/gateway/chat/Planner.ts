/**
 * Where a request that was let in becomes an order: its model is found, its candidates ranked, before budget and whitelist look at
 * it. A request that cannot be routed is an order too: the policies come first, and only then does it end with `unroutable`.
 */
import { Context, Effect, Layer, Random, Result } from "effect"
import { type Candidate, type Exclusion, type SortAxis } from "../../domain/Catalog.ts"
import { type ProviderPreferences } from "../../domain/Chat.ts"
import { ContextLengthExceeded, gatewayError, type GatewayError, NoEligibleProvider } from "../../domain/Errors.ts"
import { allowsModel } from "../../domain/Key.ts"
import { monthOf } from "../../domain/Money.ts"
import { type Admitted } from "./Admission.ts"
import { AttemptLog } from "../routing/AttemptLog.ts"
import { Catalog } from "../routing/Catalog.ts"
import { type Caller, type ResponseMetadata, type Order, type ClientDeadline } from "../request/Order.ts"
import { ProviderStats } from "../health/ProviderStats.ts"
import { explorable, explored, rank, type RankingInput } from "../routing/Ranking.ts"

/** Candidates that a request may have, and exclusions that it is told: what it tries, answers and leaves behind has a bound. */
const MOST_LISTED = 64

/** What the intake needs to know of a request, chat or embeddings. */
export interface PlanInput<Request> {
  readonly kind: "chat" | "embeddings"
  readonly request: Request
  readonly model: string
  /** Tried in order once the first model has no provider left. */
  readonly fallbackModels: ReadonlyArray<string>
  readonly preferences: ProviderPreferences | null
  readonly promptTokens: number
  readonly outputTokens: number | null
  readonly choices: number
  readonly streamed: boolean
  readonly caller: Caller
  readonly facts: ResponseMetadata
  readonly patience?: ClientDeadline | null
}

/** Who may serve a request, best first, and who may not. */
export interface Route {
  /** As the client named it, or its full id once that is known. */
  readonly model: string
  readonly ranked: ReadonlyArray<Candidate>
  readonly excluded: ReadonlyArray<Exclusion>
  /** Why nobody may serve it; null: somebody may. */
  readonly unroutable: GatewayError | null
}

export class Planner extends Context.Service<
  Planner,
  {
    /** Leaves no trace, and does not explore. */
    readonly route: (intent: PlanInput<unknown>) => Route
    readonly begin: <Request>(
      intent: PlanInput<Request>,
      admitted: Pick<Admitted, "generationId" | "startedAtMs" | "tokens">
    ) => Effect.Effect<Order<Request>>
  }
>()("tollgate/gateway/chat/Planner") {
  static readonly layer = (options: { readonly defaultSort: SortAxis }) =>
    Layer.effect(
      Planner,
      Effect.gen(function* () {
        const catalog = yield* Catalog
        const stats = yield* ProviderStats

        const inputOf = (intent: PlanInput<unknown>, candidates: ReadonlyArray<Candidate>): RankingInput => ({
          candidates,
          preferences: intent.preferences,
          defaultSort: options.defaultSort,
          kind: intent.kind,
          promptTokens: intent.promptTokens,
          outputTokens: intent.outputTokens,
          choices: intent.choices,
          streamed: intent.streamed,
          stats: ({ offer, provider }) => stats.snapshot(provider.slug, offer.id)
        })

        const rankFor = (intent: PlanInput<unknown>, candidates: ReadonlyArray<Candidate>) =>
          rank(inputOf(intent, candidates))

        /** The fallback models' candidates, behind the first model's. The whitelist binds them too. */
        const fallbacks = (intent: PlanInput<unknown>) => {
          const ranked: Array<Candidate> = []
          const excluded: Array<Exclusion> = []
          for (const name of new Set(intent.fallbackModels)) {
            const model = catalog.resolve(name)
            if (Result.isFailure(model)) excluded.push({ slug: "*", model: name, reason: "unknown_model" })
            else if (!allowsModel(intent.caller.key.allowedModels, model.success.id)) {
              excluded.push({ slug: "*", model: model.success.id, reason: "not_allowed" })
            } else {
              const ranking = rankFor(intent, model.success.candidates)
              ranked.push(...ranking.ranked)
              excluded.push(...ranking.excluded)
            }
          }
          return { ranked, excluded }
        }

        /** Names in `order` and `only` that are no provider's, for the client to see; no record holds them. */
        const strangers = ({ preferences }: PlanInput<unknown>, model: string): ReadonlyArray<Exclusion> => {
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

        const route = (intent: PlanInput<unknown>): Route => {
          const model = catalog.resolve(intent.model)
          const first = rankFor(intent, Result.isSuccess(model) ? model.success.candidates : [])
          const rest = intent.fallbackModels.length === 0 ? { ranked: [], excluded: [] } : fallbacks(intent)
          const ranked = rest.ranked.length === 0 ? first.ranked : [...first.ranked, ...rest.ranked]
          const all = rest.excluded.length === 0 ? first.excluded : [...first.excluded, ...rest.excluded]
          const excluded = all.slice(0, MOST_LISTED)
          const id = Result.isSuccess(model) ? model.success.id : intent.model
          return {
            model: id,
            ranked: ranked.slice(0, MOST_LISTED),
            excluded,
            unroutable: Result.isFailure(model)
              ? model.failure
              : ranked.length > 0
                ? null
                : unroutable(id, model.success.candidates, [...excluded, ...strangers(intent, id)], intent)
          }
        }

        /** Now and then another of the first model's candidates goes first. */
        const exploring = (intent: PlanInput<unknown>, model: string, ranked: ReadonlyArray<Candidate>) => {
          const own = ranked.filter(({ offer }) => offer.id === model)
          const others = explorable(own, inputOf(intent, own))
          return others.length === 0
            ? Effect.succeed(ranked)
            : Effect.map(Random.next, (roll) => explored(ranked, others, roll))
        }

        const begin = <Request>(
          intent: PlanInput<Request>,
          { generationId, startedAtMs, tokens: takenTokens }: Pick<Admitted, "generationId" | "startedAtMs" | "tokens">
        ): Effect.Effect<Order<Request>> =>
          Effect.suspend(() => {
            const { excluded, model, ranked: best, unroutable } = route(intent)
            const orderOf = (ranked: ReadonlyArray<Candidate>): Order<Request> => ({
              generationId,
              caller: intent.caller,
              request: intent.request,
              model,
              ranked,
              excluded,
              unroutable,
              startedAtMs,
              month: monthOf(startedAtMs),
              promptTokens: intent.promptTokens,
              outputTokens: intent.outputTokens,
              cacheName: null,
              choices: intent.choices,
              streamed: intent.streamed,
              facts: intent.facts,
              patience: intent.patience ?? null,
              affordableTokens: null,
              log: new AttemptLog(),
              account: {
                pendingReserve: null,
                late: null,
                reservedNano: 0,
                extendedNano: 0,
                heldTokens: null,
                sliced: false,
                clamped: false,
                opened: false,
                settled: false,
                takenTokens
              }
            })
            return best.length < 2 ? Effect.succeed(orderOf(best)) : Effect.map(exploring(intent, model, best), orderOf)
          })

        return Planner.of({ route, begin })
      })
    )
}

/** Why nobody may serve a model that exists. A prompt that fits no provider's context is the request's own fault. */
const unroutable = (
  model: string,
  candidates: ReadonlyArray<Candidate>,
  excluded: ReadonlyArray<Exclusion>,
  { kind, promptTokens }: Pick<PlanInput<unknown>, "kind" | "promptTokens">
): GatewayError => {
  if (excluded.length > 0 && excluded.every(({ reason }) => reason === "context_length")) {
    const contextLength = candidates.reduce((longest, { offer }) => Math.max(longest, offer.contextLength ?? 0), 0)
    return gatewayError(
      new ContextLengthExceeded({ model, promptTokens, contextLength, param: kind === "chat" ? "messages" : "input" })
    )
  }
  return gatewayError(new NoEligibleProvider({ model, excluded }))
}
