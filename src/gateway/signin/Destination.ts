/**
 * Where a code goes, in one form: an address in lower case with a domain of ASCII, a number in E.164. What is shown of it tells
 * its owner which one was meant, and nobody else.
 */
import { Effect, Option } from "effect"
import { domainToASCII } from "node:url"
import { type Channel } from "../../domain/User.ts"

/** Of what mail servers accept, that which nobody can read as something else: no quotes, no comments, no look-alike letters. */
const addressForm = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i
const domainForm = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
const numberForm = /^\+[1-9]\d{6,14}$/

const addressOf = (text: string): Option.Option<string> => {
  const at = text.lastIndexOf("@")
  // Judged as it was typed: there are letters beyond ASCII whose lower case is within, such as the sign for Kelvin.
  const local = text.slice(0, at)
  const domain = domainToASCII(text.slice(at + 1)).toLowerCase()
  const fits = at > 0 && local.length <= 64 && domain.length <= 253 && addressForm.test(local)
  return fits && domainForm.test(domain) ? Option.some(`${local.toLowerCase()}@${domain}`) : Option.none()
}

/** The one form of what was typed, spaces around it aside; none when it is no address, or no number. */
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

/** ISO code of the country that a number belongs to; none when it is nobody's. The tables load when first needed. */
export const countryOf = (number: string): Effect.Effect<Option.Option<string>> =>
  Effect.map(
    Effect.promise(() => import("libphonenumber-js/max")),
    ({ parsePhoneNumberFromString }) => {
      const parsed = parsePhoneNumberFromString(number)
      return parsed?.isValid() === true ? Option.fromUndefinedOr(parsed.country) : Option.none()
    }
  )
