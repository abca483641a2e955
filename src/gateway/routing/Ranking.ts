/**
 * Which providers may serve a request, and in which order: pure, total and deterministic. Filters come first and say why they
 * left a provider out; then `order` puts its providers in front and the sort axis orders the rest. Failures make a provider count as
 * slower, and as dearer where nobody asked for the cheapest. Now and then a request tries who would not be called otherwise, so that
 * a provider which has recovered is found again.
 */
import { type Candidate, deniesCollection, type Exclusion, type SortAxis } from "../../domain/Catalog.ts"
import { type ProviderPreferences } from "../../domain/Chat.ts"
import { costOf, type NanoUsd, picoFromUsdPerMillion, pricesFor } from "../../domain/Money.ts"
import { type StatsSnapshot } from "../health/StatsTable.ts"

export interface RankingInput {
  readonly candidates: ReadonlyArray<Candidate>
  readonly preferences: ProviderPreferences | null
  readonly defaultSort: SortAxis
  readonly kind: "chat" | "embeddings"
  readonly promptTokens: number
  /** What the client allows for all choices together; `null`: it did not say. */
  readonly outputTokens: number | null
  readonly choices: number
  /** Whether the first token counts, or the whole reply. */
  readonly streamed: boolean
  readonly stats: (candidate: Candidate) => StatsSnapshot
}

export interface Ranking {
  readonly ranked: ReadonlyArray<Candidate>
  readonly excluded: ReadonlyArray<Exclusion>
}

/** What one choice is expected to hold, in tokens, where the client allows as much. */
const LIKELY_OUTPUT_TOKENS = 256

/** How many tokens all choices together will likely hold. `outputTokens`: what the client allows for all of them. */
export const likelyOutput = (outputTokens: number | null, choices: number): number =>
  Math.min(outputTokens ?? Number.POSITIVE_INFINITY, LIKELY_OUTPUT_TOKENS * choices)

/** What the request will likely cost at a candidate: its own prompt, at the prices of its length, and a likely answer. */
export const expectedCost = ({ offer }: Candidate, promptTokens: number, likelyOutputTokens: number): NanoUsd => {
  const { completion, prompt } = pricesFor(offer.pricing, promptTokens)
  return costOf(promptTokens, prompt) + costOf(offer.embeddings ? 0 : likelyOutputTokens, completion)
}

/** Clients that build their lists in code send empty ones where they have nothing to say. */
const isGiven = <A>(list: ReadonlyArray<A> | null | undefined): list is ReadonlyArray<A> =>
  list !== null && list !== undefined && list.length > 0

/** Why a candidate may not serve the request, in a word for `details.excluded`; undefined: it may. */
const exclusionReason = (candidate: Candidate, input: RankingInput): string | undefined => {
  const { preferences } = input
  const { offer, provider } = candidate
  if (offer.embeddings !== (input.kind === "embeddings"))
    return input.kind === "chat" ? "not_a_chat_model" : "not_an_embedding_model"
  if (isGiven(preferences?.only) && !preferences.only.includes(provider.slug)) return "not_in_only"
  // The client named who may serve it, and allowed no others.
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

/** Share of the calls that are answered, 1 at best; one failure of few is held against nobody for long. */
const health = ({ calls, successRate }: StatsSnapshot): number => (calls * successRate + 1) / (calls + 1)

/** Who was never measured counts as best, so that a new provider is found out about; who never answered, as worst. */
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
      // An explicit `sort: price` is taken at its word; health weighs only where the client left the choice to us.
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
  return { ranked: eligible.length > 1 ? ordered(eligible, input) : eligible, excluded }
}

/** The share of requests that try another provider than the ranking would have. */
const EXPLORED_SHARE = 0.02

/**
 * Who may be tried in the first candidate's place, because their figures may be out of date: any other where speed decides; where
 * price does, those who are cheaper and were put behind for their failures. Nobody where the request says itself who comes
 * first, takes the price at its word, or would not get a second try.
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

/** The ranking with one of `others` in front, for a small share of all `roll`s, which are 0 to 1. */
export const explored = (
  ranked: ReadonlyArray<Candidate>,
  others: ReadonlyArray<Candidate>,
  roll: number
): ReadonlyArray<Candidate> => {
  const tried = others[Math.floor((roll / EXPLORED_SHARE) * others.length)]
  return tried === undefined ? ranked : [tried, ...ranked.filter((candidate) => candidate !== tried)]
}

const ordered = (eligible: ReadonlyArray<Candidate>, input: RankingInput): ReadonlyArray<Candidate> => {
  const order = input.preferences?.order ?? []
  return eligible
    .map((candidate) => {
      const named = order.indexOf(candidate.provider.slug)
      return { candidate, place: named === -1 ? order.length : named, score: score(candidate, input) }
    })
    .sort((a, b) => a.place - b.place || a.score - b.score || bySlug(a.candidate, b.candidate))
    .map(({ candidate }) => candidate)
}

const bySlug = (a: Candidate, b: Candidate): number =>
  a.provider.slug < b.provider.slug ? -1 : a.provider.slug > b.provider.slug ? 1 : 0
