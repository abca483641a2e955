/**
 * The libraries that check candidates. They are large, so nothing is loaded before the first text is searched; after that they stay.
 */
import { Effect, Result } from "effect"
import type { parsePhoneNumberFromString } from "libphonenumber-js/max"
import { type OwnPattern } from "../../domain/Privacy.ts"
import { type TimeBudget } from "./TimeBudget.ts"
import { TimedText } from "./TimedText.ts"

export interface Libraries {
  /** libphonenumber, with the metadata of every kind of number. */
  readonly parsePhone: typeof parsePhoneNumberFromString
  /** Mod 97 and the country's own form; upper-case, without spaces. */
  readonly isIban: (iban: string) => boolean
  /** Characters of an IBAN by country code; undefined for a country without. */
  readonly ibanLength: (country: string) => number | undefined
  readonly isLuhn: (digits: string) => boolean
  readonly isEmail: (address: string) => boolean
}

const load = Effect.promise(() =>
  Promise.all([
    import("libphonenumber-js/max"),
    import("ibantools"),
    import("validator/lib/isLuhnNumber.js"),
    import("validator/lib/isEmail.js")
  ])
)

/** Loads once for the whole process: a second call finds the modules where the first left them. */
export const loadLibraries: Effect.Effect<Libraries> = Effect.map(load, ([phone, iban, luhn, email]): Libraries => {
  const countries = iban.getCountrySpecifications()
  const isLuhn = luhn.default.default
  const isEmail = email.default.default
  return {
    parsePhone: phone.parsePhoneNumberFromString,
    isIban: (text) => iban.isValidIBAN(text),
    ibanLength: (country) => countries[country]?.chars ?? undefined,
    isLuhn: (digits) => isLuhn(digits),
    isEmail: (address) => isEmail(address)
  }
})

/** An operator's pattern, ready to be looked for. */
export interface CompiledPattern {
  readonly name: string
  /** Each match, empty ones too; null after each window. Ends the budget if the engine fails. */
  readonly matches: (
    text: string,
    budget: TimeBudget
  ) => Generator<{ readonly start: number; readonly end: number } | null, void>
}

/** Characters in which matches of one window begin, and the length up to which each match is found whole at once. */
const WINDOW = 8_192

/** Compiles with RE2's engine, which never backtracks. Dies on a pattern that the settings should have refused. */
export const compilePatterns = (patterns: ReadonlyArray<OwnPattern>): Effect.Effect<ReadonlyArray<CompiledPattern>> =>
  patterns.length === 0
    ? Effect.succeed([])
    : Effect.map(
        Effect.promise(() => import("re2js")),
        ({ MatcherInput, RE2JS }) =>
          patterns.map(({ name, pattern }): CompiledPattern => {
            const compiled = RE2JS.compile(pattern)
            return {
              name,
              // A window at a time, each with as much again behind it. A match that reaches the end of what is seen is searched again with more.
              *matches(text, budget) {
                let ahead = WINDOW
                for (let from = 0; from < text.length;) {
                  const next = Math.min(text.length, from + WINDOW)
                  const seenTo = Math.min(text.length, next + ahead)
                  const matcher = compiled.matcher(MatcherInput.utf16(new TimedText(text.slice(0, seenTo), budget)))
                  let at = from
                  from = next
                  while (at < next) {
                    const found = Result.try(() => matcher.find(at))
                    if (Result.isFailure(found)) return budget.end()
                    if (!found.success || matcher.start() >= next) break
                    const [start, end] = [matcher.start(), matcher.end()]
                    if (end === seenTo && seenTo < text.length) {
                      from = start
                      ahead *= 2
                      break
                    }
                    yield { start, end }
                    at = Math.max(end, start + 1)
                    from = Math.max(next, at)
                  }
                  yield null
                }
              }
            }
          })
      )
