/**
 * Checks the usage that a provider reports. It is billed if it is plausible for the request. Output
 * far above its limit, or a prompt far above the model's context, is a mistake of the provider: it
 * is not billed, and the gateway counts the tokens.
 */
import { Effect } from "effect"
import { type Candidate, type ModelOffer, UNKNOWN_CONTEXT } from "../../domain/Catalog.ts"
import { type TokenUsage } from "../../domain/pricing/Money.ts"
import { asksForReasoning } from "../request/Reasoning.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"

/**
 * Tokens that providers add to a prompt and to an answer: their own instructions and format marks.
 */
const ADDED_TOKENS = 1_024
/**
 * The number of prompts in a request: results of tools that run at the provider are read as further
 * prompts.
 */
const PROMPTS = 4
/** Calls of such tools in one request. */
const MOST_CALLS = 1_000

/**
 * The usage, if it is plausible for a call of `offer`; otherwise null. `affordableTokens`: the
 * reservation's output limit for a choice; null if there is none.
 */
export const plausibleUsage = (
  plan: RequestPlan,
  affordableTokens: number | null,
  offer: ModelOffer,
  usage: TokenUsage | null
): TokenUsage | null =>
  usage !== null &&
  usage.promptTokens <= mostPrompt(plan, offer) &&
  usage.completionTokens <= mostOutput(plan, affordableTokens, offer) &&
  (usage.rare?.web_search ?? 0) <= MOST_CALLS
    ? usage
    : null

/** A prompt whose bound exceeds the context was counted. */
const mostPrompt = ({ prompt }: RequestPlan, { contextLength }: ModelOffer): number =>
  PROMPTS * Math.max(contextLength ?? UNKNOWN_CONTEXT, prompt.isCounted ? prompt.most : 0) + ADDED_TOKENS

/**
 * The output limit of the call. Some vendors count reasoning in addition, up to the model's own
 * limit.
 */
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

/** Logs the figures, without content of the request. */
export const logImplausibleUsage = (
  plan: RequestPlan,
  candidate: Candidate | null,
  reported: TokenUsage
): Effect.Effect<void> =>
  Effect.logWarning("a provider reports more tokens than the request allows; the count of the gateway is billed").pipe(
    Effect.annotateLogs({
      provider: candidate?.provider.slug,
      model: candidate?.offer.id,
      generation: plan.generationId,
      prompt_tokens: reported.promptTokens,
      completion_tokens: reported.completionTokens
    })
  )
