/** The filters of the page of requests, as members of its address. */
import { words } from "../format.ts"
import { spanNames } from "../parts/Span.tsx"
import { type Row } from "./RequestTable.tsx"

export const filterNames = [
  ...spanNames,
  "q",
  "end",
  "status",
  "type",
  "key",
  "user",
  "model",
  "provider",
  "fallback",
  "cache"
] as const
export type FilterName = (typeof filterNames)[number]
export type FilterQuery = Readonly<Record<FilterName, string>>

export const ends: ReadonlyArray<Row["end"]> = ["succeeded", "failed", "cancelled", "refused"]

const codes = [200, 400, 401, 402, 403, 404, 409, 413, 422, 429, 499, 500, 502, 503, 504]
export const statuses: ReadonlyArray<string> = codes.map(String)

export interface ActiveFilter {
  readonly name: FilterName
  readonly words: string
}

const spans: Readonly<Record<string, string>> = { hour: "last hour", day: "last 24 hours", week: "last 7 days" }

/** A moment of the address in the reader's zone. */
const at = (iso: string): string => new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })

const isMoment = (text: string): boolean => !Number.isNaN(Date.parse(text))

/** The filters that are set, in words. Keys and users have their names where a row tells them. */
export const activeFilters = (query: FilterQuery, rows: ReadonlyArray<Row>): ReadonlyArray<ActiveFilter> => {
  const row = rows[0]
  const { cache, end, fallback, from, key, model, provider, q, span, status, to, type, user } = query
  const all: ReadonlyArray<readonly [FilterName, boolean, string]> = [
    ["q", q !== "", `“${q}”`],
    ["span", span in spans, `time: ${spans[span]}`],
    ["from", isMoment(from), isMoment(from) ? `from ${at(from)}` : ""],
    ["to", isMoment(to), isMoment(to) ? `to ${at(to)}` : ""],
    ["end", end !== "", `end: ${end}`],
    ["status", status !== "", `status: ${status}`],
    ["type", type !== "", `error: ${words(type)}`],
    ["key", key !== "", `key: ${row?.key_name ?? key}`],
    ["user", user !== "", `user: ${row?.owner_name ?? user}`],
    ["model", model !== "", `model: ${model}`],
    ["provider", provider !== "", `tried provider: ${provider}`],
    ["fallback", fallback !== "", "a fallback"],
    ["cache", cache !== "", "a cache hit"]
  ]
  return all.flatMap(([name, isSet, words]) => (isSet ? [{ name, words }] : []))
}
