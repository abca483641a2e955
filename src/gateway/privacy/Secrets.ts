/**
 * Secrets: vendors' keys by their form, JSON web tokens, private keys in PEM, passwords in URLs, and what a name such as `api_key` or
 * `password` is given. Each is anchored at a fixed beginning and read forward once, so the time is linear in the text.
 */
import { type Budget } from "./Budget.ts"
import { beginsWord, endsWord } from "./Characters.ts"
import { alphabets, type SecretFormat, secretFormats } from "./SecretFormats.ts"
import { type Span } from "./Span.ts"

type Add = (span: Span) => void

/** Where the run of characters of an alphabet that starts at `from` ends. */
const runEnd = (text: string, from: number, alphabet: RegExp): number => {
  const table = tableOf(alphabet)
  let end = from
  while (table[text.charCodeAt(end)] === true) end++
  return end
}

const tables = new Map<RegExp, ReadonlyArray<boolean>>()
/** By character code, below 128. */
const tableOf = (alphabet: RegExp): ReadonlyArray<boolean> => {
  const known = tables.get(alphabet)
  if (known !== undefined) return known
  const table = Array.from({ length: 128 }, (_, code) => alphabet.test(String.fromCharCode(code)))
  tables.set(alphabet, table)
  return table
}

const byBeginning = new Map(secretFormats.flatMap((format) => format.beginnings.map((text) => [text, format] as const)))
const escaped = (text: string): string => text.replaceAll(/[.]/g, "\\.")
const beginnings = new RegExp(
  `(?:(?<![A-Za-z0-9])|(?<=\\\\[nrt]))(?:${[...byBeginning.keys()]
    .sort((a, b) => b.length - a.length)
    .map(escaped)
    .join("|")})`,
  "g"
)

const fits = ({ max, min, needsDigit }: SecretFormat, rest: string): boolean =>
  rest.length >= min && (max === undefined || rest.length <= max) && (needsDigit !== true || /\d/.test(rest))

const vendorKeys = (text: string, budget: Budget, add: Add): void => {
  let free = 0
  for (const { 0: beginning, index: start } of text.matchAll(beginnings)) {
    const format = byBeginning.get(beginning)
    if (format === undefined || start < free) continue
    if (budget.isOver()) return
    const from = start + beginning.length
    let end = runEnd(text, from, alphabets[format.alphabet])
    // A full stop ends a sentence, not a key.
    while (end > from && (text[end - 1] === "." || text[end - 1] === "-")) end--
    if (!fits(format, text.slice(from, end))) {
      // Nothing of what was read is read again: another beginning in there is part of the same word.
      if (end - from > format.min) free = end
      continue
    }
    if (format.max !== undefined && !endsWord(text, end)) continue
    free = end
    add({ start, end, type: "secret" })
  }
}

/** Three parts in base64url, of which the first says `alg`; five for an encrypted one. */
const webTokens = (text: string, budget: Budget, add: Add): void => {
  let free = 0
  for (let start = text.indexOf("eyJ"); start !== -1; start = text.indexOf("eyJ", Math.max(start + 3, free))) {
    if (!beginsWord(text, start)) continue
    if (budget.isOver()) return
    const ends: Array<number> = []
    let end = start
    do {
      end = runEnd(text, end, alphabets.url)
      ends.push(end)
    } while (text[end] === "." && ends.length < 5 && tableOf(alphabets.url)[text.charCodeAt(++end)] === true)
    const last = ends.at(-1) ?? start
    free = last
    if (ends.length < 3) continue
    const header = Buffer.from(text.slice(start, ends[0]), "base64url").toString("latin1")
    if (header.includes('"alg"')) add({ start, end: last, type: "secret" })
  }
}

