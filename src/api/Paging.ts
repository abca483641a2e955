/** Which page of a list: how many of its entries, and after which one. */
import { Effect, Schema, SchemaIssue, SchemaTransformation } from "effect"

/**
 * A whole number of a query string, in plain decimal digits: what `Number` reads besides (`0x10`, `1e1`, blanks) nobody means. The document
 * shows `contentSchema`: a query's values are texts, and this is what the text says.
 */
export const limit = (maximum: number, standard: number) =>
  Schema.String.annotate({ contentSchema: { type: "integer", minimum: 1, maximum, default: standard } }).pipe(
    Schema.decodeTo(
      Schema.Finite.check(Schema.isBetween({ minimum: 1, maximum })),
      SchemaTransformation.transformEffect<number, string>({
        decode: (text) =>
          /^-?\d+$/.test(text)
            ? Effect.succeed(Number(text))
            : Effect.fail(new SchemaIssue.InvalidValue({ message: "whole number" })),
        encode: (count) => Effect.succeed(String(count))
      })
    ),
    Schema.withDecodingDefaultKey(Effect.succeed(String(standard)))
  )

/** The id that the page before it ended with. */
export const cursor = (prefix: string) =>
  Schema.optionalKey(Schema.String.check(Schema.isPattern(new RegExp(`^${prefix}_[0-9a-f]{32}$`, "u"))))
