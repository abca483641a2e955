/**
 * What an order pays beside the call that ended it: the beginning of a stream that went on elsewhere, a second call beside a slow one. Each call is priced at its own
 * provider's prices, and the order's cost is the sum.
 */
import { type Candidate } from "../../domain/Catalog.ts"
import {
  addCosts,
  type Cost,
  costOf,
  type NanoUsd,
  pricesFor,
  priceUsage,
  type TokenUsage,
  zeroCost
} from "../../domain/Money.ts"
import { type Order } from "../request/Order.ts"

/** One such call, as counted here: a provider reports its usage at the end only. */
export interface Charge {
  readonly candidate: Candidate
  readonly usage: TokenUsage
}

/** All that a call which had no token yet is charged for. */
export const promptOf = ({ promptTokens }: Order<unknown>, candidate: Candidate): Charge => ({
  candidate,
  usage: { promptTokens, completionTokens: 0, cachedTokens: 0 }
})

/** Charges the order for a call beside the one that ends it; the attempt at `at` on the receipt shows it. */
export const charge = ({ attempts, charges }: Order<unknown>, { candidate, usage }: Charge, at: number): void => {
  charges.push({ candidate, usage })
  const attempt = attempts[at]
  if (attempt === undefined) return
  attempts[at] = { ...attempt, charge: { usage, totalNano: priceUsage(usage, candidate.offer.pricing, 0).totalNano } }
}

export const chargedCost = (charges: ReadonlyArray<Charge>, markup: number): Cost =>
  charges.reduce(
    (sum, { candidate, usage }) => addCosts(sum, priceUsage(usage, candidate.offer.pricing, markup)),
    zeroCost
  )

export const chargedUsage = (charges: ReadonlyArray<Charge>, usage: TokenUsage): TokenUsage =>
  charges.reduce(
    (sum, charge) => ({
      promptTokens: sum.promptTokens + charge.usage.promptTokens,
      completionTokens: sum.completionTokens + charge.usage.completionTokens,
      cachedTokens: sum.cachedTokens + charge.usage.cachedTokens
    }),
    usage
  )

/** What a further call's prompt costs, markup included: the part of it that an order has not held anything for. */
export const promptCost = ({ offer }: Candidate, promptTokens: number, markup: number): NanoUsd =>
  Math.ceil(costOf(promptTokens, pricesFor(offer.pricing, promptTokens).prompt) * (1 + markup))
