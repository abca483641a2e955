/** The endpoints of generations: the record of a generation with its receipt. */
import { DateTime, Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentKey, CurrentUser } from "../../api/Authorization.ts"
import { type GenerationRecord } from "../../api/Generations.ts"
import { type Generation } from "../../domain/Generation.ts"
import { attemptCosts } from "../../domain/pricing/AttemptCosts.ts"
import { listedFromPico, usdFromNano, usdPerMillionFromPico } from "../../domain/pricing/Money.ts"
import { type GenerationFilter, type GenerationList, Generations } from "../../gateway/billing/Generations.ts"
import { Names } from "../../gateway/admin/Names.ts"
import { usageInfo } from "../../gateway/billing/UsageInfo.ts"
import { orUnavailable } from "../../gateway/StoreUnavailable.ts"
import { guard } from "../errors/ErrorResponse.ts"

const ofKey = HttpApiBuilder.group(
  Api,
  "generations",
  Effect.fnUntraced(function* (handlers) {
    const generations = yield* Generations
    return handlers.handleAll({
      get: ({ params }) =>
        guard(
          Effect.flatMap(CurrentKey, ({ key }) => Effect.map(generations.get(params.generation_id, key.id), recordOf))
        ),
      list: ({ query }) =>
        guard(
          Effect.flatMap(CurrentKey, ({ key }) =>
            Effect.map(generations.list(key.id, filterOf(query)), (page) => listOf(page, recordOf))
          )
        )
    })
  })
)

/** The admin's view: generations of all keys. */
const ofAdmins = HttpApiBuilder.group(
  Api,
  "adminGenerations",
  Effect.fnUntraced(function* (handlers) {
    const generations = yield* Generations
    const names = yield* Names
    return handlers.handleAll({
      get: ({ params }) =>
        guard(Effect.flatMap(generations.get(params.generation_id, null), (one) => named(names, one, adminRecordOf))),
      list: ({ query }) =>
        guard(
          Effect.flatMap(
            generations.list(query.key ?? null, {
              ...filterOf(query),
              ...(query.provider === undefined ? {} : { provider: query.provider }),
              ...(query.error === undefined ? {} : { error: query.error })
            }),
            (page) => namedList(names, page, adminRecordOf)
          )
        )
    })
  })
)

/** A signed-in user's view: generations of the user's own keys. */
const ofUsers = HttpApiBuilder.group(
  Api,
  "ownedGenerations",
  Effect.fnUntraced(function* (handlers) {
    const generations = yield* Generations
    const names = yield* Names
    return handlers.handleAll({
      get: ({ params }) =>
        guard(
          Effect.flatMap(CurrentUser, ({ user }) =>
            Effect.flatMap(generations.get(params.generation_id, null, user.id), (one) =>
              named(names, one, ownedRecordOf)
            )
          )
        ),
      list: ({ query }) =>
        guard(
          Effect.flatMap(CurrentUser, ({ user }) =>
            Effect.flatMap(
              generations.list(query.key ?? null, {
                ...filterOf(query),
                ownerId: user.id,
                ...(query.error === undefined ? {} : { error: query.error })
              }),
              (page) => namedList(names, page, ownedRecordOf)
            )
          )
        )
    })
  })
)

interface PageQuery {
  readonly limit: number
  readonly cursor?: string
  readonly from?: DateTime.Utc
  readonly to?: DateTime.Utc
  readonly model?: string
}

const filterOf = (query: PageQuery): GenerationFilter => ({
  limit: query.limit,
  cursor: query.cursor ?? null,
  ...(query.from === undefined ? {} : { fromMs: DateTime.toEpochMillis(query.from) }),
  ...(query.to === undefined ? {} : { toMs: DateTime.toEpochMillis(query.to) }),
  ...(query.model === undefined ? {} : { model: query.model })
})

const listOf = <Record>({ generations, nextCursor }: GenerationList, wire: (generation: Generation) => Record) => ({
  object: "list" as const,
  data: generations.map(wire),
  has_more: nextCursor !== null,
  next_cursor: nextCursor
})

type NameOf = ReadonlyMap<string, string>
type Named<Record> = (generation: Generation, nameOf: NameOf) => Record

const named = <Record>(names: Names["Service"], one: Generation, wire: Named<Record>) =>
  Effect.map(orUnavailable(names.of([one])), (nameOf) => wire(one, nameOf))

const namedList = <Record>(names: Names["Service"], page: GenerationList, wire: Named<Record>) =>
  Effect.map(orUnavailable(names.of(page.generations)), (nameOf) => listOf(page, (one) => wire(one, nameOf)))

const ownedRecordOf = (generation: Generation, nameOf: NameOf) => ({
  ...recordOf(generation),
  key_id: generation.keyId,
  key_name: nameOf.get(generation.keyId) ?? null
})

