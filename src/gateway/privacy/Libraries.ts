/**
 * The libraries that check candidates. They are large, so nothing is loaded before the first text is searched; after that they stay.
 */
import { Effect } from "effect"
import { type parsePhoneNumberFromString } from "libphonenumber-js/max"
import { type OwnPattern } from "../../domain/Privacy.ts"

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
  /** Where it matches, from `from` on; null: nowhere any more. Linear in the text. */
  readonly next: (text: string) => () => { readonly start: number; readonly end: number } | null
}

/** Compiles with RE2's engine, which never backtracks. Dies on a pattern that the settings should have refused. */
export const compilePatterns = (patterns: ReadonlyArray<OwnPattern>): Effect.Effect<ReadonlyArray<CompiledPattern>> =>
  patterns.length === 0
    ? Effect.succeed([])
    : Effect.map(
        Effect.promise(() => import("re2js")),
        ({ RE2JS }) =>
          patterns.map(({ name, pattern }): CompiledPattern => {
            const compiled = RE2JS.compile(pattern)
            return {
              name,
              next: (text) => {
                const matcher = compiled.matcher(text)
                return () => (matcher.find() ? { start: matcher.start(), end: matcher.end() } : null)
              }
            }
          })
      )
