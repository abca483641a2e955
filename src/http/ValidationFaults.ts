/**
 * A schema's verdict in the words of FastAPI and Pydantic v2 (contract §2): every fault with where it is, what is wrong, and its
 * type. What was sent is echoed only when it is a short scalar, so that no prompt comes back in an error.
 */
import { Predicate, type SchemaAST, type SchemaIssue } from "effect"
import { type ValidationError } from "../api/Failure.ts"

type Path = ReadonlyArray<string | number>
interface Found {
  readonly type: string
  readonly msg: string
  readonly ctx?: Readonly<Record<string, unknown>>
}

const ECHOED_CHARACTERS = 64

/** `prefix` is `body`, `path`, `query` or `header`; `input` is what was decoded. */
export const validationFaults = (
  issue: SchemaIssue.Issue,
  prefix: string,
  input: unknown
): ReadonlyArray<ValidationError> => {
  const faults: Array<ValidationError> = []
  const text = prefix !== "body"

  const reported = new Set<string>()

  /** The first fault of a place is the one: what is no number is not too large as well. */
  const report = (path: Path, found: Found): void => {
    const place = JSON.stringify(path)
    if (reported.has(place)) return
    reported.add(place)
    const value = valueAt(input, path)
    faults.push({
      loc: [prefix, ...path],
      msg: found.msg,
      type: found.type,
      ...(found.type === "missing" ? {} : echo(value)),
      ...(found.ctx === undefined ? {} : { ctx: found.ctx })
    })
  }

  const walk = (current: SchemaIssue.Issue, path: Path): void => {
    switch (current._tag) {
      case "Pointer":
        return walk(current.issue, [
          ...path,
          ...current.path.map((key) => (typeof key === "number" ? key : String(key)))
        ])
      case "Composite":
        return current.issues.forEach((child) => walk(child, path))
      case "Encoding":
        return walk(current.issue, path)
      case "MissingKey":
        return report(path, missing)
      case "Filter": {
        if (current.issue._tag === "Pointer") return walk(current.issue, path)
        return report(path, ofCheck(current, valueAt(input, path), text))
      }
      case "AnyOf": {
        const literals = literalsOf(current.ast)
        if (literals !== undefined) return report(path, literalError(literals))
        const [only] = current.issues
        if (only !== undefined && current.issues.length === 1) return walk(only, path)
        return report(path, ofType(current.ast, text))
      }
      case "InvalidType":
        return report(path, ofType(current.ast, text))
      case "InvalidValue":
        return report(path, ofValue(current))
      default:
        return report(path, { type: "value_error", msg: "Value error, the input is not valid" })
    }
  }

  walk(issue, [])
  return faults
}

const missing: Found = { type: "missing", msg: "Field required" }

/** The members of a union that is not about null. */
const membersOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> =>
  ast._tag === "Union" ? ast.types.flatMap(membersOf) : ast._tag === "Null" ? [] : [ast]

const literalsOf = (ast: SchemaAST.AST): ReadonlyArray<string> | undefined => {
  const members = membersOf(ast)
  const literals = members.flatMap((member) => (member._tag === "Literal" ? [String(member.literal)] : []))
  return literals.length > 0 && literals.length === members.length ? literals : undefined
}

const literalError = (literals: ReadonlyArray<string>): Found => {
  const quoted = literals.map((literal) => `'${literal}'`)
  const last = quoted.at(-1) ?? ""
  const expected = quoted.length < 2 ? last : `${quoted.slice(0, -1).join(", ")} or ${last}`
  return { type: "literal_error", msg: `Input should be ${expected}`, ctx: { expected } }
}

const isInteger = (ast: SchemaAST.AST): boolean =>
  ast.checks?.some((check) => check._tag === "Filter" && representationOf(check)?.id === "effect/schema/isInt") ?? false

/** What a value of the wrong type should have been. `text`: it came as a string, in the path, the query or a header. */
const ofType = (ast: SchemaAST.AST, text: boolean): Found => {
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
  const unparsable = type.endsWith("_parsing")
    ? `, unable to parse string as ${/^[aeiou]/.test(name) ? "an" : "a"} ${name}`
    : ""
  return { type, msg: `Input should be a valid ${name}${unparsable}` }
}

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
const ofCheck = (issue: SchemaIssue.Filter, value: unknown, text: boolean): Found => {
  const representation = representationOf(issue.filter)
  const bound = (name: string): number | undefined => {
    const payload = representation?.payload
    const found = Predicate.hasProperty(payload, name) ? payload[name] : undefined
    return typeof found === "number" ? found : undefined
  }
  switch (representation?.id) {
    case "effect/schema/isFinite":
    case "effect/schema/isInt":
      return text
        ? { type: "int_parsing", msg: "Input should be a valid integer, unable to parse string as an integer" }
        : { type: "int_type", msg: "Input should be a valid integer, got a number with a fractional part" }
    case "effect/schema/isMinLength":
      return tooShort(value, bound("minLength") ?? 1)
    case "effect/schema/isPattern":
      return { type: "string_pattern_mismatch", msg: "String should have the expected form" }
    case "effect/schema/isMaxLength":
      return tooLong(value, bound("maxLength") ?? 0)
    case "effect/schema/isGreaterThan":
      return compared("greater_than", "gt", "greater than", bound("exclusiveMinimum") ?? 0)
    case "effect/schema/isGreaterThanOrEqualTo":
      return compared("greater_than_equal", "ge", "greater than or equal to", bound("minimum") ?? 0)
    case "effect/schema/isLessThanOrEqualTo":
      return compared("less_than_equal", "le", "less than or equal to", bound("maximum") ?? 0)
    case "effect/schema/isBetween": {
      const minimum = bound("minimum") ?? 0
      return Number(value) < minimum
        ? compared("greater_than_equal", "ge", "greater than or equal to", minimum)
        : compared("less_than_equal", "le", "less than or equal to", bound("maximum") ?? 0)
    }
    default:
      return {
        type: "value_error",
        msg: `Value error, expected ${issue.filter.annotations?.expected ?? "a valid value"}`
      }
  }
}

const compared = (type: string, name: string, words: string, bound: number): Found => ({
  type,
  msg: `Input should be ${words} ${bound}`,
  ctx: { [name]: bound }
})

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

/** A value that a check of our own refused; its message is one of these words. */
const ofValue = (issue: SchemaIssue.InvalidValue): Found => {
  const annotations: { readonly message?: unknown; readonly expected?: unknown } | undefined = issue.annotations
  if (annotations?.message === "missing") return missing
  if (annotations?.message === "null beside no tool_calls") {
    return {
      type: "string_type",
      msg: "Input should be a valid string or list; null is accepted only beside tool_calls"
    }
  }
  if (typeof annotations?.expected === "string" && annotations.expected.includes("DateTime")) {
    return { type: "datetime_parsing", msg: "Input should be a valid datetime, in ISO 8601 with a time zone" }
  }
  return { type: "value_error", msg: "Value error, the input is not valid" }
}

const valueAt = (input: unknown, path: Path): unknown => {
  let value = input
  for (const key of path) {
    if (!Predicate.hasProperty(value, key)) return undefined
    value = value[key]
  }
  return value
}

const echo = (value: unknown): { readonly input?: unknown } => {
  if (typeof value === "string") {
    return { input: value.length <= ECHOED_CHARACTERS ? value : `${value.slice(0, ECHOED_CHARACTERS)}…` }
  }
  return typeof value === "number" || typeof value === "boolean" || value === null ? { input: value } : {}
}
