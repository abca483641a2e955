/**
 * Filters and sorts the providers for a request: pure, total and deterministic. Filters come first
 * and record why a provider is excluded. Then `order` puts its providers first, and the sort axis
 * orders the rest. Failures make a provider count as slower, and as more expensive unless the
 * client asked for the cheapest. A small share of requests explores a provider that is not first,
 * so that one that has recovered is found again.
 */
import {
  type Candidate,
  deniesCollection,
  type Exclusion,
  type SortAxis,
  UNKNOWN_CONTEXT
} from "../../domain/Catalog.ts"
import { type ProviderPreferences } from "../../domain/Chat.ts"
import { costOf, type NanoUsd, picoFromUsdPerMillion } from "../../domain/pricing/Money.ts"
import { pricesFor } from "../../domain/pricing/Pricing.ts"
import { type StatsSnapshot } from "../health/StatsTable.ts"

export interface RankingInput {
  readonly candidates: ReadonlyArray<Candidate>
  readonly preferences: ProviderPreferences | null
  readonly defaultSort: SortAxis
  readonly kind: "chat" | "embeddings"
  readonly promptTokens: number
  /** The client's limit for all choices together; null if it set none. */
  readonly outputTokens: number | null
  readonly choices: number
  /** Whether the first token counts, or the whole reply. */
  readonly streamed: boolean
  readonly stats: (candidate: Candidate) => StatsSnapshot
}

export interface Ranking {
  readonly ranked: ReadonlyArray<Candidate>
  /** The sizes of the groups that rank equally, in order. The router shares requests in a group. */
  readonly groupSizes: ReadonlyArray<number>
  readonly excluded: ReadonlyArray<Exclusion>
}

/** The expected output of one choice, in tokens, if the client allows as much. */
const LIKELY_OUTPUT_TOKENS = 256

/**
 * The expected output of all choices together, in tokens. `outputTokens`: the client's limit for
 * all of them.
 */
export const likelyOutput = (outputTokens: number | null, choices: number): number =>
  Math.min(outputTokens ?? Number.POSITIVE_INFINITY, LIKELY_OUTPUT_TOKENS * choices)

/**
 * The expected cost of the request at a candidate: the prompt at the prices of its length, and a
 * likely answer.
 */
export const expectedCost = ({ offer }: Candidate, promptTokens: number, likelyOutputTokens: number): NanoUsd => {
  const { completion, prompt } = pricesFor(offer.pricing, promptTokens)
  return costOf(promptTokens, prompt) + costOf(offer.embeddings ? 0 : likelyOutputTokens, completion)
}

/** Clients send empty lists where they mean none. */
const isGiven = <A>(list: ReadonlyArray<A> | null | undefined): list is ReadonlyArray<A> =>
  list !== null && list !== undefined && list.length > 0

/** Why a candidate is excluded, as a word for `details.excluded`; undefined: it is not. */
const exclusionReason = (candidate: Candidate, input: RankingInput): string | undefined => {
  const { preferences } = input
  const { offer, provider } = candidate
  if (offer.embeddings !== (input.kind === "embeddings"))
    return input.kind === "chat" ? "not_a_chat_model" : "not_an_embedding_model"
  if (isGiven(preferences?.only) && !preferences.only.includes(provider.slug)) return "not_in_only"
  // The client named the providers and allowed no others.
  if (
    preferences?.allow_fallbacks === false &&
    isGiven(preferences.order) &&
    !preferences.order.includes(provider.slug)
  )
    return "not_in_order"
  if (preferences?.ignore?.includes(provider.slug)) return "ignored"
  if (preferences?.data_collection === "deny" && !deniesCollection(provider.dataPolicy)) return "data_policy"
  if (preferences?.max_price) {
    const { completion, prompt } = preferences.max_price
    const prices = pricesFor(offer.pricing, input.promptTokens)
    if (typeof prompt === "number" && prices.prompt > picoFromUsdPerMillion(prompt)) return "max_price"
    if (typeof completion === "number" && prices.completion > picoFromUsdPerMillion(completion)) return "max_price"
  }
  if (offer.contextLength !== null && input.promptTokens > offer.contextLength) return "context_length"
  return undefined
}

/** The share of answered calls, 1 at best. One failure among few calls does not count for long. */
const health = ({ calls, successRate }: StatsSnapshot): number => (calls * successRate + 1) / (calls + 1)

/**
 * An unmeasured provider sorts first, so that it gets tried. A provider with only failures sorts
 * last.
 */
const unmeasured = ({ calls, successRate }: StatsSnapshot): number =>
  calls > 0 && successRate === 0 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY

/** Smaller is better. */
const score = (candidate: Candidate, input: RankingInput): number => {
  const sort = input.preferences?.sort ?? null
  const stats = input.stats(candidate)
  switch (sort ?? input.defaultSort) {
    case "latency": {
      const measured = input.streamed ? stats.firstTokenMs : stats.wholeMs
      return measured === null ? unmeasured(stats) : measured.p50 / health(stats)
    }
    case "throughput":
      return stats.throughputTps === null ? unmeasured(stats) : 1 / (stats.throughputTps * health(stats))
    case "price": {
      const cost = expectedCost(candidate, input.promptTokens, likelyOutput(input.outputTokens, input.choices))
      // An explicit `sort: price` is followed exactly. The success rate counts only for the
      // default.
      return sort === null ? (cost + 1) / health(stats) : cost
    }
  }
}

