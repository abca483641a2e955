/** How a request ended, its cost, and its generation. */
import { Effect } from "effect"
import { type Origin } from "../request/Answer.ts"
import { type Candidate, type Exclusion } from "../../domain/Catalog.ts"
import { type ChatReply } from "../../domain/Chat.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import {
  type AnsweredRequest,
  type Attempt,
  type GenerationError,
  type Generation,
  type ReservationReceipt,
  type UsageSource
} from "../../domain/Generation.ts"
import { addCosts, type Cost, type Prices, type TokenUsage } from "../../domain/pricing/Money.ts"
import { pricesFor, priceUsage, savedCost } from "../../domain/pricing/Pricing.ts"
import { plausibleUsage } from "../reply/PlausibleUsage.ts"
import { chargedCost, chargedUsage } from "./ExtraCharges.ts"
import { type AttemptRecord, chargedPrompt, leftOutBy, noAttempts, reportedPrompt } from "../request/AttemptRecord.ts"
import { asksForSearch } from "../request/RequestedClasses.ts"
import { type RequestOrigin } from "../request/RequestOrigin.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { parametersOf } from "./Parameters.ts"
import { type MeteredRequest } from "./Reservation.ts"
import { countSound } from "../tokens/PromptMembers.ts"
import { countReply } from "../tokens/Tokens.ts"

/** The parts of a request that determine its outcome. */
type Priced = Pick<MeteredRequest, "plan" | "reservation">

/** `candidate` is null if no provider answered. */
export interface Outcome {
  /** The calls to providers. */
  readonly record: AttemptRecord
  readonly candidate: Candidate | null
  readonly usage: TokenUsage
  readonly usageSource: UsageSource
  readonly timeToFirstTokenMs: number | null
  readonly finishReason: string | null
  readonly errorType: string | null
  readonly cancelled: boolean
  readonly fallbackUsed: boolean
}

/** The outcome of a request that called no provider. */
export const noUsage: Outcome = {
  record: noAttempts,
  candidate: null,
  usage: { promptTokens: 0, completionTokens: 0, cachedTokens: 0 },
  usageSource: "counted",
  timeToFirstTokenMs: null,
  finishReason: null,
  errorType: null,
  cancelled: false,
  fallbackUsed: false
}

/**
 * The usage of an outcome: the provider's figures if they are plausible, zeros included, or else
 * the gateway's count. `countOutput` counts the completion tokens of the whole answer.
 */
export const outcomeOf = (
  { plan, reservation }: Priced,
  record: AttemptRecord,
  answer: Origin,
  reported: TokenUsage | null,
  countOutput: () => number
): Outcome => {
  const candidate = record.continuation?.candidate ?? answer.candidate
  const usage =
    answer.source === "cache"
      ? reported
      : plausibleUsage(plan, reservation.held.affordableTokens, candidate.offer, reported)
  return {
    ...noUsage,
    record,
    candidate,
    usage:
      answer.source === "cache" && usage !== null
        ? usage
        : withSearch(
            plan,
            candidate,
            // Figures that are rejected are rejected as a whole, those of the prompt too.
            usage ?? countedUsage(plan, record, reported === null ? candidate : null, countOutput())
          ),
    usageSource: answer.source === "cache" ? "cache" : usage === null ? "counted" : "provider",
    fallbackUsed: answer.fallbackUsed || record.continuation !== null
  }
}

/** Counts the prompt, if the usage of the outcome needs it. */
export const countPrompt = (
  { plan, reservation }: Priced,
  record: AttemptRecord,
  answer: Origin,
  reported: TokenUsage | null
): Effect.Effect<unknown> => {
  if (plan.prompt.isCounted || answer.source === "cache") return Effect.void
  const candidate = record.continuation?.candidate ?? answer.candidate
  if (reported === null) return chargedPrompt(record, candidate, plan.prompt)
  return plausibleUsage(plan, reservation.held.affordableTokens, candidate.offer, reported) === null
    ? plan.prompt.count()
    : Effect.void
}