const pemBeginning = /-----BEGIN ?(?:[A-Z0-9]{2,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----/g
const pemEnding = "-----END"
const MAX_PEM = 32_768
const MAX_PEM_LINE = 64
const MIN_PEM = 32

/** From the first line to the last, whatever is between; without a last line, as far as what follows can be a key. */
const privateKeys = (text: string, budget: Budget, add: Add): void => {
  let free = 0
  let last = -1
  for (const { 0: beginning, index: start } of text.matchAll(pemBeginning)) {
    if (start < free) continue
    if (budget.isOver()) return
    const from = start + beginning.length
    // Looked for once for all the beginnings before it.
    if (last < from) last = indexOrEnd(text, pemEnding, from)
    const closing = last - from <= MAX_PEM ? text.indexOf("-----", last + pemEnding.length) : -1
    const isClosed = closing !== -1 && closing - last <= MAX_PEM_LINE
    const end = isClosed ? closing + 5 : Math.min(runEnd(text, from, pemCharacters), from + MAX_PEM)
    free = end
    if (isClosed || end - from >= MIN_PEM) add({ start, end: trimmed(text, end), type: "secret" })
  }
}

const indexOrEnd = (text: string, part: string, from: number): number => {
  const found = text.indexOf(part, from)
  return found === -1 ? text.length : found
}

/** Base64, its line ends, also as escapes, and the headers of an encrypted key. */
const pemCharacters = /[A-Za-z0-9+/=\s\\:,]/
const trimmed = (text: string, end: number): number => {
  let last = end
  while (/\s/.test(text[last - 1] ?? "")) last--
  return last
}

const MAX_USER_INFO = 512

/** `scheme://user:password@host`: user and password. */
const passwordsInUrls = (text: string, budget: Budget, add: Add): void => {
  for (let at = text.indexOf("://"); at !== -1; at = text.indexOf("://", at + 3)) {
    if (budget.isOver()) return
    const start = at + 3
    let end = start
    let colon = -1
    while (end - start < MAX_USER_INFO && end < text.length && !/[\s@/?#"'<>`]/.test(text[end] ?? "")) {
      if (colon === -1 && text[end] === ":") colon = end
      end++
    }
    if (text[end] !== "@" || colon === -1 || colon === end - 1) continue
    if (isReference(text.slice(colon + 1, end))) continue
    add({ start, end, type: "secret" })
  }
}

const names =
  /(?:api[_-]?key|secret|token|passw(?:or)?d|passwd|pwd|passphrase|credentials?|authorization|bearer|(?:private|access|account|subscription|encryption|signing)[_-]?key)\\?["'\]]{0,2}[ \t]{0,3}(?::=|=>|[:=])?[ \t]{0,3}(?:(?:bearer|basic|token)[ \t]{1,3})?\\?["'`]?/gi
const value = /[^\s"'`,;<>(){}[\]|\\]/
const MIN_KEY = 16
const MIN_PASSWORD = 6

/** What a name that promises a secret is given, when it looks like one: long enough, with a digit, no reference to somewhere else. */
const assigned = (text: string, budget: Budget, add: Add): void => {
  let free = 0
  for (const { 0: named, index } of text.matchAll(names)) {
    const start = index + named.length
    // `bearer xyz` needs no sign between; `the token count` is no assignment.
    if (start < free || (!/[:=]/.test(named) && !/^bearer[ \t]/i.test(named))) continue
    if (budget.isOver()) return
    let end = runEnd(text, start, value)
    free = end
    while (end > start && /[.!?:]/.test(text[end - 1] ?? "")) end--
    const given = text.slice(start, end)
    const min = /^pass|^pwd/i.test(named) ? MIN_PASSWORD : MIN_KEY
    if (given.length < min || !/\d/.test(given) || !/[A-Za-z]/.test(given) || isReference(given)) continue
    add({ start, end, type: "secret" })
  }
}

/** A variable, a path through an object or a placeholder, which stands for a secret without being one. */
const isReference = (given: string): boolean =>
  /^[$%*]|^(?:process\.env|os\.environ|env\.|import\.meta|https?:\/\/|\.{0,2}\/)/i.test(given) ||
  /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$/.test(given) ||
  /^(?:x+|\*+|your[-_].*|.*(?:placeholder|changeme).*)$/i.test(given)

export const findSecrets = (text: string, budget: Budget, add: Add): void => {
  vendorKeys(text, budget, add)
  webTokens(text, budget, add)
  if (text.includes("-----BEGIN")) privateKeys(text, budget, add)
  passwordsInUrls(text, budget, add)
  assigned(text, budget, add)
}
