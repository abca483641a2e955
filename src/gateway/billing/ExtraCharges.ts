/**
 * Charges for calls other than the one that answered: the first part of a stream that another
 * provider continued, or the slower of two hedged calls. Each call is priced at its own provider's
 * prices, and the request's cost is the sum.
 */
import { addCosts, type Cost, type TokenUsage, zeroCost } from "../../domain/pricing/Money.ts"
import { priceUsage } from "../../domain/pricing/Pricing.ts"
import { addClasses } from "../../domain/pricing/UsageClass.ts"
import { type Charge } from "../request/AttemptRecord.ts"

export const chargedCost = (charges: ReadonlyArray<Charge>, markup: number): Cost =>
  charges.reduce(
    (sum, { candidate, usage }) => addCosts(sum, priceUsage(usage, candidate.offer.pricing, markup)),
    zeroCost
  )

export const chargedUsage = (charges: ReadonlyArray<Charge>, usage: TokenUsage): TokenUsage =>
  charges.reduce(
    (sum, charge) => ({
      ...sum,
      ...(charge.usage.rare === undefined ? {} : { rare: addClasses(charge.usage.rare, sum.rare) }),
      promptTokens: sum.promptTokens + charge.usage.promptTokens,
      completionTokens: sum.completionTokens + charge.usage.completionTokens,
      cachedTokens: sum.cachedTokens + charge.usage.cachedTokens
    }),
    usage
  )
