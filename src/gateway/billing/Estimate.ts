/**
 * The worst-case cost of a request before it is answered: the prompt, counted or bounded, and the
 * largest possible output, both at the prices of the most expensive candidate, with the markup.
 * Tokens that may turn out to be of a dear class, such as a cache write or audio, have the price of
 * that class.
 */
import { type Candidate } from "../../domain/Catalog.ts"
import { costOf, type NanoUsd } from "../../domain/pricing/Money.ts"
import { priceOf, pricesFor, tierFactor } from "../../domain/pricing/Pricing.ts"
import { type RareClass } from "../../domain/pricing/UsageClass.ts"
import { cacheWriteOf, mediaOf, tierAsked } from "../request/RequestedClasses.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { countSound } from "../tokens/PromptMembers.ts"

/** The output limit of a model that does not state its own, in tokens. */
const DEFAULT_MAX_OUTPUT = 16_384

/** In nano-USD. Only `amountNano` is rounded. */
export interface Estimate {
  /** The fee of the call included. */
  readonly promptNano: number
  /** The price of one output token. */
  readonly tokenNano: number
  /** The most output tokens of one choice; null if the plan has no candidate. */
  readonly outputTokens: number | null
  /** The worst case. */
  readonly amountNano: number
}

export const estimateOf = (plan: RequestPlan, markup: number): Estimate => {
  let promptNano = 0
  let tokenNano = 0
  let outputTokens: number | null = null
  const asked = plan.outputTokens === null ? null : Math.ceil(plan.outputTokens / plan.choices)
  const classes = classesOf(plan)
  for (const candidate of plan.ranked) {
    const { offer } = candidate
    promptNano = Math.max(promptNano, mostOfPrompt(candidate, plan.prompt.most, classes))
    tokenNano = Math.max(tokenNano, mostOfToken(candidate, plan.prompt.most, classes) / 1000)
    const possible = offer.embeddings ? 0 : (asked ?? offer.maxCompletionTokens ?? DEFAULT_MAX_OUTPUT)
    outputTokens = Math.max(outputTokens ?? 0, possible)
  }
  const factor = 1 + markup
  return {
    promptNano: promptNano * factor,
    tokenNano: tokenNano * factor,
    outputTokens,
    amountNano: Math.min(
      Math.ceil((promptNano + (outputTokens ?? 0) * plan.choices * tokenNano) * factor),
      Number.MAX_SAFE_INTEGER
    )
  }
}

/**
 * The cost of another call's prompt, with the markup. The reservation of the request does not cover
 * it.
 */
export const promptCost = (plan: RequestPlan, candidate: Candidate, promptTokens: number, markup: number): NanoUsd =>
  Math.ceil(mostOfPrompt(candidate, promptTokens, classesOf(plan)) * (1 + markup))

/** The parts of a request that may have a price of their own. */
interface Classes {
  readonly cacheWrite: RareClass | null
  /** Tokens of the prompt that are audio. */
  readonly sound: number
  readonly media: ReadonlyArray<RareClass>
  readonly tier: string | undefined
}

const classesOf = ({ request }: RequestPlan): Classes => ({
  cacheWrite: cacheWriteOf(request),
  sound: countSound(request),
  media: mediaOf(request),
  tier: tierAsked(request)
})

/**
 * A cheap tier may be unavailable, and the provider may then serve the request at the listed price.
 */
const dearTier = ({ offer }: Candidate, { tier }: Classes): string | undefined =>
  tier !== undefined && (tierFactor(offer.pricing, tier) ?? 2) > 1 ? tier : undefined

const mostOfPrompt = (candidate: Candidate, promptTokens: number, classes: Classes): NanoUsd => {
  const { offer, provider } = candidate
  const prices = pricesFor(offer.pricing, promptTokens, dearTier(candidate, classes))
  // OpenAI's newer models write to their cache without being asked.
  const implicit = provider.dialect === "openai" && prices.rare?.cache_write !== undefined ? "cache_write" : null
  const write = classes.cacheWrite ?? implicit
  const sound = Math.min(classes.sound, promptTokens)
  return (
    costOf(promptTokens - sound, write === null ? prices.prompt : Math.max(prices.prompt, priceOf(write, prices))) +
    (sound === 0 ? 0 : costOf(sound, Math.max(prices.prompt, priceOf("prompt_audio", prices)))) +
    costOf(1, prices.rare?.request ?? 0)
  )
}

const mostOfToken = (candidate: Candidate, promptTokens: number, classes: Classes): number => {
  const prices = pricesFor(candidate.offer.pricing, promptTokens, dearTier(candidate, classes))
  return classes.media.reduce((most, name) => Math.max(most, priceOf(name, prices)), prices.completion)
}
