/**
 * What is wrong with one value, in the words of FastAPI and Pydantic v2: a type, a message and, where it helps, its context. No value is
 * repeated in a message.
 */
import { Predicate, type SchemaAST, type SchemaIssue } from "effect"
import { nearest } from "../../domain/Nearest.ts"

export interface Found {
  readonly type: string
  readonly msg: string
  readonly ctx?: Readonly<Record<string, unknown>>
}

export const missing: Found = { type: "missing", msg: "Field required" }

export const invalid: Found = { type: "value_error", msg: "Value error, the input is not valid" }

/** A member that is not known. `known`: those that are. */
export const extra = (name: string, known: ReadonlyArray<string>): Found => {
  const near = nearest(name, known)
  return {
    type: "extra_forbidden",
    msg: `Extra inputs are not permitted${near === null ? "" : `, did you mean '${near}'?`}`
  }
}

/** The names of an object's members. */
export const namesOf = (ast: SchemaAST.AST): ReadonlyArray<string> =>
  ast._tag === "Objects" ? ast.propertySignatures.map(({ name }) => String(name)) : []

/** The members of a union that is not about null. */
const membersOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> =>
  ast._tag === "Union" ? ast.types.flatMap(membersOf) : ast._tag === "Null" ? [] : [ast]

export const literalsOf = (ast: SchemaAST.AST): ReadonlyArray<string> | undefined => {
  const members = membersOf(ast)
  const literals = members.flatMap((member) => (member._tag === "Literal" ? [String(member.literal)] : []))
  return literals.length > 0 && literals.length === members.length ? literals : undefined
}

export const literalError = (literals: ReadonlyArray<string>): Found => {
  const quoted = literals.map((literal) => `'${literal}'`)
  const last = quoted.at(-1) ?? ""
  const expected = quoted.length < 2 ? last : `${quoted.slice(0, -1).join(", ")} or ${last}`
  return { type: "literal_error", msg: `Input should be ${expected}`, ctx: { expected } }
}

const isInteger = (ast: SchemaAST.AST): boolean =>
  ast.checks?.some((check) => check._tag === "Filter" && representationOf(check)?.id === "effect/schema/isInt") ?? false

/** What a value of the wrong type should have been. `text`: it came as a string, in the path, the query or a header. */
export const ofType = (ast: SchemaAST.AST, text: boolean): Found => {
  const members = membersOf(ast)
  const [first] = members
  const literals = literalsOf(ast)
  if (literals !== undefined) return literalError(literals)
  if (members.length > 1 && first !== undefined) {
    const kinds = members.map((member) => kindOf(member, text))
    return {
      type: kinds[0]?.type ?? "value_error",
      msg: `Input should be a valid ${kinds.map(({ name }) => name).join(" or ")}`
    }
  }
  const { name, type } = kindOf(first ?? ast, text)
  return type === "int_parsing"
    ? integerParsing
    : { type, msg: `Input should be a valid ${name}${type.endsWith("_parsing") ? unparsable(name) : ""}` }
}

const unparsable = (name: string): string => `, unable to parse string as ${/^[aeiou]/.test(name) ? "an" : "a"} ${name}`

const integerParsing: Found = { type: "int_parsing", msg: `Input should be a valid integer${unparsable("integer")}` }

const kindOf = (ast: SchemaAST.AST, text: boolean): { readonly type: string; readonly name: string } => {
  switch (ast._tag) {
    case "String":
      return { type: "string_type", name: "string" }
    case "Number":
      if (isInteger(ast)) return { type: text ? "int_parsing" : "int_type", name: "integer" }
      return { type: text ? "float_parsing" : "float_type", name: "number" }
    case "Boolean":
      return { type: text ? "bool_parsing" : "bool_type", name: "boolean" }
    case "Arrays":
      return { type: "list_type", name: "list" }
    default:
      return { type: "dict_type", name: "dictionary" }
  }
}

interface Representation {
  readonly id: unknown
  readonly payload: unknown
}

/** How effect's own checks name themselves, and their bounds. */
const representationOf = (filter: {
  readonly annotations: Readonly<Record<string, unknown>> | undefined
}): Representation | undefined => {
  const found = filter.annotations?.["representation"]
  return Predicate.hasProperty(found, "id") && Predicate.hasProperty(found, "payload") ? found : undefined
}

