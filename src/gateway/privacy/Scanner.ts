/**
 * The one search for personal data: every recogniser that is wanted over one text. What it answers is in the order of the text and
 * does not overlap. It answers nothing at all when the time is over, because a search that was broken off has cleared nothing.
 */
import { Effect } from "effect"
import { type OwnPattern } from "../../domain/Privacy.ts"
import { type Budget } from "./Budget.ts"
import { findEmails } from "./Emails.ts"
import { findIbans } from "./Ibans.ts"
import { findIpv6 } from "./Ipv6.ts"
import { type CompiledPattern, compilePatterns, loadLibraries } from "./Libraries.ts"
import { findNumbers } from "./Numbers.ts"
import { findPhones } from "./Phones.ts"
import { findSecrets } from "./Secrets.ts"
import { type Span, withoutOverlaps } from "./Span.ts"

/** Searches a text for the wanted types; null when the budget ran out. */
export type Scanner = (text: string, wanted: ReadonlySet<string>, budget: Budget) => ReadonlyArray<Span> | null

/** The shortest of all: an address `1.1.1.1`, or `a@b.co`. */
const SHORTEST = 6

/** Loads the libraries and compiles the operator's patterns. */
export const makeScanner = (patterns: ReadonlyArray<OwnPattern>): Effect.Effect<Scanner> =>
  Effect.gen(function* () {
    const libraries = yield* loadLibraries
    const own = yield* compilePatterns(patterns)
    return (text, wanted, budget) => {
      const spans: Array<Span> = []
      const add = (span: Span): void => void spans.push(span)
      for (const pattern of own) if (wanted.has(pattern.name) && !budget.isOver()) findOwn(text, pattern, budget, add)
      if (text.length >= SHORTEST) {
        const kinds = {
          cards: wanted.has("credit_card"),
          ssns: wanted.has("us_ssn"),
          addresses: wanted.has("ip_address")
        }
        if (wanted.has("email")) findEmails(text, libraries, budget, add)
        if (wanted.has("secret")) findSecrets(text, budget, add)
        if (/\d/.test(text)) {
          if (kinds.cards || kinds.ssns || kinds.addresses) findNumbers(text, kinds, libraries, budget, add)
          if (kinds.addresses) findIpv6(text, budget, add)
          if (wanted.has("phone")) findPhones(text, libraries, budget, add)
          if (wanted.has("iban")) findIbans(text, libraries, budget, add)
        }
      }
      return budget.isOver() ? null : withoutOverlaps(spans)
    }
  })

/** An empty match names nothing and is passed over. */
const findOwn = (text: string, { name, next }: CompiledPattern, budget: Budget, add: (span: Span) => void): void => {
  const step = next(text, budget)
  for (let found = step(); found !== null && !budget.isOver(); found = step()) {
    if (found.end > found.start) add({ ...found, type: name })
  }
}
