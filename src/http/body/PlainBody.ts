/**
 * Decodes a valid body without copying it. Most members of a body are plain: decoding transforms
 * nothing in them, and gives them no defaults. They are checked, and stay the objects that were
 * parsed; only the other members are decoded.
 */
import { Result, Schema, SchemaAST, SchemaParser } from "effect"
import { isRawNumber } from "../../domain/json/Json.ts"
import { stopAtFirst } from "./FirstFaults.ts"

type Check = (value: unknown) => boolean
type Members = Readonly<Record<string, unknown>>

export interface PlainBody {
  /** Whether decoding leaves a member as it is. */
  readonly isPlain: (name: string) => boolean
  /** The body, if it is valid; undefined: the codec decides, and finds the faults. */
  readonly decode: (value: unknown) => Members | undefined
}

/** `codec`: of parsed JSON. */
export const plainBody = ({ ast }: Schema.Top): PlainBody | null => {
  if (ast._tag !== "Objects" || !isOpen(ast) || ast.checks !== undefined || ast.encoding !== undefined) return null
  const plain: Array<Member> = []
  const others: Array<SchemaAST.PropertySignature> = []
  for (const property of ast.propertySignatures) {
    const member = memberOf(property)
    if (member === null) others.push(property)
    else plain.push(member)
  }
  const named = new Set(ast.propertySignatures.map(({ name }) => name))
  const otherNames = others.map(({ name }) => String(name))
  const decodeOthers = SchemaParser.decodeUnknownResult(
    Schema.make<Schema.Codec<Members>>(new SchemaAST.Objects(others, [])),
    stopAtFirst
  )
  const defaults = Result.getOrNull(decodeOthers({}))
  const flags = new Set(otherNames.filter((name) => isFlag(decodeOthers, name)))

  /** The body, if its other members are flags or absent. Most bodies are such. */
  const decodeFlags = (value: Members): Members | undefined => {
    let lacksDefault = false
    for (const name of otherNames) {
      if (typeof value[name] === "boolean" && flags.has(name)) continue
      if (defaults === null || Object.hasOwn(value, name)) return undefined
      lacksDefault ||= name in defaults
    }
    return lacksDefault ? { ...defaults, ...value } : value
  }

  return {
    isPlain: (name) => !otherNames.includes(name),
    decode: (value) => {
      if (!isMembers(value)) return undefined
      for (const member of plain) if (!isMember(value, member)) return undefined
      for (const name in value) if (!named.has(name) && !isJson(value[name])) return undefined
      const quick = decodeFlags(value)
      if (quick !== undefined) return quick
      const decoded = decodeOthers(value)
      return Result.isSuccess(decoded) ? { ...value, ...decoded.success } : undefined
    }
  }
}

/** Whether decoding leaves a member as it is where it is a boolean. */
const isFlag = (decode: (value: unknown) => Result.Result<Members, unknown>, name: string): boolean =>
  [true, false].every((flag) => {
    const decoded = decode({ [name]: flag })
    return Result.isSuccess(decoded) && decoded.success[name] === flag
  })

interface Member {
  readonly name: PropertyKey
  readonly isOptional: boolean
  readonly check: Check
}

/** Null: decoding may change it. */
const memberOf = ({ name, type }: SchemaAST.PropertySignature): Member | null => {
  const check = checkOf(type)
  return check === null ? null : { name, isOptional: type.context?.isOptional === true, check }
}

const isMember = (value: Members, { check, isOptional, name }: Member): boolean =>
  Object.hasOwn(value, name) ? check(Reflect.get(value, name)) : isOptional

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Whether members without a schema of their own may have any value. Others would be left out. */
const isOpen = ({ encodingChecks, indexSignatures: [others, more] }: SchemaAST.Objects): boolean =>
  others !== undefined &&
  more === undefined &&
  encodingChecks === undefined &&
  others.parameter === Schema.String.ast &&
  others.type._tag === "Unknown" &&
  others.type.checks === undefined

/** Whether a parsed value is JSON: a number may be beyond a double. */
const isJson = (value: unknown): boolean => {
  if (typeof value === "number") return Number.isFinite(value)
  if (typeof value !== "object" || value === null || isRawNumber(value)) return true
  if (Array.isArray(value)) return value.every(isJson)
  for (const name in value) if (!isJson(Reflect.get(value, name))) return false
  return true
}

/** The check of values that decoding leaves as they are; null: it may change them. */
const checkOf = (ast: SchemaAST.AST): Check | null => {
  const check = ofKind(ast)
  const { checks } = ast
  return check === null || checks === undefined ? check : (value) => check(value) && passes(checks, value, ast)
}

const passes = (checks: ReadonlyArray<SchemaAST.Check<unknown>>, value: unknown, ast: SchemaAST.AST): boolean => {
  for (const check of checks) {
    const isPassed =
      check._tag === "FilterGroup" ? passes(check.checks, value, ast) : check.run(value, ast, stopAtFirst) === undefined
    if (!isPassed) return false
  }
  return true
}

const ofKind = (ast: SchemaAST.AST): Check | null => {
  if (ast._tag === "Unknown") return ast.encoding?.every(isJsonLink) === false ? null : isJson
  if (ast.encoding !== undefined) return null
  switch (ast._tag) {
    case "String":
      return (value) => typeof value === "string"
    case "Number":
      return (value) => typeof value === "number"
    case "Boolean":
      return (value) => typeof value === "boolean"
    case "Null":
      return (value) => value === null
    case "Literal":
      return (value) => value === ast.literal
    case "Union":
      return ofUnion(ast)
    case "Arrays":
      return ofList(ast)
    case "Objects":
      return ofObject(ast)
    default:
      return null
  }
}

/** The codec of an unknown value checks that it is JSON, and passes it on. */
const isJsonLink = ({ to, transformation }: SchemaAST.Link): boolean =>
  to._tag === "Declaration" && transformation._tag === "Transformation" && transformation.decode._tag === "Passthrough"

const ofUnion = ({ encodingChecks, options, types }: SchemaAST.Union): Check | null => {
  const checks = types.map(checkOf)
  if (encodingChecks !== undefined || options?.mode === "oneOf" || checks.includes(null)) return null
  return (value) => {
    for (const check of checks) if (check?.(value) === true) return true
    return false
  }
}

const ofList = ({ elements, encodingChecks, rest: [entry, more] }: SchemaAST.Arrays): Check | null => {
  if (elements.length > 0 || entry === undefined || more !== undefined || encodingChecks !== undefined) return null
  const check = checkOf(entry)
  return check === null ? null : (value) => Array.isArray(value) && value.every(check)
}

const ofObject = (ast: SchemaAST.Objects): Check | null => {
  const members = ast.propertySignatures.map(memberOf)
  const known = members.filter((member) => member !== null)
  if (!isOpen(ast) || known.length < members.length) return null
  const names = new Set(known.map(({ name }) => name))
  return (value) => {
    if (!isMembers(value)) return false
    for (const member of known) if (!isMember(value, member)) return false
    for (const name in value) if (!names.has(name) && !isJson(value[name])) return false
    return true
  }
}
