/**
 * Plans an admitted request: resolves its model and ranks the candidates, before budget and
 * whitelist are checked. A request that cannot be routed is planned too, because the policies come
 * first. It then fails with `unroutable`.
 */
import { Context, Effect, Layer, Random, Result } from "effect"
import { type Candidate, type Exclusion, type SortAxis } from "../../domain/Catalog.ts"
import { type ProviderPreferences } from "../../domain/Chat.ts"
import { gatewayError, type GatewayError, ModelNotFound } from "../../domain/Errors.ts"
import { allowsModel, type KeyRecord } from "../../domain/Key.ts"
import { monthOf } from "../../domain/pricing/Money.ts"
import { type NativeRequest } from "../../domain/Native.ts"
import { meantBy } from "../../domain/Nearest.ts"
import { type Admitted } from "./Admission.ts"
import { unknownProviders, unroutable } from "./Unroutable.ts"
import { type Aliases, type AliasTarget, allowedAliases, drawn } from "../routing/Aliases.ts"
import { Catalog, type Model } from "../routing/Catalog.ts"
import { type Caller } from "../request/Caller.ts"
import { type ClientDeadline } from "../request/ClientDeadline.ts"
import { type Conversation, conversationRoll } from "../request/Conversation.ts"
import { type RequestOrigin } from "../request/RequestOrigin.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { type RequestTrace } from "../telemetry/RequestTrace.ts"
import { ProviderStats } from "../health/ProviderStats.ts"
import { sendable, withModelIds } from "../routing/NativeLane.ts"
import { explorable, explored, isOpen, rank, type RankingInput } from "../routing/Ranking.ts"
import { type PromptTokens } from "../../domain/PromptTokens.ts"

/**
 * The most candidates of a request, and the most exclusions that it is shown. This bounds the work,
 * the answer and the record.
 */
const MOST_LISTED = 64

/** The planner's input for a request, chat or embeddings. */
export interface PlanInput<Request> {
  readonly kind: "chat" | "embeddings"
  readonly request: Request
  /** As in the plan. */
  readonly native?: NativeRequest
  readonly model: string
  /** Tried in order when the first model has no provider left. */
  readonly fallbackModels: ReadonlyArray<string>
  readonly preferences: ProviderPreferences | null
  readonly prompt: PromptTokens
  readonly outputTokens: number | null
  readonly choices: number
  readonly streamed: boolean
  readonly caller: Caller
  readonly deadline: ClientDeadline | null
  /** As in the plan. */
  readonly keepsReasoning?: boolean
  readonly trace: RequestTrace | null
  /** As in the plan. */
  readonly origin?: RequestOrigin | undefined
  /** Null for embeddings, which have no prompt cache. */
  readonly conversation: Conversation | null
}

/** The candidates of a request, best first, and the excluded offers. */
export interface Route {
  /** The client's name of the model, or its full id once it is resolved. */
  readonly model: string
  /** As in the plan. */
  readonly named?: NonNullable<RequestPlan["named"]>
  readonly ranked: ReadonlyArray<Candidate>
  /** The sizes of the groups of `ranked` that rank equally, in order. */
  readonly groupSizes: ReadonlyArray<number>
  readonly excluded: ReadonlyArray<Exclusion>
  /** Why there is no candidate; null if there is one. */
  readonly unroutable: GatewayError | null
}

export interface PlannerOptions {
  readonly defaultSort: SortAxis
  readonly aliases?: Readonly<Record<string, ReadonlyArray<AliasTarget>>>
}

export class Planner extends Context.Service<
  Planner,
  {
    /** Records nothing, and does not explore. A prompt that is not counted has its bound. */
    readonly route: (input: PlanInput<unknown>) => Route
    /** The model that a name stands for: of an alias the heaviest one that the key may use. */
    readonly resolve: (name: string, key: KeyRecord) => Result.Result<Model, GatewayError>
    readonly aliases: Aliases
    /**
     * Bounds the prompt closely if its length does not decide the route, and counts it if that
     * bound does not either. If it need not, the plan is made as this is called.
     */
    readonly begin: <Request>(
      input: PlanInput<Request>,
      admitted: Pick<Admitted, "generationId" | "startedAtMs">
    ) => Effect.Effect<RequestPlan<Request>>
  }
