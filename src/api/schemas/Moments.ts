/**
 * Moments in requests: RFC 3339 with a time zone, a day that exists, and a year of four digits.
 * Other forms are rejected, because `Date` would guess their meaning.
 */
import { DateTime, Effect, Schema, SchemaIssue, SchemaTransformation } from "effect"

const rfc3339 =
  /^(\d{4}-\d{2}-\d{2})[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/
const plainDay = /^\d{4}-\d{2}-\d{2}$/

/** True if the day exists: `Date` reads 30 February as 2 March. */
const isDay = (day: string): boolean => {
  const ms = Date.parse(`${day}T00:00:00Z`)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day)
}

const FIRST_YEAR_MS = Date.parse("0001-01-01T00:00:00Z")
const LAST_YEAR_MS = Date.parse("9999-12-31T23:59:59.999Z")

const msOf = (text: string, day: string | undefined): number | null => {
  if (day === undefined || !isDay(day)) return null
  const ms = Date.parse(text.toUpperCase())
  return ms >= FIRST_YEAR_MS && ms <= LAST_YEAR_MS ? ms : null
}

const momentFrom = (msFrom: (text: string) => number | null, expected: string) =>
  SchemaTransformation.transformEffect<DateTime.Utc, string>({
    decode: (text) => {
      const ms = msFrom(text)
      return ms === null
        ? Effect.fail(
            new SchemaIssue.InvalidValue({
              type: "datetime_parsing",
              message: `Input should be a valid datetime, in ${expected}`
            })
          )
        : Effect.succeed(DateTime.makeUnsafe(ms))
    },
    encode: (moment) => Effect.succeed(DateTime.formatIso(moment))
  })

/** Such as `2026-11-22T08:00:00Z`. */
export const Moment = Schema.String.annotate({ format: "date-time" }).pipe(
  Schema.decodeTo(
    Schema.DateTimeUtc,
    momentFrom((text) => msOf(text, rfc3339.exec(text)?.[1]), "RFC 3339 with a time zone")
  )
)

/** A moment, or a day (`2026-11-22`), which means its first instant in UTC. For reports. */
export const DayOrMoment = Schema.String.annotate({
  contentSchema: {
    anyOf: [
      { type: "string", format: "date-time" },
      { type: "string", format: "date" }
    ]
  }
}).pipe(
  Schema.decodeTo(
    Schema.DateTimeUtc,
    momentFrom(
      (text) => msOf(text, plainDay.test(text) ? text : rfc3339.exec(text)?.[1]),
      "RFC 3339 with a time zone, or a day such as 2026-11-22"
    )
  )
)

/** A moment in a response. */
export const AnsweredMoment = Schema.String.annotate({ format: "date-time" })
