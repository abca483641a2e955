/**
 * Schemas for the forms of a single setting. Two annotations word the faults: `expected` describes
 * the accepted form, `shown` tells whether a wrong value may be printed. Numbers and booleans are
 * also read from text, because environment variables and `${NAME}` in the file yield text.
 */
import { isIP } from "node:net"
import { Schema, SchemaGetter } from "effect"

/** A number from `minimum` to `maximum`, inclusive. */
export const number = (expected: string, minimum: number, maximum: number) =>
  Schema.Union([Schema.Finite, NumberFromNumeral])
    .annotate({ expected, shown: true })
    .check(Schema.isBetween({ minimum, maximum }))

export const integer = (expected: string, minimum: number, maximum: number) =>
  number(expected, minimum, maximum).check(Schema.isInt())

const NumberFromNumeral = Schema.String.check(Schema.isPattern(/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i)).pipe(
  Schema.decodeTo(Schema.Finite, {
    decode: SchemaGetter.transform((text) => Number(text)),
    encode: SchemaGetter.transform((value) => String(value))
  })
)

export const boolean = () =>
  Schema.Union([
    Schema.Boolean,
    Schema.Literals(["true", "false"]).pipe(
      Schema.decodeTo(Schema.Boolean, {
        decode: SchemaGetter.transform((text) => text === "true"),
        encode: SchemaGetter.transform((value) => (value ? ("true" as const) : ("false" as const)))
      })
    )
  ]).annotate({ expected: "true or false", shown: true })

export const choice = <const L extends ReadonlyArray<string>>(literals: L) =>
  Schema.Literals(literals).annotate({ expected: `one of ${literals.join(", ")}`, shown: true })

/** Text that satisfies `accepts`. Default: not blank. */
export const text = (expected: string, accepts: (text: string) => boolean = isPresent) =>
  Schema.String.annotate({ expected, shown: true }).check(Schema.makeFilter(accepts))

/** Text that is never printed: `Redacted`. */
export const secret = (expected: string, accepts: (text: string) => boolean = isPresent) =>
  Schema.RedactedFromValue(Schema.String.check(Schema.makeFilter(accepts))).annotate({ expected, shown: false })

/** `form`, or an explicit `null`. */
export const orNull = <S extends Schema.Constraint>(form: S, expected: string) =>
  Schema.NullOr(form).annotate({ expected: `${expected}, or null`, shown: true })

/** A record of texts whose values may be private, so they are never printed. */
export const privateTexts = (expected: string, accepts: (text: string) => boolean) =>
  Schema.Record(Schema.String, Schema.String.annotate({ expected, shown: false }).check(Schema.makeFilter(accepts)))

const isPresent = (value: string): boolean => value.trim() !== ""

/** True for an address with a host and one of `protocols` (`["http:", "https:"]`). */
export const isUrlOf =
  (protocols: ReadonlyArray<string>) =>
  (value: string): boolean => {
    const url = URL.parse(value)
    return (
      url !== null &&
      url.hostname !== "" &&
      protocols.includes(url.protocol) &&
      value.toLowerCase().startsWith(`${url.protocol}//`)
    )
  }

/** An http(s) address without credentials, to which a path can be appended. */
export const isPlainHttpUrl = (value: string): boolean => {
  const url = URL.parse(value)
  return (
    url !== null &&
    isUrlOf(["http:", "https:"])(value) &&
    url.username === "" &&
    url.password === "" &&
    !/[?#]/.test(value)
  )
}

export const httpUrl = (example: string) =>
  text(`an http:// or https:// address without credentials, query or fragment, such as ${example}`, isPlainHttpUrl)

/** Removes trailing slashes, so that a path can be appended. */
export const withoutTrailingSlash = (url: string): string => url.replace(/\/+$/, "")

const hostName = /^(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/i

/**
 * A listening address. Text of digits and dots must be an IPv4 address; it does not count as a host
 * name.
 */
export const host = () =>
  text(
    "an IP address or host name without port, such as 127.0.0.1, 0.0.0.0 or ::",
    (value) => isIP(value) !== 0 || (hostName.test(value) && !/^[\d.]+$/.test(value))
  )

/** The clients' name of a model. */
export const modelId = () =>
  text("author/slug, such as openai/gpt-4o-mini", (value) => /^[a-z0-9][\w.-]*\/[\w.:@+-]+$/i.test(value))
