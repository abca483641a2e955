/**
 * The canonical form of a code's destination: an e-mail address in lower case with an ASCII domain,
 * or a phone number in E.164. The masked form lets its owner recognise it and reveals little to
 * others.
 */
import { Effect, Option } from "effect"
import { domainToASCII } from "node:url"
import { type Channel } from "../../domain/User.ts"

/**
 * The unambiguous subset of what mail servers accept: no quotes, no comments, no look-alike
 * letters.
 */
const addressForm = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i
const domainForm = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
const numberForm = /^\+[1-9]\d{6,14}$/

const addressOf = (text: string): Option.Option<string> => {
  const at = text.lastIndexOf("@")
  // Checked before it is lowercased: some letters beyond ASCII have an ASCII lower case, such as
  // the Kelvin sign.
  const local = text.slice(0, at)
  const domain = domainToASCII(text.slice(at + 1)).toLowerCase()
  const fits = at > 0 && local.length <= 64 && domain.length <= 253 && addressForm.test(local)
  return fits && domainForm.test(domain) ? Option.some(`${local.toLowerCase()}@${domain}`) : Option.none()
}

/**
 * The canonical form of the user's input, without surrounding spaces. None when it is not a valid
 * address or number.
 */
export const destinationOf = (channel: Channel, typed: string): Option.Option<string> => {
  const text = typed.trim()
  if (channel === "email") return addressOf(text)
  return numberForm.test(text) ? Option.some(text) : Option.none()
}

/** `p•••@example.com`, `+1•••23` */
export const masked = (channel: Channel, destination: string): string =>
  channel === "email"
    ? `${destination.slice(0, 1)}•••${destination.slice(destination.lastIndexOf("@"))}`
    : `${destination.slice(0, 2)}•••${destination.slice(-2)}`

/**
 * ISO code of a phone number's country; none when it belongs to none. The tables are loaded on
 * first use.
 */
export const countryOf = (number: string): Effect.Effect<Option.Option<string>> =>
  Effect.map(
    Effect.promise(() => import("libphonenumber-js/max")),
    ({ parsePhoneNumberFromString }) => {
      const parsed = parsePhoneNumberFromString(number)
      return parsed?.isValid() === true ? Option.fromUndefinedOr(parsed.country) : Option.none()
    }
  )
