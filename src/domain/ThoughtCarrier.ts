/**
 * Carries reasoning that a provider signed or encrypted through clients that send a text back byte
 * for byte. The text holds the whole detail, with the provider that made it, so that no other
 * provider gets it.
 */
import { Predicate } from "effect"
import { parseJson } from "./json/Json.ts"

type Members = Readonly<Record<string, unknown>>

const PREFIX = "tg1_"

/** The text that a client carries for a detail. Its visible text stays outside. */
export const carried = (detail: Members): string => {
  const { index: _, summary: __, text: ___, ...hidden } = detail
  return PREFIX + Buffer.from(JSON.stringify(hidden)).toString("base64url")
}

/** The detail that a text carries; empty: it is damaged; null: the text is no carrier. */
export const detailOf = (carrier: string): Members | null => {
  if (!carrier.startsWith(PREFIX)) return null
  const detail = parseJson(Buffer.from(carrier.slice(PREFIX.length), "base64url").toString("utf8"))
  return Predicate.isObject(detail) ? { ...detail } : {}
}