/**
 * OpenAI's search models search once if they are told to, and their usage does not say so. Other
 * dialects do not pass the option on.
 */
export const withSearch = ({ request }: RequestPlan, { offer, provider }: Candidate, usage: TokenUsage): TokenUsage =>
  asksForSearch(request) &&
  provider.dialect === "openai" &&
  usage.rare?.web_search === undefined &&
  offer.pricing.rare?.web_search !== undefined
    ? { ...usage, rare: { ...usage.rare, web_search: 1 } }
    : usage

export const wholeOutcome = (request: Priced, record: AttemptRecord, answer: Origin, reply: ChatReply): Outcome => ({
  ...outcomeOf(request, record, answer, reply.usage, () => countReply(reply)),
  finishReason: reply.choices[0]?.finish_reason ?? null
})

/**
 * The gateway's count for the call that ended the request. The prompt is what the provider of
 * `candidate` reported before the end, if it did; null: it is counted too. The count of a prompt
 * that nothing has counted yet is estimated. `completionTokens` are those of the whole answer.
 */
export const countedUsage = (
  { prompt, request }: RequestPlan,
  record: AttemptRecord,
  candidate: Candidate | null,
  completionTokens: number
): TokenUsage => {
  const { continuation } = record
  const ownTokens = Math.max(0, completionTokens - (continuation?.producedTokens ?? 0))
  const reported = candidate === null ? null : reportedPrompt(record, candidate)
  if (reported !== null) return { ...reported, completionTokens: ownTokens }
  const sound = countSound(request)
  return {
    promptTokens: continuation?.promptTokens ?? prompt.likely,
    completionTokens: ownTokens,
    cachedTokens: 0,
    ...(sound === 0 ? {} : { rare: { prompt_audio: sound } })
  }
}

/** At the prices of the request's start, with the markup and the charges for other calls. */
export const costFor = ({ candidate, record: { charges }, usage, usageSource }: Outcome, markup: number): Cost => {
  if (candidate === null) return chargedCost(charges, markup)
  const price = candidate.offer.pricing
  const own = usageSource === "cache" ? savedCost(usage, price) : priceUsage(usage, price, markup)
  return charges.length === 0 ? own : addCosts(own, chargedCost(charges, markup))
}

const freePrices: Prices = { prompt: 0, completion: 0, cachedPrompt: null }

/** `nowMs`: the end. `cost`: the charge. `held`: the reservation, at first and in addition. */
export const generationOf = (
  plan: RequestPlan,
  ending: Outcome,
  nowMs: number,
  cost: Cost,
  held: Pick<ReservationReceipt, "reservedNano" | "extendedNano">
): Generation => {
  const { attempts, charges } = ending.record
  const dropped = leftOutBy(ending.record, ending.candidate)
  return {
    id: plan.generationId,
    keyId: plan.caller.key.id,
    ownerId: plan.caller.key.ownerId,
    model: modelOf(plan, ending),
    provider: providerOf(ending),
    createdAtMs: plan.startedAtMs,
    usage: usageOf(ending),
    usageSource: charges.length === 0 ? ending.usageSource : "counted",
    cost,
    latencyMs: nowMs - plan.startedAtMs,
    timeToFirstTokenMs: ending.timeToFirstTokenMs,
    fallbackUsed: ending.fallbackUsed,
    cacheHit: ending.usageSource === "cache",
    streamed: plan.streamed,
    cancelled: ending.cancelled,
    finishReason: ending.finishReason,
    errorType: ending.errorType,
    attempts: withEnds(attempts, nowMs - plan.startedAtMs),
    excluded: recordedExclusions(plan.excluded),
    ...(plan.named === undefined ? {} : { requestedModel: plan.named.as }),
    price: mainPricesOf(ending),
    reservation: {
      reservedNano: held.reservedNano,
      extendedNano: held.extendedNano,
      settledNano: cost.billedNano
    },
    parameters: parametersOf(plan.request),
    ...(plan.masked === undefined ? {} : { masked: plan.masked }),
    ...(plan.origin === undefined ? {} : { request: answeredRequest(plan.origin, plan.streamed, ending) }),
    ...(dropped.length === 0 ? {} : { dropped }),
    ...(ending.record.sticky === null ? {} : { sticky: ending.record.sticky })
  }
}

