/**
 * What a request may cost, before anything is known of its answer: the prompt as counted here, the output up to its limit, both at the
 * price of the most expensive candidate, the markup included.
 */
import { costOf, pricesFor } from "../../domain/Money.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"

/** The output bound of a model that does not tell its own, in tokens. */
const DEFAULT_MAX_OUTPUT = 16_384

/** In nano-USD, not rounded but for `amountNano`. */
export interface Estimate {
  readonly promptNano: number
  /** Of one output token. */
  readonly tokenNano: number
  /** Output tokens a choice, at most; null when nobody may serve the plan. */
  readonly outputTokens: number | null
  /** The worst case. */
  readonly amountNano: number
}

export const estimateOf = (plan: RequestPlan, markup: number): Estimate => {
  let promptNano = 0
  let tokenNano = 0
  let outputTokens: number | null = null
  const asked = plan.outputTokens === null ? null : Math.ceil(plan.outputTokens / plan.choices)
  for (const { offer } of plan.ranked) {
    const prices = pricesFor(offer.pricing, plan.promptTokens)
    promptNano = Math.max(promptNano, costOf(plan.promptTokens, prices.prompt))
    tokenNano = Math.max(tokenNano, prices.completion / 1000)
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
