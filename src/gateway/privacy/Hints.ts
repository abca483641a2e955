/**
 * What a text may hold, told by its characters. A search needs only the recognisers that are hinted
 * at: a text without a digit holds no phone number. Every value that a recogniser finds has its
 * hint, so nothing is missed; most texts have no hint at all.
 */
import { alphabets, secretFormats } from "./SecretFormats.ts"

export const hints = {
  email: 1,
  vendorKey: 2,
  webToken: 4,
  privateKey: 8,
  passwordInUrl: 16,
  assigned: 32,
  card: 64,
  ssn: 128,
  ipv4: 256,
  ipv6: 512,
  phone: 1_024,
  iban: 2_048
} as const

/** A longer text is not read here, but in turns, by each recogniser. */
export const LONGEST_HINTED = 16_384
const ALL = 4_095
const WITHOUT_DIGITS = hints.email | hints.vendorKey | hints.webToken | hints.privateKey | hints.passwordInUrl

// What a character is.
const AT = 1
const COLON = 2
const EQUALS = 4
const DOT = 8
const DIGIT = 16
/** It occurs in some vendor's keys. */
const OF_KEYS = 32

/** What each character with a code below 128 is. */
const kinds = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code)
  const isOfKeys =
    Object.values(alphabets).some((alphabet) => alphabet.test(character)) ||
    secretFormats.some(({ beginnings }) => beginnings.some((beginning) => beginning.includes(character)))
  return (
    (character === "@" ? AT : 0) |
    (character === ":" ? COLON : 0) |
    (character === "=" ? EQUALS : 0) |
    (character === "." ? DOT : 0) |
    (/\d/.test(character) ? DIGIT : 0) |
    (isOfKeys ? OF_KEYS : 0)
  )
})

/** Length of the shortest vendor's key, which has no other characters. */
const SHORTEST_KEY = Math.min(
  ...secretFormats.flatMap(({ beginnings, min }) => beginnings.map(({ length }) => length + min))
)

const bearer = /bearer[ \t]/i
const ibanBeginning = /[A-Za-z]{2}\d{2}/

/** The hints that a text gives, as bits. 0: no recogniser finds anything. */
export const hintsOf = (text: string): number => {
  const { length } = text
  if (length > LONGEST_HINTED) return /\d/.test(text) ? ALL : WITHOUT_DIGITS
  let found = 0
  let digits = 0
  let dots = 0
  let run = 0
  let longestRun = 0
  for (let at = 0; at < length; at++) {
    const code = text.charCodeAt(at)
    const kind = code < 128 ? (kinds[code] ?? 0) : 0
    found |= kind
    if ((kind & DIGIT) !== 0) digits++
    if ((kind & DOT) !== 0) dots++
    run = (kind & OF_KEYS) === 0 ? 0 : run + 1
    if (run > longestRun) longestRun = run
  }
  const hasColon = (found & COLON) !== 0
  return (
    ((found & AT) !== 0 ? hints.email : 0) |
    (longestRun >= SHORTEST_KEY ? hints.vendorKey : 0) |
    (text.includes("eyJ") ? hints.webToken : 0) |
    (text.includes("-----BEGIN") ? hints.privateKey : 0) |
    (hasColon && text.includes("://") ? hints.passwordInUrl : 0) |
    (digits > 0 && (hasColon || (found & EQUALS) !== 0 || bearer.test(text)) ? hints.assigned : 0) |
    (digits >= 14 ? hints.card : 0) |
    (digits >= 9 ? hints.ssn : 0) |
    (digits >= 4 && dots >= 3 ? hints.ipv4 : 0) |
    (digits > 0 && hasColon ? hints.ipv6 : 0) |
    (digits >= 7 ? hints.phone : 0) |
    (digits >= 2 && ibanBeginning.test(text) ? hints.iban : 0)
  )
}