export const rank = (input: RankingInput): Ranking => {
  const excluded: Array<Exclusion> = []
  const eligible: Array<Candidate> = []
  for (const candidate of input.candidates) {
    const reason = exclusionReason(candidate, input)
    if (reason === undefined) eligible.push(candidate)
    else excluded.push({ slug: candidate.provider.slug, model: candidate.offer.id, reason })
  }
  return eligible.length > 1
    ? { ...ordered(eligible, input), excluded }
    : { ranked: eligible, groupSizes: eligible.length === 0 ? [] : alone, excluded }
}

/** The groups of one candidate. */
const alone: ReadonlyArray<number> = [1]

/** The share of requests that explore another provider than the first. */
const EXPLORED_SHARE = 0.02

/**
 * The candidates that may be explored in place of the first, because their measurements may be out
 * of date. Sorted by speed, these are all others. Sorted by price, these are the cheaper ones that
 * sort lower for their failures. There are none if the request sets the order, sorts by price
 * explicitly, or allows no fallback.
 */
export const explorable = (ranked: ReadonlyArray<Candidate>, input: RankingInput): ReadonlyArray<Candidate> => {
  const [first, ...others] = ranked
  const { preferences } = input
  if (first === undefined || others.length === 0 || preferences?.sort === "price") return []
  if (preferences?.allow_fallbacks === false || preferences?.order?.includes(first.provider.slug)) return []
  if ((preferences?.sort ?? input.defaultSort) !== "price") return others
  const costAt = (candidate: Candidate) =>
    expectedCost(candidate, input.promptTokens, likelyOutput(input.outputTokens, input.choices))
  const leastNano = costAt(first)
  return others.filter((candidate) => costAt(candidate) < leastNano)
}

/**
 * The ranking with one of `others` in front, for a small share of all values of `roll`, which is 0
 * to 1.
 */
export const explored = (
  ranked: ReadonlyArray<Candidate>,
  others: ReadonlyArray<Candidate>,
  roll: number
): ReadonlyArray<Candidate> => {
  const tried = others[Math.floor((roll / EXPLORED_SHARE) * others.length)]
  return tried === undefined ? ranked : [tried, ...ranked.filter((candidate) => candidate !== tried)]
}

const ordered = (eligible: ReadonlyArray<Candidate>, input: RankingInput): Pick<Ranking, "ranked" | "groupSizes"> => {
  const order = input.preferences?.order ?? []
  const scored = eligible
    .map((candidate) => {
      const named = order.indexOf(candidate.provider.slug)
      return { candidate, place: named === -1 ? order.length : named, score: score(candidate, input) }
    })
    .sort((a, b) => a.place - b.place || a.score - b.score || bySlug(a.candidate, b.candidate))
  const starts = scored.flatMap(({ place, score }, at) => {
    const before = scored[at - 1]
    return before?.place === place && before.score === score ? [] : [at]
  })
  return {
    ranked: scored.map(({ candidate }) => candidate),
    groupSizes: starts.map((start, at) => (starts[at + 1] ?? scored.length) - start)
  }
}

/**
 * Whether a prompt between two lengths may be in either of two price tiers, or beyond the context.
 */
const isNear = ({ offer: { contextLength, pricing } }: Candidate, fewest: number, most: number): boolean =>
  most > (contextLength ?? UNKNOWN_CONTEXT) ||
  (pricing.tiers ?? []).some(({ abovePromptTokens: start }) => fewest <= start && most > start)

/**
 * Whether a prompt between two lengths could be ranked in another way. `candidates`: those that are
 * ranked at the longer one; `excluded`: the others. `inputAt`: the input for a length.
 */
export const isOpen = (
  candidates: ReadonlyArray<Candidate>,
  excluded: ReadonlyArray<Exclusion>,
  { fewest, most }: { readonly fewest: number; readonly most: number },
  inputAt: (promptTokens: number) => RankingInput
): boolean =>
  excluded.some(({ reason }) => reason === "context_length" || reason === "max_price") ||
  candidates.some((candidate) => isNear(candidate, fewest, most)) ||
  (candidates.length > 1 && !isSameOrder(inputAt(fewest), inputAt(most)))

/**
 * Whether prompts of two lengths are ranked the same. Then so are all between them, because within
 * a tier a price grows in proportion to the length.
 */
const isSameOrder = (short: RankingInput, long: RankingInput): boolean => {
  if ((short.preferences?.sort ?? short.defaultSort) !== "price") return true
  const [a, b] = [rank(short), rank(long)]
  return (
    isSame(a.ranked, b.ranked) &&
    isSame(a.groupSizes, b.groupSizes) &&
    isSame(explorable(a.ranked, short), explorable(b.ranked, long))
  )
}

const isSame = <A>(a: ReadonlyArray<A>, b: ReadonlyArray<A>): boolean =>
  a.length === b.length && a.every((one, at) => one === b[at])

const bySlug = (a: Candidate, b: Candidate): number =>
  a.provider.slug < b.provider.slug ? -1 : a.provider.slug > b.provider.slug ? 1 : 0
