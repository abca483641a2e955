/** Paging of lists: the number of entries and the entry to continue after. */
import { Effect, Schema, SchemaIssue, SchemaTransformation } from "effect"

const notAnInteger = new SchemaIssue.InvalidValue({
  type: "int_parsing",
  message: "Input should be a valid integer, unable to parse string as an integer"
})

/**
 * A whole number in a query string, in decimal digits. Other forms that `Number` accepts (`0x10`,
 * `1e1`, blanks) are rejected. `contentSchema` is the type that the OpenAPI document shows for the
 * string.
 */
const decimal = (minimum: number, maximum: number, more: { readonly default?: number } = {}) =>
  Schema.String.annotate({ contentSchema: { type: "integer", minimum, maximum, ...more } }).pipe(
    Schema.decodeTo(
      Schema.Finite.check(Schema.isBetween({ minimum, maximum })),
      SchemaTransformation.transformEffect<number, string>({
        decode: (text) => (/^-?\d+$/.test(text) ? Effect.succeed(Number(text)) : Effect.fail(notAnInteger)),
        encode: (count) => Effect.succeed(String(count))
      })
    )
  )

/** A whole number within bounds. */
export const integer = (minimum: number, maximum: number) => decimal(minimum, maximum)

/** The number of entries of a page. */
export const limit = (maximum: number, standard: number) =>
  decimal(1, maximum, { default: standard }).pipe(Schema.withDecodingDefaultKey(Effect.succeed(String(standard))))

/** The last id of the previous page. */
export const cursor = (prefix: string) =>
  Schema.optionalKey(Schema.String.check(Schema.isPattern(new RegExp(`^${prefix}_[0-9a-f]{32}$`, "u"))))
