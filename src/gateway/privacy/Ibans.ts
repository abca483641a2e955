/**
 * Recognises IBANs: a country code, two check digits and as many further characters as the country
 * uses, together or in groups. The library validates the checksum and the country's form.
 */
import { type Steps } from "./TimeBudget.ts"
import { endsWord, isDigit, isLetter } from "./Characters.ts"
import { type Libraries } from "./Libraries.ts"
import { matchesIn } from "./Matches.ts"
import { type Span } from "./Span.ts"

const beginning = /(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))[A-Za-z]{2}\d{2}(?=[ \u00a0-]?[A-Za-z0-9])/g

export function* findIbans(text: string, { ibanLength, isIban }: Libraries, add: (span: Span) => void): Steps<void> {
  for (const found of matchesIn(text, beginning)) {
    yield
    if (found === null) continue
    const { 0: head, index: start } = found
    const length = ibanLength(head.slice(0, 2).toUpperCase())
    if (length === undefined) continue
    let iban = ""
    let end = start
    while (iban.length < length) {
      const code = text.charCodeAt(end)
      if (isDigit(code) || isLetter(code)) iban += text[end++]
      else if (isMark(text[end]) && !isMark(text[end - 1])) end++
      else break
    }
    if (iban.length === length && endsWord(text, end) && isIban(iban.toUpperCase())) add({ start, end, type: "iban" })
  }
}

const isMark = (character: string | undefined): boolean =>
  character === " " || character === "-" || character === "\u00a0"
