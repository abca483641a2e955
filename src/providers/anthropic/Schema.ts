/**
 * Adapts a JSON schema for a whole answer to the Messages API. Objects are closed. Constraints that
 * the API rejects (bounds of numbers and strings, lengths of lists, unknown formats) are removed,
 * as the vendor's libraries do.
 */
import { isJsonRecord, type JsonRecord } from "../wire/Json.ts"

const leftOut = new Set([
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties",
  "patternProperties",
  "$schema"
])
const formats = new Set(["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"])

export const answerSchema = (schema: JsonRecord): JsonRecord => {
  const kept = Object.entries(schema).flatMap(([keyword, value]): ReadonlyArray<readonly [string, unknown]> => {
    if (leftOut.has(keyword)) return []
    if (keyword === "format") return typeof value === "string" && formats.has(value) ? [[keyword, value]] : []
    if (keyword === "minItems") return value === 0 || value === 1 ? [[keyword, value]] : []
    if (keyword === "oneOf") return [["anyOf", schemasOf(value)]]
    if (keyword === "anyOf" || keyword === "allOf") return [[keyword, schemasOf(value)]]
    if (keyword === "properties" || keyword === "$defs" || keyword === "definitions") return [[keyword, namedOf(value)]]
    return [[keyword, keyword === "items" && isJsonRecord(value) ? answerSchema(value) : value]]
  })
  const isObject = schema["type"] === "object" || isJsonRecord(schema["properties"])
  return { ...Object.fromEntries(kept), ...(isObject ? { additionalProperties: false } : {}) }
}

const schemasOf = (value: unknown): unknown =>
  Array.isArray(value) ? value.map((each: unknown) => (isJsonRecord(each) ? answerSchema(each) : each)) : value

const namedOf = (value: unknown): unknown =>
  isJsonRecord(value)
    ? Object.fromEntries(
        Object.entries(value).map(([name, each]) => [name, isJsonRecord(each) ? answerSchema(each) : each])
      )
    : value
