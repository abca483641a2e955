/**
 * Adapts a JSON schema for a whole answer or a strict tool to the Messages API. Objects are closed.
 * Constraints that the API rejects (bounds of numbers and strings, lengths of lists, unknown
 * formats) are removed, as the vendor's libraries do.
 */
import { isJsonRecord, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"

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

/** The API's limits for all strict tools of a request together. */
const MOST_STRICT_TOOLS = 20
const MOST_OPTIONAL_MEMBERS = 24
const MOST_UNIONS = 16

/**
 * True if the API takes these schemas of strict tools. References may be recursive, which it
 * rejects.
 */
export const fitsStrict = (schemas: ReadonlyArray<JsonRecord>): boolean => {
  if (schemas.length === 0 || schemas.length > MOST_STRICT_TOOLS) return false
  const total = { optional: 0, unions: 0, references: 0 }
  for (const schema of schemas) measure(schema, total)
  return total.optional <= MOST_OPTIONAL_MEMBERS && total.unions <= MOST_UNIONS && total.references === 0
}

const measure = (schema: JsonRecord, total: { optional: number; unions: number; references: number }): void => {
  const { $ref, anyOf, items, oneOf, properties, required, type } = schema
  if (typeof $ref === "string") total.references++
  if (Array.isArray(type) || Array.isArray(anyOf) || Array.isArray(oneOf)) total.unions++
  const members = isJsonRecord(properties) ? Object.entries(properties) : []
  const needed = new Set<unknown>(Array.isArray(required) ? required : [])
  for (const [name, member] of members) {
    if (!needed.has(name)) total.optional++
    if (isJsonRecord(member)) measure(member, total)
  }
  if (isJsonRecord(items)) measure(items, total)
  for (const list of [anyOf, oneOf, schema["allOf"]]) for (const each of jsonRecordsOf(list)) measure(each, total)
}
