/**
 * A vendor's refusal of a request in its own form, for clients that act on the vendor's words. Only
 * a 400 or a 413 is about the request itself. Keys are removed, and its length is bounded.
 */
import { parseJson } from "../../domain/json/Json.ts"
import { type VendorRefusal } from "../../domain/Native.ts"
import { type ProviderReason, Rejected } from "../Provider.ts"
import { isJsonRecord, type JsonRecord } from "./Json.ts"

const told = new Set([400, 413])
/** Longest text of an error that is passed on, in UTF-16 code units. */
const LONGEST_TEXT = 8_192
/** Most members of an error that are passed on. */
const MOST_MEMBERS = 16
/** What a key of a vendor may look like. */
const keys = /\bsk-[\w-]{16,}/g

/** The reason with the words of `body`, the vendor's error object or its text. */
export const withOwnWords = (reason: ProviderReason, body: JsonRecord | string): ProviderReason => {
  if (reason._tag !== "Rejected" || !told.has(reason.status)) return reason
  const parsed = typeof body === "string" ? parseJson(body) : body
  const error = isJsonRecord(parsed) ? parsed["error"] : undefined
  if (!isJsonRecord(error) || typeof error["message"] !== "string") return reason
  const { code, contextLength, message, param, status } = reason
  return new Rejected({ status, message, param, code, contextLength, own: { status, error } })
}

/** Without keys. Only texts, numbers and nulls are kept. */
export const scrubbed = ({ error, status }: VendorRefusal, key: string | null): VendorRefusal => {
  const clean = (text: string): string => {
    const own = key === null || key === "" ? text : text.replaceAll(key, "[key]")
    return own.replaceAll(keys, "[key]").slice(0, LONGEST_TEXT)
  }
  const kept = Object.entries(error)
    .filter(([, value]) => typeof value === "string" || typeof value === "number" || value === null)
    .slice(0, MOST_MEMBERS)
    .map(([name, value]): readonly [string, unknown] => [name, typeof value === "string" ? clean(value) : value])
  return { status, error: Object.fromEntries(kept) }
}
