/** Headers of a reply as undici hands them over: one value as a text, the values of a header that came more than once as a list. */
import { type IncomingHttpHeaders } from "node:http"

/** All values of a header, in the order in which they came. */
export const headerValues = (headers: IncomingHttpHeaders, name: string): ReadonlyArray<string> =>
  [headers[name] ?? []].flat()

/** The first value of a header; null: there is none. */
export const headerOf = (headers: IncomingHttpHeaders, name: string): string | null =>
  headerValues(headers, name)[0] ?? null
