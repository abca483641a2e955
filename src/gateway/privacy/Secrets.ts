/**
 * Recognises secrets: vendors' keys by format, JSON web tokens, private keys in PEM, passwords in
 * URLs, and values assigned to names such as `api_key` or `password`. Each search starts at a fixed
 * beginning and reads forward once, so its time is linear in the text.
 */
import { type Steps } from "./TimeBudget.ts"
import { beginsWord, endsWord } from "./Characters.ts"
import { hints } from "./Hints.ts"
import { matchesIn, runEnd, type Table, tableOf } from "./Matches.ts"
import { type Alphabet, alphabets, type SecretFormat, secretFormats } from "./SecretFormats.ts"
import { type Span } from "./Span.ts"

type Add = (span: Span) => void

const tables = {
  base62: tableOf(alphabets.base62),
  base64: tableOf(alphabets.base64),
  url: tableOf(alphabets.url),
  dotted: tableOf(alphabets.dotted),
  path: tableOf(alphabets.path),
  hex: tableOf(alphabets.hex),
  upper: tableOf(alphabets.upper)
} satisfies Record<Alphabet, Table>

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

function* vendorKeys(text: string, add: Add): Steps<void> {
  let free = 0
  for (const found of matchesIn(text, beginnings)) {
    yield
    if (found === null || found.index < free) continue
    const { 0: beginning, index: start } = found
    const format = byBeginning.get(beginning)
    if (format === undefined) continue
    const from = start + beginning.length
    let end = yield* runEnd(text, from, tables[format.alphabet])
    // A full stop ends a sentence, not a key.
    while (end > from && (text[end - 1] === "." || text[end - 1] === "-")) end--
    if (!fits(format, text.slice(from, end))) {
      // Skips what was read: another beginning in it is part of the same word.
      if (end - from > format.min) free = end
      continue
    }
    if (format.max !== undefined && !endsWord(text, end)) continue
    free = end
    add({ start, end, type: "secret" })
  }
}

/** The algorithm is in the first characters of a header. */
const MAX_HEADER = 8_192

/** Three parts in base64url, or five for an encrypted token. The first contains `alg`. */
function* webTokens(text: string, add: Add): Steps<void> {
  let free = 0
  for (let start = text.indexOf("eyJ"); start !== -1; start = text.indexOf("eyJ", Math.max(start + 3, free))) {
    yield
    if (!beginsWord(text, start)) continue
    const ends: Array<number> = []
    let end = start
    do {
      end = yield* runEnd(text, end, tables.url)
      ends.push(end)
    } while (text[end] === "." && ends.length < 5 && tables.url[text.charCodeAt(++end)] === true)
    const last = ends.at(-1) ?? start
    free = last
    if (ends.length < 3) continue
    const header = Buffer.from(text.slice(start, Math.min(ends[0] ?? start, start + MAX_HEADER)), "base64url").toString(
      "latin1"
    )
    if (header.includes('"alg"')) add({ start, end: last, type: "secret" })
  }
}

const pemBeginning = /-----BEGIN ?(?:[A-Z0-9]{2,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----/g
const pemEnding = "-----END"
const MAX_PEM = 32_768
const MAX_PEM_LINE = 64
const MIN_PEM = 32

/**
 * From the first line to the last, including everything between. Without a last line, as far as the
 * characters can belong to a key.
 */
function* privateKeys(text: string, add: Add): Steps<void> {
  let free = 0
  let last = -1
  for (const found of matchesIn(text, pemBeginning)) {
    yield
    if (found === null || found.index < free) continue
    const { 0: beginning, index: start } = found
    const from = start + beginning.length
    // Searched once for all beginnings before it.
    if (last < from) last = indexOrEnd(text, pemEnding, from)
    const line = last + pemEnding.length
    const closing = last - from <= MAX_PEM ? text.slice(line, line + MAX_PEM_LINE).indexOf("-----") : -1
    const isClosed = closing !== -1
    const end = isClosed ? line + closing + 5 : Math.min(yield* runEnd(text, from, pemCharacters), from + MAX_PEM)
    free = end
    if (isClosed || end - from >= MIN_PEM) add({ start, end: trimmed(text, end), type: "secret" })
  }
}

const indexOrEnd = (text: string, part: string, from: number): number => {
  const found = text.indexOf(part, from)
  return found === -1 ? text.length : found
}

/** Base64, line ends (also escaped ones), and the headers of an encrypted key. */
const pemCharacters = tableOf(/[A-Za-z0-9+/=\s\\:,]/)
const trimmed = (text: string, end: number): number => {
  let last = end
  while (/\s/.test(text[last - 1] ?? "")) last--
  return last
}

const MAX_USER_INFO = 512

/** `scheme://user:password@host`: user and password. */
function* passwordsInUrls(text: string, add: Add): Steps<void> {
  for (let at = text.indexOf("://"); at !== -1; at = text.indexOf("://", at + 3)) {
    yield
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
const valueCharacters = tableOf(/[^\s"'`,;<>(){}[\]|\\]/)
const punctuation = tableOf(/[.!?:]/)
const MIN_KEY = 16
const MIN_PASSWORD = 6

/**
 * The value assigned to a name that suggests a secret, if it looks like one: long enough, with a
 * digit, and not a reference.
 */
function* assigned(text: string, add: Add): Steps<void> {
  let free = 0
  for (const found of matchesIn(text, names)) {
    yield
    if (found === null) continue
    const { 0: named, index } = found
    const start = index + named.length
    // `bearer xyz` needs no sign in between. `the token count` is not an assignment.
    if (start < free || (!/[:=]/.test(named) && !/^bearer[ \t]/i.test(named))) continue
    let end = yield* runEnd(text, start, valueCharacters)
    free = end
    while (end > start && punctuation[text.charCodeAt(end - 1)] === true) end--
    const given = text.slice(start, end)
    const min = /^pass|^pwd/i.test(named) ? MIN_PASSWORD : MIN_KEY
    if (given.length < min || !/\d/.test(given) || !/[A-Za-z]/.test(given) || isReference(given)) continue
    add({ start, end, type: "secret" })
  }
}

const MAX_REFERENCE = 1_024

/**
 * A variable, a path through an object, or a dummy value, which stands for a secret without being
 * one.
 */
const isReference = (given: string): boolean =>
  given.length <= MAX_REFERENCE &&
  (/^[$%*]|^(?:process\.env|os\.environ|env\.|import\.meta|https?:\/\/|\.{0,2}\/)/i.test(given) ||
    /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$/.test(given) ||
    /^(?:x+|\*+|your[-_].*|.*(?:placeholder|changeme).*)$/i.test(given))

/** `hinted`: the hints of Hints.ts that the text gives. */
export function* findSecrets(text: string, hinted: number, add: Add): Steps<void> {
  if ((hinted & hints.vendorKey) !== 0) yield* vendorKeys(text, add)
  if ((hinted & hints.webToken) !== 0) yield* webTokens(text, add)
  if ((hinted & hints.privateKey) !== 0 && text.includes("-----BEGIN")) yield* privateKeys(text, add)
  if ((hinted & hints.passwordInUrl) !== 0) yield* passwordsInUrls(text, add)
  if ((hinted & hints.assigned) !== 0) yield* assigned(text, add)
}