>()("tollgate/gateway/chat/Planner") {
  static readonly layer = (options: PlannerOptions) =>
    Layer.effect(
      Planner,
      Effect.gen(function* () {
        const catalog = yield* Catalog
        const stats = yield* ProviderStats
        const aliases: Aliases = new Map(Object.entries(options.aliases ?? {}))

        const statsOf: RankingInput["stats"] = ({ offer, provider }) => stats.snapshot(provider.slug, offer.id)

        const inputOf = (
          input: PlanInput<unknown>,
          candidates: ReadonlyArray<Candidate>,
          promptTokens = input.prompt.most
        ): RankingInput => ({
          candidates,
          preferences: input.preferences,
          defaultSort: options.defaultSort,
          kind: input.kind,
          promptTokens,
          outputTokens: input.outputTokens,
          choices: input.choices,
          streamed: input.streamed,
          stats: statsOf
        })

        const rankFor = (input: PlanInput<unknown>, candidates: ReadonlyArray<Candidate>) =>
          rank(inputOf(input, candidates))

        /**
         * The fallback models' candidates, after the first model's. The whitelist applies to them
         * too.
         */
        const fallbacks = (input: PlanInput<unknown>) => {
          const ranked: Array<Candidate> = []
          const groupSizes: Array<number> = []
          const excluded: Array<Exclusion> = []
          for (const name of new Set(input.fallbackModels)) {
            const model = catalog.resolve(name)
            if (Result.isFailure(model)) excluded.push({ slug: "*", model: name, reason: "unknown_model" })
            else if (!allowsModel(input.caller.key.allowedModels, model.success.id)) {
              excluded.push({ slug: "*", model: model.success.id, reason: "not_allowed" })
            } else {
              const ranking = rankFor(input, model.success.candidates)
              ranked.push(...ranking.ranked)
              groupSizes.push(...ranking.groupSizes)
              excluded.push(...ranking.excluded)
            }
          }
          return { ranked, groupSizes, excluded }
        }

        /** The request with the models that its aliases stand for. */
        const unaliased = (
          input: PlanInput<unknown>,
          roll: number
        ): Pick<PlanInput<unknown>, "model" | "fallbackModels"> => {
          const { allowedModels } = input.caller.key
          const modelOf = (name: string) => drawn(aliases, name, allowedModels, roll)
          return { model: modelOf(input.model), fallbackModels: input.fallbackModels.map(modelOf) }
        }

        const hasAlias = ({ fallbackModels, model }: PlanInput<unknown>): boolean =>
          aliases.size > 0 && (aliases.has(model) || fallbackModels.some((name) => aliases.has(name)))

        /**
         * The failure to find a model, with the name that was perhaps meant: one that the key may
         * use.
         */
        const withNearest = (error: GatewayError, model: string, { allowedModels }: KeyRecord): GatewayError => {
          const { reason } = error
          if (reason._tag !== "ModelNotFound" || reason.ambiguous.length > 0) return error
          const own = allowedAliases(aliases, allowedModels).map(({ name }) => name)
          const names = catalog.models
            .filter(({ id }) => allowsModel(allowedModels, id))
            .map(({ id }) => (model.includes("/") ? id : id.slice(id.indexOf("/") + 1)))
          return gatewayError(new ModelNotFound({ model, ambiguous: [], nearest: meantBy(model, [...own, ...names]) }))
        }

        const route = (asked: PlanInput<unknown>, roll = 0): Route => {
          const input = hasAlias(asked) ? { ...asked, ...unaliased(asked, roll) } : asked
          const model = catalog.resolve(input.model)
          const first = rankFor(input, Result.isSuccess(model) ? model.success.candidates : [])
          const rest = input.fallbackModels.length === 0 ? nothing : fallbacks(input)
          const ranked = rest.ranked.length === 0 ? first.ranked : [...first.ranked, ...rest.ranked]
          const all = rest.excluded.length === 0 ? first.excluded : [...first.excluded, ...rest.excluded]
          const excluded = listed(all)
          const id = Result.isSuccess(model) ? model.success.id : input.model
          const snapshot = Result.isSuccess(model) ? model.success.snapshot : null
          const sent = sendable(
            {
              ranked: listed(ranked),
              groupSizes: rest.ranked.length === 0 ? first.groupSizes : [...first.groupSizes, ...rest.groupSizes],
              excluded,
              unroutable: Result.isFailure(model)
                ? withNearest(model.failure, asked.model, asked.caller.key)
                : ranked.length > 0
                  ? null
                  : unroutable(
                      id,
                      model.success.candidates,
                      [...excluded, ...unknownProviders(catalog.models, input.preferences, id)],
                      input
                    )
            },
            input.native
          )
          return { model: id, ...(asked.model === id ? none : { named: { as: asked.model, snapshot } }), ...sent }
        }

        /** Sometimes puts another of the first model's candidates first. */
        const exploring = (input: PlanInput<unknown>, model: string, ranked: ReadonlyArray<Candidate>) => {
          const own = ranked.filter(({ offer }) => offer.id === model)
          const others = explorable(own, inputOf(input, own))
          return others.length === 0
            ? Effect.succeed(ranked)
            : Effect.map(Random.next, (roll) => explored(ranked, others, roll))
        }

        const counted = (input: PlanInput<unknown>, roll: number): Effect.Effect<Route> => {
          const found = route(input, roll)
          const { prompt } = input
          const inputAt = (promptTokens: number) => inputOf(input, found.ranked, promptTokens)
          if (prompt.isCounted || !isOpen(found.ranked, found.excluded, prompt, inputAt)) return Effect.succeed(found)
          if (!prompt.isRough) return Effect.map(prompt.count(), () => route(input, roll))
          prompt.bound()
          return counted(input, roll)
        }

        const begin: Planner["Service"]["begin"] = (input, admitted) =>
          hasAlias(input)
            ? Effect.flatMap(rollFor(input), (roll) => begun(input, roll, admitted))
            : begun(input, 0, admitted)

        const begun = <Request>(
          input: PlanInput<Request>,
          roll: number,
          admitted: Pick<Admitted, "generationId" | "startedAtMs">
        ) => Effect.flatMapEager(counted(input, roll), (found) => planned(input, found, admitted))

        const planned = <Request>(
          input: PlanInput<Request>,
          { excluded, groupSizes, model, named, ranked: best, unroutable }: Route,
          { generationId, startedAtMs }: Pick<Admitted, "generationId" | "startedAtMs">
        ): Effect.Effect<RequestPlan<Request>> => {
          const planOf = (ranked: ReadonlyArray<Candidate>): RequestPlan<Request> => ({
            kind: input.kind,
            generationId,
            caller: input.caller,
            request: input.request,
            model,
            ranked,
            // An explored candidate comes first.
            groupSizes: ranked === best ? groupSizes : [],
            excluded,
            unroutable,
            startedAtMs,
            month: monthOf(startedAtMs),
            prompt: input.prompt,
            outputTokens: input.outputTokens,
            choices: input.choices,
            streamed: input.streamed,
            deadline: input.deadline,
            keepsReasoning: input.keepsReasoning === true,
            trace: input.trace,
            conversation: isChoice(input, model, ranked) ? input.conversation : null,
            ...(input.origin === undefined ? none : { origin: input.origin }),
            ...(named === undefined ? none : { named }),
            ...(input.native === undefined
              ? none
              : withModelIds(input.native, (name) => resolve(name, input.caller.key)))
          })
          return best.length < 2 ? Effect.succeed(planOf(best)) : Effect.map(exploring(input, model, best), planOf)
        }

        const resolve = (name: string, key: KeyRecord) =>
          Result.mapError(catalog.resolve(drawn(aliases, name, key.allowedModels, 0)), (error) =>
            withNearest(error, name, key)
          )

        return Planner.of({ route, resolve, aliases, begin })
      })
    )
}

/** Whether the conversation could go to another provider of its model, or with another key. */
const isChoice = ({ preferences }: PlanInput<unknown>, model: string, ranked: ReadonlyArray<Candidate>): boolean => {
  if (ranked.length === 1) return ranked[0]?.provider.apiKeys !== undefined
  const own = ranked.filter(({ offer }) => offer.id === model)
  const isOrdered = (preferences?.order ?? []).length > 0 || (preferences?.sort ?? null) !== null
  return own.some(({ provider }) => provider.apiKeys !== undefined) || (own.length > 1 && !isOrdered)
}

const none = {}

const listed = <A>(all: ReadonlyArray<A>): ReadonlyArray<A> =>
  all.length > MOST_LISTED ? all.slice(0, MOST_LISTED) : all

/** For the draw of an alias: the turns of a conversation go to one model. */
const rollFor = ({ caller, conversation, model }: PlanInput<unknown>): Effect.Effect<number> => {
  const roll = conversationRoll(conversation, caller.key.id, model)
  return roll === null ? Random.next : Effect.succeed(roll)
}
const nothing = { ranked: [], groupSizes: [], excluded: [] }