/** A check that failed: bounds, lengths, integers. */
export const ofCheck = (issue: SchemaIssue.Filter, value: unknown, text: boolean): Found => {
  const representation = representationOf(issue.filter)
  const bound = (name: string): number | undefined => {
    const payload = representation?.payload
    const found = Predicate.hasProperty(payload, name) ? payload[name] : undefined
    return typeof found === "number" ? found : undefined
  }
  switch (representation?.id) {
    case "effect/schema/isFinite":
      return text ? integerParsing : notFinite
    case "effect/schema/isInt":
      return text ? integerParsing : noSafeInteger(Number(value))
    case "effect/schema/isMinLength":
      return tooShort(value, bound("minLength") ?? 1)
    case "effect/schema/isMinProperties":
      return tooFewMembers(bound("minProperties") ?? 1)
    case "effect/schema/isMaxCodePoints":
      return tooLong(value, bound("maxCodePoints") ?? 0)
    case "effect/schema/isPattern":
      return { type: "string_pattern_mismatch", msg: "String should have the expected form" }
    case "effect/schema/isMaxLength":
      return tooLong(value, bound("maxLength") ?? 0)
    case "effect/schema/isGreaterThan":
      return compared("greater_than", "gt", "greater than", bound("exclusiveMinimum") ?? 0)
    case "effect/schema/isGreaterThanOrEqualTo":
      return compared("greater_than_equal", "ge", "greater than or equal to", bound("minimum") ?? 0)
    case "effect/schema/isLessThanOrEqualTo":
      return atMost(bound("maximum") ?? 0)
    case "effect/schema/isBetween": {
      const minimum = bound("minimum") ?? 0
      return Number(value) < minimum ? atLeast(minimum) : atMost(bound("maximum") ?? 0)
    }
    case "effect/schema/isMaxProperties":
      return tooManyMembers(bound("maxProperties") ?? 0)
    default:
      if (issue.filter.annotations?.expected === "an integer of 64 bits") return noInteger64(value)
      return issue.filter.annotations?.expected === undefined
        ? invalid
        : { type: "value_error", msg: `Value error, expected ${issue.filter.annotations.expected}` }
  }
}

const notFinite: Found = { type: "finite_number", msg: "Input should be a finite number" }

/** `1e400` is read as infinity; a whole number beyond 2^53 - 1 is too large before it is anything else. */
const noSafeInteger = (value: number): Found => {
  if (!Number.isFinite(value)) return notFinite
  if (!Number.isInteger(value)) {
    return { type: "int_type", msg: "Input should be a valid integer, got a number with a fractional part" }
  }
  return value < 0 ? atLeast(Number.MIN_SAFE_INTEGER) : atMost(Number.MAX_SAFE_INTEGER)
}

const noInteger64 = (value: unknown): Found =>
  typeof value !== "number"
    ? { type: "int_type", msg: "Input should be a valid integer" }
    : Number.isInteger(value)
      ? value < 0
        ? atLeast(-(2 ** 63))
        : atMost(2 ** 64)
      : noSafeInteger(value)

const compared = (type: string, name: string, words: string, bound: number): Found => ({
  type,
  msg: `Input should be ${words} ${bound}`,
  ctx: { [name]: bound }
})

const atLeast = (bound: number): Found => compared("greater_than_equal", "ge", "greater than or equal to", bound)
const atMost = (bound: number): Found => compared("less_than_equal", "le", "less than or equal to", bound)

const items = (count: number): string => `${count} item${count === 1 ? "" : "s"}`
const characters = (count: number): string => `${count} character${count === 1 ? "" : "s"}`

const tooShort = (value: unknown, minimum: number): Found =>
  Array.isArray(value)
    ? {
        type: "too_short",
        msg: `List should have at least ${items(minimum)} after validation, not ${value.length}`,
        ctx: { field_type: "List", min_length: minimum, actual_length: value.length }
      }
    : {
        type: "string_too_short",
        msg: `String should have at least ${characters(minimum)}`,
        ctx: { min_length: minimum }
      }

const tooFewMembers = (minimum: number): Found => ({
  type: "too_short",
  msg: `Dictionary should have at least ${items(minimum)} after validation, not 0`,
  ctx: { field_type: "Dictionary", min_length: minimum, actual_length: 0 }
})

const tooManyMembers = (maximum: number): Found => ({
  type: "too_long",
  msg: `Dictionary should have at most ${items(maximum)} after validation`,
  ctx: { field_type: "Dictionary", max_length: maximum }
})

const tooLong = (value: unknown, maximum: number): Found =>
  Array.isArray(value)
    ? {
        type: "too_long",
        msg: `List should have at most ${items(maximum)} after validation, not ${value.length}`,
        ctx: { field_type: "List", max_length: maximum, actual_length: value.length }
      }
    : {
        type: "string_too_long",
        msg: `String should have at most ${characters(maximum)}`,
        ctx: { max_length: maximum }
      }

/** A value that a check or a transformation of our own refused; its message is one of these words. */
export const ofValue = (issue: SchemaIssue.InvalidValue): Found => {
  const annotations: { readonly message?: unknown; readonly expected?: unknown } | undefined = issue.annotations
  if (annotations?.message === "missing") return missing
  if (annotations?.message === "null beside no tool_calls") {
    return {
      type: "string_type",
      msg: "Input should be a valid string or list; null is accepted only beside tool_calls"
    }
  }
  if (annotations?.message === "whole number") return integerParsing
  if (annotations?.message === "moment") {
    return { type: "datetime_parsing", msg: `Input should be a valid datetime, in ${String(annotations.expected)}` }
  }
  return invalid
}