/** The model that answered, or else the one that was called last, or else the one asked for. */
export const modelOf = (plan: RequestPlan, { candidate, record }: Outcome): string =>
  candidate?.offer.id ?? record.attempts.at(-1)?.model ?? plan.model

/** Empty if no provider was called. */
export const providerOf = ({ candidate, record }: Outcome): string =>
  candidate?.provider.slug ?? record.attempts.at(-1)?.provider ?? ""

/** With the tokens of other calls that are charged. */
export const usageOf = ({ record: { charges }, usage }: Outcome): TokenUsage =>
  charges.length === 0 ? usage : chargedUsage(charges, usage)

/**
 * A stream runs until the request ends. One that broke off ran until the call that continued it
 * began.
 */
const withEnds = (attempts: ReadonlyArray<Attempt>, endMs: number): ReadonlyArray<Attempt> =>
  attempts.map((attempt, at) => {
    if (attempt.endedMs !== undefined || attempt.startedMs === undefined) return attempt
    const next = attempt.status === "ok" ? undefined : attempts[at + 1]?.startedMs
    return { ...attempt, endedMs: Math.max(attempt.startedMs, next ?? endMs) }
  })

/** A client that left before a response, as in nginx. */
const LEFT_STATUS = 499
const OK_STATUS = 200

export const answeredRequest = (
  { endpoint, requestId, statuses }: RequestOrigin,
  streamed: boolean,
  { cancelled, errorType, timeToFirstTokenMs }: Outcome
): AnsweredRequest => {
  const hasBegun = streamed && timeToFirstTokenMs !== null
  const known: Readonly<Record<string, number>> = statuses
  const failed = errorType === null ? OK_STATUS : (known[errorType] ?? statuses.internal_error)
  return { id: requestId, endpoint, status: hasBegun ? OK_STATUS : cancelled ? LEFT_STATUS : failed }
}

/** The prices of rare classes are on the lines that they made. */
export const mainPricesOf = ({ candidate, usage: { promptTokens, serviceTier } }: Outcome): Prices => {
  const pricing = candidate?.offer.pricing ?? freePrices
  const { cachedPrompt, completion, prompt } = pricesFor(pricing, promptTokens, serviceTier)
  return { prompt, completion, cachedPrompt }
}

/**
 * The name of an unknown model is the client's text. It is shown to the client and not recorded.
 */
const recordedExclusions = (excluded: ReadonlyArray<Exclusion>): ReadonlyArray<Exclusion> =>
  excluded.some(({ reason }) => reason === "unknown_model")
    ? excluded.filter(({ reason }) => reason !== "unknown_model")
    : excluded

/** The part of a generation that is always recorded: key, usage and cost. */
export const bareGeneration = (generation: Generation): Generation => ({
  ...generation,
  finishReason: null,
  attempts: [],
  excluded: [],
  price: freePrices
})

/** The error type of a generation, in the words of the wire. */
export const errorTypeOf = (error: GatewayError): GenerationError => {
  switch (error.reason._tag) {
    case "ProvidersTimedOut":
      return "provider_timeout"
    case "ProviderUnavailable":
      return "provider_unavailable"
    case "ProviderRateLimited":
      return "provider_rate_limited"
    case "ProviderLacksModel":
      return "model_not_found"
    case "InvalidRequest":
      return "invalid_request"
    case "ContextLengthExceeded":
      return "context_length_exceeded"
    case "DependencyUnavailable":
      return "dependency_unavailable"
    case "BudgetExceeded":
      return "budget_exceeded"
    default:
      return "provider_error"
  }
}

/**
 * Whether more than one provider or model was called. A retry of the same one is not a fallback.
 */
export const fellBack = ({ attempts }: AttemptRecord): boolean =>
  new Set(attempts.map(({ model, provider }) => `${provider}|${model}`)).size > 1
