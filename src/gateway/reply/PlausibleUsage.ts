/**
 * Which usage is believed. What a provider reports is what is billed, as long as the request could have led to it. Output far beyond its
 * limit, or a prompt far beyond what the model takes, is a provider's mistake: nobody is billed by it, and tokens are counted here.
 */
import { Effect } from "effect"
import { type Candidate, type ModelOffer } from "../../domain/Catalog.ts"
import { type TokenUsage } from "../../domain/Money.ts"
import { asksForReasoning } from "../request/Reasoning.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"

/** The context of a model that does not tell its own. */
const UNKNOWN_CONTEXT = 1_000_000
/** What providers add to a prompt, and to an answer, in tokens: instructions of their own, marks of the format. */
const ADDED_TOKENS = 1_024
/** Tools that run at the provider read their results as further prompts of the same request. */
const PROMPTS = 4

/**
 * The usage, where it can be of a call of `offer`; else null. `affordableTokens`: what the reservation bounds the output to, a choice; null: it
 * does not.
 */
export const plausibleUsage = (
  plan: RequestPlan,
  affordableTokens: number | null,
  offer: ModelOffer,
  usage: TokenUsage | null
): TokenUsage | null =>
  usage !== null &&
  usage.promptTokens <= mostPrompt(plan, offer) &&
  usage.completionTokens <= mostOutput(plan, affordableTokens, offer)
    ? usage
    : null

const mostPrompt = ({ promptTokens }: RequestPlan, { contextLength }: ModelOffer): number =>
  PROMPTS * Math.max(contextLength ?? UNKNOWN_CONTEXT, promptTokens) + ADDED_TOKENS

/** The limit that the call went out with. Some vendors count what a model thinks beside it, up to the model's own limit. */
const mostOutput = (
  { choices, outputTokens, request }: RequestPlan,
  affordableTokens: number | null,
  { contextLength, hidesReasoning, maxCompletionTokens }: ModelOffer
): number => {
  const own = maxCompletionTokens ?? contextLength ?? UNKNOWN_CONTEXT
  const asked = outputTokens === null ? own : Math.ceil(outputTokens / choices)
  const sent = Math.min(asked, affordableTokens ?? asked)
  const beside = hidesReasoning || asksForReasoning(request) ? own : 0
  return choices * (sent + beside + ADDED_TOKENS)
}

/** Tells the operator, without a word of the request. */
export const logImplausibleUsage = (
  plan: RequestPlan,
  candidate: Candidate | null,
  reported: TokenUsage
): Effect.Effect<void> =>
  Effect.logWarning("a provider reports more tokens than the request allows; they were counted here").pipe(
    Effect.annotateLogs({
      provider: candidate?.provider.slug,
      model: candidate?.offer.id,
      generation: plan.generationId,
      prompt_tokens: reported.promptTokens,
      completion_tokens: reported.completionTokens
    })
  )
