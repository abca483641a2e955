/**
 * Recognises phone numbers in international form: `+` or `00` and the country code, with the usual
 * punctuation. libphonenumber decides where a number ends. After a `+` a possible length suffices,
 * because little else is written that way. After `00` the number must be valid. North American
 * numbers are also found without the country code, in their own punctuation.
 */
import { type Steps } from "./TimeBudget.ts"
import { beginsWord, endsWord, isDigit } from "./Characters.ts"
import { type Libraries } from "./Libraries.ts"
import { matchesIn } from "./Matches.ts"
import { type Span } from "./Span.ts"

const MAX_TRIES = 6
const MIN_DIGITS = 7

const plus = /[+＋][ (]{0,2}\d(?:[ \u00a0\u202f.()/\u2010-\u2013-]{0,3}\d){6,16}/g
// A candidate adjacent to other text is not a phone number: a decimal, a path, a longer number.
const zeros = /(?:(?<![\w.,/+-])|(?<=\\[nrt]))(?:00|011 ?)[1-9](?:[ \u00a0\u202f.()/\u2010-\u2013-]{0,3}\d){6,16}/g
const american = /(?:(?<![\w.,/+-])|(?<=\\[nrt]))(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}([.-]))\d{3}[.-]\d{4}/g

/** With one of these words before it, a number only needs a possible length. */
const phoneWords = /\b(?:phone|tel|telephone|cell|mobile|fax|call|text|number)\b[^\d\n]{0,16}$/i
const CONTEXT = 32

/**
 * Ends of the prefixes of a candidate, longest first. Each end follows a digit and precedes
 * punctuation or the end.
 */
const endsOf = (text: string, start: number, end: number): ReadonlyArray<number> => {
  const ends = [end]
  let digits = 0
  for (let at = start; at < end - 1; at++) {
    if (isDigit(text.charCodeAt(at))) digits++
    if (digits >= MIN_DIGITS && isDigit(text.charCodeAt(at)) && !isDigit(text.charCodeAt(at + 1))) ends.push(at + 1)
  }
  return ends.sort((a, b) => b - a).slice(0, MAX_TRIES)
}

export function* findPhones(text: string, { parsePhone }: Libraries, add: (span: Span) => void): Steps<void> {
  const verdicts = new Map<string, "valid" | "possible" | "no">()
  const verdictOn = (digits: string, country?: "US"): "valid" | "possible" | "no" => {
    const known = verdicts.get(digits)
    if (known !== undefined) return known
    const number = parsePhone(digits, country)
    const verdict = number === undefined ? "no" : number.isValid() ? "valid" : number.isPossible() ? "possible" : "no"
    verdicts.set(digits, verdict)
    return verdict
  }

  function* international(pattern: RegExp, prefix: RegExp, takesPossible: boolean): Steps<void> {
    for (const found of matchesIn(text, pattern)) {
      yield
      if (found === null || !beginsWord(text, found.index)) continue
      const { 0: candidate, index: start } = found
      const head = prefix.exec(candidate)?.[0].length ?? 0
      let possible = 0
      for (const end of endsOf(text, start + head, start + candidate.length)) {
        if (isDigit(text.charCodeAt(end))) continue
        const verdict = verdictOn(`+${text.slice(start + head, end)}`)
        if (verdict === "valid") {
          possible = end
          break
        }
        if (verdict === "possible" && takesPossible) possible ||= end
      }
      if (possible > 0) add({ start, end: possible, type: "phone" })
    }
  }

  if (/[+＋]/.test(text)) yield* international(plus, /^[+＋]/, true)
  yield* international(zeros, /^(?:011 ?|00)/, false)
  for (const found of matchesIn(text, american)) {
    yield
    if (found === null) continue
    const { 0: candidate, index: start } = found
    const end = start + candidate.length
    if (!endsWord(text, end) || /^[-.]\d/.test(text.slice(end, end + 2))) continue
    const verdict = verdictOn(candidate, "US")
    const isLabelled = candidate.includes("(") || phoneWords.test(text.slice(Math.max(0, start - CONTEXT), start))
    if (verdict === "valid" || (verdict === "possible" && isLabelled)) add({ start, end, type: "phone" })
  }
}
