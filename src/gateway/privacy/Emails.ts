/**
 * Recognises e-mail addresses. From each `@` the candidate is extended as far as an address may
 * reach, then the library validates it. Lookalikes are left: `git@host:path`, `logo@2x.png`,
 * `package@1.2.3`, the user in a URL.
 */
import { type Steps } from "./TimeBudget.ts"
import { isDigit, isEscape, isLetter } from "./Characters.ts"
import { type Libraries } from "./Libraries.ts"
import { type Span } from "./Span.ts"

const MAX_LOCAL = 64
const MAX_DOMAIN = 253
const MAX_TRIES = 6

/**
 * Latin, Greek and Cyrillic letters beyond ASCII, for internationalised addresses. Chinese text
 * next to an address is not included.
 */
const isForeignLetter = (code: number): boolean => (code >= 0xc0 && code <= 0x24f) || (code >= 0x370 && code <= 0x52f)
const isLabel = (code: number): boolean => isLetter(code) || isDigit(code) || isForeignLetter(code)
// . _ % + -
const localMarks = new Set([46, 95, 37, 43, 45])

/** The form of a top-level domain. */
const topLevel = /\.(?:xn--[A-Za-z0-9-]{2,59}|[^\d.-]{2,63})$/

const localStart = (text: string, at: number): number => {
  let start = at
  while (start > 0 && at - start < MAX_LOCAL) {
    const code = text.charCodeAt(start - 1)
    const isApostrophe =
      (code === 39 || code === 0x2019) && isLabel(text.charCodeAt(start)) && isLabel(text.charCodeAt(start - 2))
    if (!isLabel(code) && !localMarks.has(code) && !isApostrophe) break
    start--
  }
  if (start < at && isEscape(text, start)) start++
  while (start < at && (text[start] === "." || text[start] === "-" || text[start] === "%")) start++
  return start
}

const domainEnd = (text: string, from: number): number => {
  let end = from
  while (end < text.length && end - from < MAX_DOMAIN) {
    const code = text.charCodeAt(end)
    if (!isLabel(code) && code !== 46 && code !== 45) break
    end++
  }
  while (end > from && !isLabel(text.charCodeAt(end - 1))) end--
  return end
}

const isLookalike = (text: string, start: number, at: number, end: number): boolean =>
  /:\/\/[^\s/@?#]{0,100}$/.test(text.slice(Math.max(0, at - 104), at)) ||
  (text.slice(start, at) === "git" && text[end] === ":") ||
  /^\dx\./.test(text.slice(at + 1, at + 4))

export function* findEmails(text: string, { isEmail }: Libraries, add: (span: Span) => void): Steps<void> {
  for (let at = text.indexOf("@"); at !== -1; at = text.indexOf("@", at + 1)) {
    yield
    const start = localStart(text, at)
    const end = domainEnd(text, at + 1)
    if (start === at || isLookalike(text, start, at, end)) continue
    let domain = text.slice(at + 1, end)
    for (let tries = 0; tries < MAX_TRIES && domain !== ""; tries++) {
      const found = at + 1 + domain.length
      if (topLevel.test(domain) && isEmail(text.slice(start, found))) {
        add({ start, end: found, type: "email" })
        break
      }
      // Characters after the domain may have been included, as in `a@b.com-` or `a@b.com.2024`.
      domain = domain.slice(0, Math.max(0, domain.lastIndexOf("."), domain.lastIndexOf("-")))
    }
  }
}
