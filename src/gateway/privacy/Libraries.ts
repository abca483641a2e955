/**
 * The libraries that validate candidates. They are large, so they are loaded at the first search,
 * and then stay loaded.
 */
import { Effect, Result } from "effect"
import type { parsePhoneNumberFromString } from "libphonenumber-js/max"
import { type OwnPattern } from "../../domain/Privacy.ts"
import { type TimeBudget } from "./TimeBudget.ts"
import { TimedText } from "./TimedText.ts"

export interface Libraries {
  /** libphonenumber, with the metadata of all kinds of numbers. */
  readonly parsePhone: typeof parsePhoneNumberFromString
  /** Checks mod 97 and the country's form. The input is upper-case, without spaces. */
  readonly isIban: (iban: string) => boolean
  /** Length of an IBAN by country code; undefined for a country without IBANs. */
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

/** Loads once per process: a second call gets the cached modules. */
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

/** An operator's pattern, compiled. */
export interface CompiledPattern {
  readonly name: string
  /**
   * Yields each match, including empty ones, and null after each window. Ends the budget if the
   * engine fails.
   */
  readonly matches: (
    text: string,
    budget: TimeBudget
  ) => Generator<{ readonly start: number; readonly end: number } | null, void>
}

/**
 * Length of one window, in which matches begin. A match up to this length is found whole at the
 * first try. RE2's engine takes up to a microsecond a character, and the search can pause only
 * between windows.
 */
const WINDOW = 2_048

/**
 * Compiles with RE2's engine, which never backtracks. Dies on an invalid pattern, because the
 * settings refuse those.
 */
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
              // Searches one window at a time, and sees as much again behind it. A match that
              // reaches the end of the visible text is searched again with more text.
              *matches(text, budget) {
                let ahead = WINDOW
                for (let from = 0; from < text.length;) {
                  const next = Math.min(text.length, from + WINDOW)
                  const visibleTo = Math.min(text.length, next + ahead)
                  const matcher = compiled.matcher(MatcherInput.utf16(new TimedText(text.slice(0, visibleTo), budget)))
                  let at = from
                  from = next
                  while (at < next) {
                    const found = Result.try(() => matcher.find(at))
                    if (Result.isFailure(found)) return budget.end()
                    if (!found.success || matcher.start() >= next) break
                    const [start, end] = [matcher.start(), matcher.end()]
                    if (end === visibleTo && visibleTo < text.length) {
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
