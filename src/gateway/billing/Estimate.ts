/**
 * The worst-case cost of a request before it is answered: the counted prompt and the largest
 * possible output, both at the prices of the most expensive candidate, with the markup.
 */
import { costOf, pricesFor } from "../../domain/Money.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"

/** The output limit of a model that does not state its own, in tokens. */
const DEFAULT_MAX_OUTPUT = 16_384

/** In nano-USD. Only `amountNano` is rounded. */
export interface Estimate {
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
