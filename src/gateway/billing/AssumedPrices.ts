/**
 * Tells the operator of classes of tokens that were charged without a price of their own, once for
 * each model of a provider, so that the price can be set.
 */
import { Effect } from "effect"
import { type Generation } from "../../domain/Generation.ts"
import { type BillLine } from "../../domain/pricing/Money.ts"

/** The classes are few, and so are the models; names beyond this are not kept, nor told. */
const MOST_NAMES = 10_000

const isAssumed = ({ assumed }: BillLine): boolean => assumed === true

export const makeAssumedPriceWarning = () => {
  const told = new Set<string>()
  return ({ cost: { lines }, model, provider }: Generation): Effect.Effect<void> => {
    if (!lines.some(isAssumed)) return Effect.void
    const news = lines.filter(isAssumed).flatMap(({ class: name }) => {
      const known = `${provider} ${model} ${name}`
      if (told.has(known) || told.size >= MOST_NAMES) return []
      told.add(known)
      return [name]
    })
    return news.length === 0
      ? Effect.void
      : Effect.logWarning("charged at the dearest price known, because the model has no price for these").pipe(
          Effect.annotateLogs({ provider, model, classes: news.join(", ") })
        )
  }
}
