/**
 * Reads response headers in undici's form: a single value is a string, repeated headers are a list.
 */
import { type IncomingHttpHeaders } from "node:http"

/** All values of a header, in the order received. */
export const headerValues = (headers: IncomingHttpHeaders, name: string): ReadonlyArray<string> =>
  [headers[name] ?? []].flat()

/** The first value of a header, or null. */
export const headerOf = (headers: IncomingHttpHeaders, name: string): string | null =>
  headerValues(headers, name)[0] ?? null
