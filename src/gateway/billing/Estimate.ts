/**
 * What an order may cost, before anything is known of its answer: the prompt as counted here, the output up to its limit, both at the
 * dearest candidate's price, the markup included.
 */
import { Predicate } from "effect"
import { costOf, pricesFor } from "../../domain/Money.ts"
import { type Order } from "../request/Order.ts"

/** The output bound of a model that does not tell its own, in tokens. */
const DEFAULT_MAX_OUTPUT = 16_384

/** In nano-USD, not rounded but for `amountNano`. */
export interface Estimate {
  readonly promptNano: number
  /** Of one output token. */
  readonly tokenNano: number
  /** Output tokens a choice, at most; null when nobody may serve the order. */
  readonly outputTokens: number | null
  /** The worst case. */
  readonly amountNano: number
}

export const estimateOf = (order: Order, markup: number): Estimate => {
  let promptNano = 0
  let tokenNano = 0
  let outputTokens: number | null = null
  const asked = order.outputTokens === null ? null : Math.ceil(order.outputTokens / order.choices)
  for (const { offer } of order.ranked) {
    const prices = pricesFor(offer.pricing, order.promptTokens)
    promptNano = Math.max(promptNano, costOf(order.promptTokens, prices.prompt))
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
      Math.ceil((promptNano + (outputTokens ?? 0) * order.choices * tokenNano) * factor),
      Number.MAX_SAFE_INTEGER
    )
  }
}

/**
 * Whether the output can be counted as it arrives, so that a part of the worst case is enough to begin with. Tokens that a model
 * thinks in and does not show are known at the end only: such a request holds its worst case from the start.
 */
export const showsItsOutput = ({ ranked, request }: Pick<Order, "ranked" | "request">): boolean =>
  !asksForReasoning(request) && !ranked.some(({ offer }) => offer.hidesReasoning)

/** Whether a member tells the model to think. What a model shows of that is often a summary. */
export const asksForReasoning = (request: Readonly<Record<string, unknown>>): boolean =>
  isAsked(request["reasoning_effort"]) || isAsked(request["reasoning"]) || isAsked(request["thinking"])

/** An effort, OpenRouter's `reasoning` or Anthropic's `thinking`. */
const isAsked = (member: unknown): boolean => {
  if (!Predicate.isObject(member)) return typeof member === "string" && member !== "none"
  return member["type"] !== "disabled" && member["enabled"] !== false && member["effort"] !== "none"
}
