/**
 * Describes a fault of one value in the words of FastAPI and Pydantic v2: a type, a message and
 * optionally a context. Messages never contain a value.
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

/** An unknown member. `known` are the names that are allowed. */
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

/** The members of a union except null. */
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

/**
 * A value of the wrong type. `text`: it was sent as a string, in the path, the query or a header.
 */
export const ofType = (ast: SchemaAST.AST, text: boolean): Found => {
  const members = membersOf(ast)
  const [first] = members
  const literals = literalsOf(ast)
  if (literals !== undefined) return literalError(literals)
  if (members.length > 1 && first !== undefined) {
    const kinds = members.map((member) => kindOf(member, text))
    return {
      type: kinds[0]?.type ?? "value_error",
      msg: `Input should be a valid ${[...new Set(kinds.map(({ name }) => name))].join(" or ")}`
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

/** The id and the bounds in the annotations of Effect's own checks. */
const representationOf = (filter: {
  readonly annotations: Readonly<Record<string, unknown>> | undefined
}): Representation | undefined => {
  const found = filter.annotations?.["representation"]
  return Predicate.hasProperty(found, "id") && Predicate.hasProperty(found, "payload") ? found : undefined
}

const orders = { gt: "greater than", ge: "greater than or equal to", le: "less than or equal to" }

const compared = (name: keyof typeof orders, bound: number): Found => ({
  type: orders[name].replace(" or equal to", " equal").replaceAll(" ", "_"),
  msg: `Input should be ${orders[name]} ${bound}`,
  ctx: { [name]: bound }
})

const several = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

/** A text, list or object that is too short or too long. */
const sized = (limit: "min" | "max", bound: number, value: unknown): Found => {
  const type = limit === "min" ? "too_short" : "too_long"
  const words = limit === "min" ? "at least" : "at most"
  const context = { [`${limit}_length`]: bound }
  if (typeof value !== "object" || value === null) {
    return { type: `string_${type}`, msg: `String should have ${words} ${several(bound, "character")}`, ctx: context }
  }
  const [kind, length] = Array.isArray(value) ? ["List", value.length] : ["Dictionary", Object.keys(value).length]
  return {
    type,
    msg: `${kind} should have ${words} ${several(bound, "item")} after validation, not ${length}`,
    ctx: { field_type: kind, ...context, actual_length: length }
  }
}

const notFinite: Found = { type: "finite_number", msg: "Input should be a finite number" }
const notInteger: Found = { type: "int_type", msg: "Input should be a valid integer" }

/**
 * `1e400` is parsed as infinity. A whole number outside the bounds is reported as too small or too
 * large.
 */
const notIntegerWithin = (value: number, minimum: number, maximum: number): Found => {
  if (!Number.isFinite(value)) return notFinite
  if (!Number.isInteger(value)) return { ...notInteger, msg: `${notInteger.msg}, got a number with a fractional part` }
  return value < 0 ? compared("ge", minimum) : compared("le", maximum)
}

/** `bound` returns one of the check's bounds by its name. */
type Check = (bound: (name: string) => number, value: unknown, text: boolean) => Found

/** Effect's checks by their ids. */
const checks: Readonly<Record<string, Check>> = {
  isFinite: (_, __, text) => (text ? integerParsing : notFinite),
  isInt: (_, value, text) =>
    text ? integerParsing : notIntegerWithin(Number(value), Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  isMinLength: (bound, value) => sized("min", bound("minLength"), value),
  isMaxLength: (bound, value) => sized("max", bound("maxLength"), value),
  isMaxCodePoints: (bound, value) => sized("max", bound("maxCodePoints"), value),
  isMinProperties: (bound, value) => sized("min", bound("minProperties"), value),
  isMaxProperties: (bound, value) => sized("max", bound("maxProperties"), value),
  isPattern: () => ({ type: "string_pattern_mismatch", msg: "String should have the expected form" }),
  isGreaterThan: (bound) => compared("gt", bound("exclusiveMinimum")),
  isGreaterThanOrEqualTo: (bound) => compared("ge", bound("minimum")),
  isLessThanOrEqualTo: (bound) => compared("le", bound("maximum")),
  isBetween: (bound, value) =>
    Number(value) < bound("minimum") ? compared("ge", bound("minimum")) : compared("le", bound("maximum"))
}

/** A check that failed: bounds, lengths, integers. */
export const ofCheck = ({ filter }: SchemaIssue.Filter, value: unknown, text: boolean): Found => {
  const { id, payload } = representationOf(filter) ?? { id: null, payload: null }
  const check = checks[String(id).replace("effect/schema/", "")]
  if (check !== undefined) {
    return check((name) => Number(Predicate.hasProperty(payload, name) ? payload[name] : 0), value, text)
  }
  const expected = filter.annotations?.expected
  if (expected === "an integer of 64 bits") {
    return typeof value === "number" ? notIntegerWithin(value, -(2 ** 63), 2 ** 64) : notInteger
  }
  return expected === undefined ? invalid : { type: "value_error", msg: `Value error, expected ${expected}` }
}

/**
 * A value that one of our own checks or transformations refused. Its annotations contain the words,
 * if there are any.
 */
export const ofValue = ({ annotations }: SchemaIssue.InvalidValue): Found => {
  const type: unknown = annotations?.["type"]
  return typeof type === "string" && annotations?.message !== undefined ? { type, msg: annotations.message } : invalid
}
