/**
 * Searches a text for personal data with all wanted recognisers. Findings are in the order of the
 * text and do not overlap. The search may pause wherever it yields. An aborted search says nothing
 * about the text.
 */
import { Effect } from "effect"
import { type OwnPattern } from "../../domain/Privacy.ts"
import { type TimeBudget, type Steps } from "./TimeBudget.ts"
import { findEmails } from "./Emails.ts"
import { hints, hintsOf } from "./Hints.ts"
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
      const hinted = text.length < SHORTEST ? 0 : hintsOf(text)
      if (hinted !== 0) {
        const seeks = (type: string, hint: number): boolean => (hinted & hint) !== 0 && wanted.has(type)
        if (seeks("email", hints.email)) yield* findEmails(text, libraries, add)
        if (wanted.has("secret")) yield* findSecrets(text, hinted, add)
        const kinds = {
          cards: seeks("credit_card", hints.card),
          ssns: seeks("us_ssn", hints.ssn),
          addresses: seeks("ip_address", hints.ipv4)
        }
        if (kinds.cards || kinds.ssns || kinds.addresses) yield* findNumbers(text, kinds, libraries, add)
        if (seeks("ip_address", hints.ipv6)) yield* findIpv6(text, add)
        if (seeks("phone", hints.phone)) yield* findPhones(text, libraries, add)
        if (seeks("iban", hints.iban)) yield* findIbans(text, libraries, add)
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