const adminRecordOf = (generation: Generation, nameOf: NameOf) => ({
  ...ownedRecordOf(generation, nameOf),
  attempts: attemptsOf(generation).map((attempt, at) => ({
    ...attempt,
    message: generation.attempts[at]?.message ?? null
  })),
  owner: generation.ownerId,
  owner_name: generation.ownerId === null ? null : (nameOf.get(generation.ownerId) ?? null)
})

const recordOf = (generation: Generation): GenerationRecord => ({
  id: generation.id,
  model: generation.model,
  provider: generation.provider,
  ...(generation.requestedModel === undefined ? {} : { requested_model: generation.requestedModel }),
  request_id: generation.request?.id ?? null,
  endpoint: generation.request?.endpoint ?? null,
  status: generation.request?.status ?? null,
  created_at: new Date(generation.createdAtMs).toISOString(),
  usage: usageInfo(generation),
  cost: {
    prompt_cost_usd: usdFromNano(generation.cost.promptNano),
    completion_cost_usd: usdFromNano(generation.cost.completionNano),
    cache_discount_usd: usdFromNano(generation.cost.cacheDiscountNano),
    ...(generation.cost.feesNano === 0 ? {} : { fees_usd: usdFromNano(generation.cost.feesNano) }),
    total_cost_usd: usdFromNano(generation.cost.totalNano),
    markup_usd: usdFromNano(generation.cost.markupNano),
    billed_usd: usdFromNano(generation.cost.billedNano)
  },
  latency_ms: generation.latencyMs,
  fallback_used: generation.fallbackUsed,
  cache_hit: generation.cacheHit,
  attempts: attemptsOf(generation),
  excluded: generation.excluded,
  finish_reason: generation.finishReason,
  error_type: generation.errorType,
  streamed: generation.streamed,
  cancelled: generation.cancelled,
  time_to_first_token_ms: generation.timeToFirstTokenMs,
  usage_source: generation.usageSource,
  price: {
    prompt: usdPerMillionFromPico(generation.price.prompt),
    completion: usdPerMillionFromPico(generation.price.completion),
    cached_prompt: generation.price.cachedPrompt === null ? null : usdPerMillionFromPico(generation.price.cachedPrompt)
  },
  lines: generation.cost.lines.map(({ assumed, class: name, nano, price, quantity }) => ({
    class: name,
    quantity,
    price: listedFromPico(name, price),
    cost_usd: usdFromNano(nano),
    ...(assumed === undefined ? {} : { assumed })
  })),
  service_tier: generation.usage.serviceTier ?? null,
  reservation: {
    reserved_usd: usdFromNano(generation.reservation.reservedNano),
    extended_usd: usdFromNano(generation.reservation.extendedNano),
    settled_usd: usdFromNano(generation.reservation.settledNano)
  },
  ...(generation.sticky === undefined ? {} : { sticky: generation.sticky }),
  dropped: generation.dropped ?? [],
  parameters: generation.parameters ?? {},
  masked: generation.masked ?? {}
})

const attemptsOf = (generation: Generation): GenerationRecord["attempts"] => {
  const costs = attemptCosts(generation)
  return generation.attempts.map((attempt, at) => ({
    provider: attempt.provider,
    model: attempt.model,
    ...(attempt.key === undefined ? {} : { key: attempt.key }),
    status: attempt.status,
    latency_ms: attempt.latencyMs,
    error_type: attempt.errorType,
    http_status: attempt.httpStatus,
    started_ms: attempt.startedMs ?? null,
    ended_ms: attempt.endedMs ?? null,
    wait_ms: waitBefore(generation.attempts, at),
    prompt_tokens: costs[at]?.promptTokens ?? 0,
    completion_tokens: costs[at]?.completionTokens ?? 0,
    cost_usd: usdFromNano(costs[at]?.totalNano ?? 0),
    ...(attempt.charge === undefined
      ? {}
      : {
          charged: {
            prompt_tokens: attempt.charge.usage.promptTokens,
            completion_tokens: attempt.charge.usage.completionTokens,
            total_cost_usd: usdFromNano(attempt.charge.totalNano)
          }
        })
  }))
}

/** Hedged calls overlap: only a gap in which none ran is a wait. */
const waitBefore = (attempts: Generation["attempts"], at: number): number => {
  const startedMs = attempts[at]?.startedMs
  if (startedMs === undefined) return 0
  const ends = attempts.flatMap((one, other) =>
    other !== at && one.startedMs !== undefined && one.startedMs <= startedMs ? (one.endedMs ?? startedMs) : []
  )
  return ends.length === 0 ? 0 : Math.max(0, startedMs - Math.max(...ends))
}

export const layers = Layer.mergeAll(ofKey, ofAdmins, ofUsers)
