/**
 * Turns schema issues into faults. A fault names the setting, the problem and the accepted form,
 * worded from the annotations of Forms.ts. A value is printed only if its form allows it, it is
 * short, it cannot contain credentials and it does not come from the environment.
 */
import { Predicate, Result, Schema, type SchemaAST, type SchemaIssue } from "effect"
import { nearest } from "../domain/Nearest.ts"
import { type SettingsFault } from "./SettingsError.ts"

export type Path = ReadonlyArray<PropertyKey>
export type Faults = ReadonlyArray<SettingsFault>

/** A decoded value with its path, and the paths whose values must not be printed. */
export interface Place {
  readonly value: unknown
  readonly path: Path
  /** Paths in `renderPath` form whose values come from the environment. */
  readonly hidden: ReadonlySet<string>
}

/** The member `key` of a place. Its value is `undefined` if absent. */
export const member = (place: Place, key: string | number): Place => ({
  ...place,
  value: valueAt(place.value, [key]),
  path: [...place.path, key]
})

/** Decodes the value at `place`. Fails with all faults, unknown members included. */
export const decodeAt = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  place: Place
): Result.Result<S["Type"], Faults> =>
  Result.mapError(
    Schema.decodeUnknownResult(schema, { errors: "all", onExcessProperty: "error" })(place.value),
    (error) => faultsOf(error.issue, place, [])
  )

/** Such as `providers[0].pricing.prompt`. Keys other than plain words are quoted in brackets. */
export const renderPath = (path: Path): string =>
  path.reduce<string>((rendered, key) => {
    if (typeof key === "number") return `${rendered}[${key}]`
    const name = String(key)
    if (!/^[a-z_][\w-]*$/i.test(name)) return `${rendered}[${JSON.stringify(name)}]`
    return rendered === "" ? name : `${rendered}.${name}`
  }, "")

const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (inner, key) =>
      Predicate.isObjectOrArray(inner) && Object.hasOwn(inner, key) ? Reflect.get(inner, key) : undefined,
    value
  )

const faultsOf = (issue: SchemaIssue.Issue, place: Place, path: Path): Faults => {
  switch (issue._tag) {
    case "Pointer":
      return faultsOf(issue.issue, place, [...path, ...issue.path])
    case "Filter":
      return faultsOf(issue.issue, place, path)
    case "UnexpectedKey":
      return [unknownName(renderPath([...place.path, ...path]), String(path.at(-1)), namesOf(issue.ast))]
    case "Composite":
    case "AnyOf":
    case "Encoding":
    case "InvalidType": {
      if (issue._tag === "InvalidType" || hasForm(issue.ast)) return [wrongValue(issue.ast, place, path)]
      if (issue._tag === "Encoding") return faultsOf(issue.issue, place, path)
      return issue.issues.flatMap((inner) =>
        inner._tag === "Pointer" && inner.issue._tag === "MissingKey"
          ? [missing(issue.ast, place, [...path, ...inner.path])]
          : faultsOf(inner, place, path)
      )
    }
    default:
      return [{ setting: renderPath([...place.path, ...path]), problem: "is not accepted", expected: "another value" }]
  }
}

/**
 * The fault of an unknown name. `name`: the last part of `setting`. `prefix`: the common prefix of
 * `known`.
 */
export const unknownName = (
  setting: string,
  name: string,
  known: ReadonlyArray<string>,
  prefix = ""
): SettingsFault => {
  const rest = (whole: string) => whole.slice(prefix.length)
  const near = nearest(rest(name), known.map(rest))
  return {
    setting,
    problem: near === null ? "is unknown" : `is unknown, did you mean ${prefix}${near}?`,
    expected: `one of ${known.join(", ")}`
  }
}

const missing = (parent: SchemaAST.AST, place: Place, path: Path): SettingsFault => {
  const property =
    parent._tag === "Objects" ? parent.propertySignatures.find(({ name }) => name === path.at(-1)) : undefined
  return {
    setting: renderPath([...place.path, ...path]),
    problem: "is missing",
    expected: property === undefined ? "a value" : expectedOf(property.type)
  }
}

const wrongValue = (ast: SchemaAST.AST, place: Place, path: Path): SettingsFault => {
  const setting = renderPath([...place.path, ...path])
  const value = valueAt(place.value, path)
  const shown = ast.annotations?.shown === true && !place.hidden.has(setting)
  const fault = (problem: string): SettingsFault => ({ setting, problem, expected: expectedOf(ast) })
  if (value === undefined || value === null || value === "") return fault("is empty")
  if (Array.isArray(value)) return fault("is a list")
  if (typeof value === "object") return fault("is a mapping")
  if (!hasForm(ast)) return fault(typeof value === "string" ? "is a text" : `is a ${typeof value}`)
  const printed = shown ? printedForm(value) : null
  return fault(printed === null ? "is not accepted (value not shown)" : `is ${printed}`)
}

const longestPrinted = 60

/**
 * A value for printing, or `null` if it is long or contains characters of an address with
 * credentials.
 */
const printedForm = (value: unknown): string | null => {
  if (typeof value === "number" || typeof value === "boolean") return String(value)
  return typeof value === "string" && value.length <= longestPrinted && !/[@?=]/.test(value)
    ? JSON.stringify(value)
    : null
}

const hasForm = (ast: SchemaAST.AST): boolean => typeof ast.annotations?.expected === "string"

const namesOf = (ast: SchemaAST.AST): ReadonlyArray<string> =>
  ast._tag === "Objects" ? ast.propertySignatures.map(({ name }) => String(name)) : []

const expectedOf = (ast: SchemaAST.AST): string => {
  if (typeof ast.annotations?.expected === "string") return ast.annotations.expected
  if (ast._tag === "Arrays") return "a list"
  const names = namesOf(ast)
  return names.length === 0 ? "a mapping" : `a mapping of ${names.join(", ")}`
}
