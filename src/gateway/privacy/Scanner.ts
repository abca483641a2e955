/**
 * The one search for personal data: every recogniser that is wanted over one text. What it answers is in the order of the text and
 * does not overlap. It may pause wherever it yields; a search that was broken off has cleared nothing.
 */
import { Effect } from "effect"
import { type OwnPattern } from "../../domain/Privacy.ts"
import { type TimeBudget, type Steps } from "./TimeBudget.ts"
import { findEmails } from "./Emails.ts"
import { findIbans } from "./Ibans.ts"
import { findIpv6 } from "./Ipv6.ts"
import { type CompiledPattern, compilePatterns, loadLibraries } from "./Libraries.ts"
import { findNumbers } from "./Numbers.ts"
import { findPhones } from "./Phones.ts"
import { findSecrets } from "./Secrets.ts"
import { type Span, withoutOverlaps } from "./Span.ts"

/** Searches a text for the wanted types. What it answers once the budget is over is worth nothing. */
export type Scanner = (text: string, wanted: ReadonlySet<string>, budget: TimeBudget) => Steps<ReadonlyArray<Span>>

/** The shortest of all: an address `1.1.1.1`, or `a@b.co`. */
const SHORTEST = 6

/** Loads the libraries and compiles the operator's patterns. */
export const makeScanner = (patterns: ReadonlyArray<OwnPattern>): Effect.Effect<Scanner> =>
  Effect.gen(function* () {
    const libraries = yield* loadLibraries
    const own = yield* compilePatterns(patterns)
    return function* (text, wanted, budget) {
      const spans: Array<Span> = []
      const add = (span: Span): void => void spans.push(span)
      for (const pattern of own) if (wanted.has(pattern.name)) yield* findOwn(text, pattern, budget, add)
      if (text.length >= SHORTEST) {
        const kinds = {
          cards: wanted.has("credit_card"),
          ssns: wanted.has("us_ssn"),
          addresses: wanted.has("ip_address")
        }
        if (wanted.has("email")) yield* findEmails(text, libraries, add)
        if (wanted.has("secret")) yield* findSecrets(text, add)
        if (/\d/.test(text)) {
          if (kinds.cards || kinds.ssns || kinds.addresses) yield* findNumbers(text, kinds, libraries, add)
          if (kinds.addresses) yield* findIpv6(text, add)
          if (wanted.has("phone")) yield* findPhones(text, libraries, add)
          if (wanted.has("iban")) yield* findIbans(text, libraries, add)
        }
      }
      return withoutOverlaps(spans)
    }
  })

/** An empty match names nothing and is passed over. */
function* findOwn(
  text: string,
  { matches, name }: CompiledPattern,
  budget: TimeBudget,
  add: (span: Span) => void
): Steps<void> {
  for (const found of matches(text, budget)) {
    yield
    if (found !== null && found.end > found.start) add({ ...found, type: name })
  }
}
