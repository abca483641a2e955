/**
 * Searches a text for personal data with all wanted recognisers. Findings are in the order of the
 * text and do not overlap. The search may pause wherever it yields. An aborted search says nothing
 * about the text.
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

/** Searches a text for the wanted types. The result is meaningless once the budget is over. */
export type Scanner = (text: string, wanted: ReadonlySet<string>, budget: TimeBudget) => Steps<ReadonlyArray<Span>>

/** Length of the shortest finding, such as `a@b.co`. */
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
      return yield* withoutOverlaps(spans)
    }
  })

/** Empty matches are skipped. */
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
