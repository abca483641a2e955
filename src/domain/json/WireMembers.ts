/**
 * Schemas of the members that requests and replies on the wire are made of.
 */
import { Schema, SchemaIssue } from "effect"
import { isRawNumber } from "./Json.ts"

export const Free = Schema.Record(Schema.String, Schema.Unknown)
export const open = <const Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.StructWithRest(Schema.Struct(fields), [Free])
/** Rejects unknown members. A filter, because the parse option would check all nested parts. */
export const closed = <const Fields extends Schema.Struct.Fields>(fields: Fields) => {
  const { ast } = Schema.Struct(fields)
  const isKnown = (name: string) => Object.hasOwn(fields, name)
  return open(fields).check(
    Schema.makeFilter(
      (value: object) =>
        Object.keys(value)
          .filter((name) => !isKnown(name))
          .map((name) => ({ path: [name], issue: new SchemaIssue.UnexpectedKey(ast) })),
      { ofAnyObject: true, toJsonSchema: () => ({ propertyNames: { enum: Object.keys(fields) } }) }
    )
  )
}

export const nullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** A member that is passed on as it is, whatever its value. */
export const passed = Schema.optionalKey(Schema.Unknown)

export const NumberIn = (minimum: number, maximum: number) =>
  Schema.Finite.check(Schema.isBetween({ minimum, maximum }))
export const PositiveInt = Schema.Int.check(Schema.isGreaterThan(0))

/** A list of names. Empty lists are rejected: a client that means "any" leaves the member out. */
export const names = (most: number) =>
  Schema.Array(Schema.String.check(Schema.isMaxCodePoints(256))).check(Schema.isMinLength(1), Schema.isMaxLength(most))
export const list = <S extends Schema.Top>(entry: S, most: number) =>
  Schema.Array(entry).check(Schema.isMaxLength(most))
export const map = (most: number) => Free.check(Schema.isMaxProperties(most))

/** 64 bits, signed or unsigned. Integers beyond 2^53 are a `RawNumber`. */
const isInteger64 = (seed: unknown): boolean => {
  if (typeof seed === "number") return Number.isInteger(seed) && seed >= -(2 ** 63) && seed < 2 ** 64
  if (!isRawNumber(seed) || seed.rawJSON.length > 20) return false
  const value = BigInt(seed.rawJSON)
  return value >= -(2n ** 63n) && value < 2n ** 64n
}
export const Seed = Schema.optionalKey(
  Schema.NullOr(Schema.Unknown.check(Schema.makeFilter(isInteger64, { expected: "an integer of 64 bits" }))).annotate({
    contentSchema: { anyOf: [{ type: "integer", format: "int64" }, { type: "null" }] }
  })
)
