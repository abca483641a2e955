/**
 * Converts the issues of a schema into the words of FastAPI and Pydantic v2: every fault with its
 * place, message and type. The input is echoed only when it is a short scalar, so that prompts
 * never appear in errors. At most `MAX_FAULTS` faults are collected.
 */
import { Predicate, type SchemaAST, type SchemaIssue } from "effect"
import { type ValidationError } from "../../api/Failure.ts"
import {
  extra,
  type Found,
  invalid,
  literalError,
  literalsOf,
  missing,
  namesOf,
  ofCheck,
  ofType,
  ofValue
} from "./FaultWords.ts"

type Path = ReadonlyArray<string | number>

const ECHOED_CHARACTERS = 64

/** Most faults reported for one request. */
export const MAX_FAULTS = 100

/** `prefix` is `body`, `path`, `query` or `header`. `input` is the decoded value. */
export const validationFaults = (
  issue: SchemaIssue.Issue,
  prefix: string,
  input: unknown
): ReadonlyArray<ValidationError> => {
  const faults: Array<ValidationError> = []
  const text = prefix !== "body"

  const reported = new Set<string>()

  /**
   * Only the first fault of a place is reported: a value that is not a number is not also too
   * large.
   */
  const report = (path: Path, found: Found): void => {
    const place = JSON.stringify(path)
    if (reported.has(place)) return
    reported.add(place)
    const value = valueAt(input, path)
    faults.push({
      loc: [prefix, ...path.map((key) => (typeof key === "string" ? short(key) : key))],
      msg: found.msg,
      type: found.type,
      ...(found.type === "missing" ? {} : echo(value)),
      ...(found.ctx === undefined ? {} : { ctx: found.ctx })
    })
  }

  const walkAll = (issues: ReadonlyArray<SchemaIssue.Issue>, path: Path): void => {
    for (const child of issues) {
      if (faults.length >= MAX_FAULTS) return
      walk(child, path)
    }
  }

  const walk = (current: SchemaIssue.Issue, path: Path): void => {
    switch (current._tag) {
      case "Pointer":
        return walk(current.issue, [
          ...path,
          ...current.path.map((key) => (typeof key === "number" ? key : String(key)))
        ])
      case "Composite":
        walkAll(current.issues, path)
        return walkAll(issuesOfWhole(current.ast, valueAt(input, path)), path)
      case "Encoding":
        return walk(current.issue, path)
      case "MissingKey":
        return report(path, missing)
      case "UnexpectedKey":
        return report(path, extra(String(path.at(-1)), namesOf(current.ast)))
      case "Filter": {
        if (current.issue._tag === "Pointer" || current.issue._tag === "Composite") return walk(current.issue, path)
        return report(path, ofCheck(current, valueAt(input, path), text))
      }
      case "AnyOf": {
        const literals = literalsOf(current.ast)
        if (literals !== undefined) return report(path, literalError(literals))
        // The value may be of one of the types and too long, for example.
        const told = current.issues.length === 1 ? current.issues[0] : current.issues.find(isCheck)
        if (told !== undefined) return walk(told, path)
        return report(path, ofType(current.ast, text))
      }
      case "InvalidType":
        return report(path, ofType(current.ast, text))
      case "InvalidValue":
        return report(path, ofValue(current))
      default:
        return report(path, invalid)
    }
  }

  walk(issue, [])
  return faults
}

/**
 * Faults of checks on a whole object whose members have faults too. The schema only runs these
 * checks on objects with valid members. The ones run here are annotated with `ofAnyObject`.
 */
const issuesOfWhole = (ast: SchemaAST.AST, value: unknown): ReadonlyArray<SchemaIssue.Issue> =>
  Predicate.isObject(value)
    ? (ast.checks ?? []).flatMap((check) =>
        check._tag === "Filter" && check.annotations?.["ofAnyObject"] === true
          ? (check.run(value, ast, { errors: "all" }) ?? [])
          : []
      )
    : []

/** A value of the right type that failed a check. */
const isCheck = (issue: SchemaIssue.Issue): boolean =>
  issue._tag === "Filter" || (issue._tag === "Composite" && issue.issues.every(isCheck))

/** The faults of an object that must not have members. */
export const unknownMembers = (
  members: Readonly<Record<string, string>>,
  prefix: string
): ReadonlyArray<ValidationError> =>
  Object.entries(members)
    .slice(0, MAX_FAULTS)
    .map(([name, value]) => ({ loc: [prefix, short(name)], ...extra(name, []), input: short(value) }))

const valueAt = (input: unknown, path: Path): unknown => {
  let value = input
  for (const key of path) {
    if (!Predicate.hasProperty(value, key)) return undefined
    value = value[key]
  }
  return value
}

const short = (text: string): string =>
  text.length <= ECHOED_CHARACTERS ? text : `${text.slice(0, ECHOED_CHARACTERS)}…`

const echo = (value: unknown): { readonly input?: unknown } => {
  if (typeof value === "string") return { input: short(value) }
  return Number.isFinite(value) || typeof value === "boolean" || value === null ? { input: value } : {}
}
