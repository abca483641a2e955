/**
 * Moments on the command line: a day, RFC 3339, or a distance from now (`90m`, `12h`, `7d`), which
 * lies in the past for reports and in the future for expiries.
 */
import { Clock, Effect, Option } from "effect"
import { Flag } from "effect/cli"

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** A moment that is fixed, or a distance from now. */
export type When = { readonly iso: string } | { readonly distanceMs: number }

const day = /^\d{4}-\d{2}-\d{2}$/
const rfc3339 = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:[Zz]|[+-]\d{2}:\d{2})?$/

/** A text without a zone is in UTC, like every moment that commands show. */
const isoOf = (text: string): string | null => {
  const zoned = day.test(text) ? `${text}T00:00:00Z` : /(?:[Zz]|[+-]\d{2}:\d{2})$/.test(text) ? text : `${text}Z`
  const ms = rfc3339.test(zoned) ? Date.parse(zoned.replace(" ", "T")) : Number.NaN
  const iso = Number.isNaN(ms) ? null : new Date(ms).toISOString()
  // `Date` reads 30 February as 2 March.
  return iso !== null && day.test(text) && !iso.startsWith(text) ? null : iso
}

/** Reads a moment, or null. */
export const whenOf = (text: string): When | null => {
  const [, amount, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (unit === "s" || unit === "m" || unit === "h" || unit === "d") {
    return { distanceMs: Number(amount) * unitMs[unit] }
  }
  const iso = isoOf(text)
  return iso === null ? null : { iso }
}

/** `direction`: where a distance leads, before or after now. */
export const isoFrom = Effect.fnUntraced(function* (when: When, direction: "before" | "after") {
  if ("iso" in when) return when.iso
  const nowMs = yield* Clock.currentTimeMillis
  return new Date(nowMs + (direction === "before" ? -when.distanceMs : when.distanceMs)).toISOString()
})

/** An optional flag with a moment. */
export const momentFlag = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withMetavar("<moment>"),
    Flag.withDescription(description),
    Flag.filterMap(
      (text) => Option.fromNullOr(whenOf(text)),
      (text) => `Write a day (2026-11-22), a time (2026-11-22T08:00:00Z) or a distance (90m, 12h, 7d), not "${text}"`
    ),
    Flag.optional
  )
