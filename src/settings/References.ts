/**
 * Resolves `${NAME}` and `${NAME:-default}` in text values of the settings file from the
 * environment. `$$` is a dollar sign. References are replaced by marks before YAML parsing and
 * resolved afterwards, so that they need no quotes inside `{ }` and the environment's content
 * cannot become YAML structure. A variable that is unset or empty, without a default, is a fault.
 * `${sealed:name}` is a key that the database keeps: it becomes a mark, see Sealed.ts.
 */
import { Predicate } from "effect"
import { type Faults, type Path, renderPath } from "./Faults.ts"
import { markOfSealed } from "./Sealed.ts"
import { type SettingsFault } from "./SettingsError.ts"

/** Source text with marks in place of references. `references[n]` belongs to mark `n`. */
export interface Hidden {
  readonly text: string
  readonly references: ReadonlyArray<string>
}

export interface Filled {
  readonly value: unknown
  readonly faults: Faults
  /** Paths whose values come from the environment. */
  readonly hidden: ReadonlySet<string>
  /** Names of the variables that the values refer to. */
  readonly names: ReadonlySet<string>
}

/** Malformed references stay in the text, where their `${` is reported as a fault. */
const reference = /\$\$|\$\{sealed:[a-z0-9][a-z0-9._-]*\}|\$\{[A-Za-z_]\w*(?::-(?:(?!\$\{)[^}\n])*)?\}/g
const sealed = /^\$\{sealed:(.+)\}$/
const parts = /^\$\{(\w+)(?::-(.*))?\}$/
const mark = /\uE000(\d+)\uE001/g

/** Sealed keys are keys of providers, and the whole value. */
const takesSealed = (path: Path, text: string): boolean =>
  /^\uE000\d+\uE001$/.test(text) &&
  (path[0] === "providers" || path[0] === "presets") &&
  (path.at(-1) === "api_key" || path.at(-2) === "api_keys")

export const hideReferences = (source: string): Hidden => {
  const references: Array<string> = []
  const text = source.replace(reference, (found) => `\uE000${references.push(found) - 1}\uE001`)
  return { text, references }
}

/** The value as it is written, with its references in it. */
export const writtenValue = (value: unknown, references: ReadonlyArray<string>): unknown => {
  const written = (text: string): string => text.replace(mark, (whole, index) => references[Number(index)] ?? whole)
  if (typeof value === "string") return written(value)
  if (Array.isArray(value)) return value.map((item) => writtenValue(item, references))
  return Predicate.isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, item]) => [written(name), writtenValue(item, references)]))
    : value
}

/** Resolves the marks in `value` from `env`. All faults are reported, without values. */
export const fillReferences = (
  value: unknown,
  references: ReadonlyArray<string>,
  env: Readonly<Record<string, string | undefined>>
): Filled => {
  const faults: Array<SettingsFault> = []
  const hidden = new Set<string>()
  const names = new Set<string>()

  const resolve = (found: string, setting: string): string => {
    if (found === "$$") return "$"
    const [, name = "", byDefault] = parts.exec(found) ?? []
    names.add(name)
    hidden.add(setting)
    const fromEnvironment = env[name]
    if (fromEnvironment !== undefined && fromEnvironment !== "") return fromEnvironment
    if (byDefault === undefined) {
      faults.push({
        setting,
        problem: `refers to ${name}, which is unset or empty`,
        expected: `${name} in the environment, or a default: \${${name}:-…}`
      })
    }
    return byDefault ?? ""
  }

  const fill = (inner: unknown, path: Path): unknown => {
    if (Array.isArray(inner)) return inner.map((item, index) => fill(item, [...path, index]))
    if (Predicate.isObject(inner)) {
      return Object.fromEntries(
        Object.entries(inner).map(([marked, item]) => {
          const key = marked.replace(mark, (whole, index) => references[Number(index)] ?? whole)
          return [key, fill(item, [...path, key])]
        })
      )
    }
    if (typeof inner !== "string") return inner
    const setting = renderPath(path)
    const isKey = takesSealed(path, inner)
    if (inner.includes("${")) {
      const expected = "${NAME} or ${NAME:-default}; $$ for a dollar sign"
      faults.push({ setting, problem: "holds a malformed ${…}", expected })
    }
    return inner.replace(mark, (whole, index) => {
      const found = references[Number(index)]
      if (found === undefined) return whole
      const name = sealed.exec(found)?.[1]
      if (name === undefined) return resolve(found, setting)
      hidden.add(setting)
      if (isKey) return markOfSealed(name)
      faults.push({ setting, problem: `holds ${found}`, expected: "a sealed key as the whole api_key of a provider" })
      return ""
    })
  }

  return { value: fill(value, []), faults, hidden, names }
}
