/**
 * Merges settings into the text of a settings file and keeps everything else, comments included.
 * Each edit is read back: if the file would not say exactly what it said before and the new
 * setting, the merge fails and nothing is written.
 */
import { Predicate, Result } from "effect"

export interface Setting {
  /** Names of members. In a list, the `name` of its entry. */
  readonly path: ReadonlyArray<string>
  readonly value: string | number | boolean | ReadonlyArray<string> | Readonly<Record<string, number>>
  /** A value that is there already stays. */
  readonly isDefault?: boolean
  /** It is not printed. */
  readonly isSecret?: boolean
}

/** A format of settings files. */
export interface SettingsFormat {
  /** What a text says; a failure says why it cannot be read. */
  readonly read: (text: string) => Result.Result<unknown, string>
  /** Texts with the setting, the best first. Some may be wrong: the caller reads them back. */
  readonly edited: (text: string, setting: Setting) => ReadonlyArray<string>
  /** The text of a new file, before the settings are merged. */
  readonly blank: string
  /** Whether the members of the first name are entries of a list, by `name`. */
  readonly hasLists: boolean
}

export interface Merged {
  readonly text: string
  /** The settings that were not there, or had another value. */
  readonly changed: ReadonlyArray<Setting & { readonly wasThere: boolean }>
}

export const merged = (
  format: SettingsFormat,
  text: string,
  settings: ReadonlyArray<Setting>
): Result.Result<Merged, string> =>
  Result.gen(function* () {
    let now = text
    let said = yield* format.read(now)
    const changed: Array<Merged["changed"][number]> = []
    for (const setting of settings) {
      const before = valueAt(said, setting.path)
      if (before !== undefined && (setting.isDefault === true || isSame(before, setting.value))) continue
      const wanted = withValue(said, setting.path, setting.value, format.hasLists)
      const found = format
        .edited(now, setting)
        .find((candidate) => isSame(Result.getOrNull(format.read(candidate)), wanted))
      if (found === undefined)
        return yield* Result.fail(`${setting.path.join(".")} cannot be set without other changes`)
      now = found
      said = wanted
      changed.push({ ...setting, wasThere: before !== undefined })
    }
    return { text: now, changed }
  })

const isNamed = (name: string) => (entry: unknown) => Predicate.hasProperty(entry, "name") && entry.name === name

/** Undefined: it is not there. */
export const valueAt = (said: unknown, [first, ...rest]: ReadonlyArray<string>): unknown => {
  if (first === undefined) return said
  if (Array.isArray(said)) return valueAt(said.find(isNamed(first)), rest)
  return Predicate.isObject(said) && Object.hasOwn(said, first)
    ? valueAt(new Map(Object.entries(said)).get(first), rest)
    : undefined
}

const withValue = (said: unknown, path: ReadonlyArray<string>, value: unknown, hasLists: boolean): unknown => {
  const [first, ...rest] = path
  if (first === undefined) return value
  if (Array.isArray(said)) {
    const entries: ReadonlyArray<unknown> = said
    return entries.some(isNamed(first))
      ? entries.map((entry) => (isNamed(first)(entry) ? withValue(entry, rest, value, false) : entry))
      : [...entries, withValue({ name: first }, rest, value, false)]
  }
  const members = Predicate.isObject(said) ? { ...said } : {}
  const member = new Map<string, unknown>(Object.entries(members)).get(first)
  return { ...members, [first]: withValue(member ?? (hasLists ? [] : undefined), rest, value, false) }
}

/** Compares what two texts say, in any order of members. */
const isSame = (one: unknown, other: unknown): boolean => {
  if (Array.isArray(one) || Array.isArray(other)) {
    return (
      Array.isArray(one) &&
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((each, at) => isSame(each, other[at]))
    )
  }
  if (one instanceof Date && other instanceof Date) return one.getTime() === other.getTime()
  if (!Predicate.isObject(one) || !Predicate.isObject(other)) return Object.is(one, other)
  const members = new Map(Object.entries(other))
  const names = Object.entries(one)
  return names.length === members.size && names.every(([name, each]) => isSame(each, members.get(name)))
}

/** The line break that a text uses. */
export const lineBreakOf = (text: string): string => (text.includes("\r\n") ? "\r\n" : "\n")

export const inserted = (lines: ReadonlyArray<string>, at: number, added: ReadonlyArray<string>) => [
  ...lines.slice(0, at),
  ...added,
  ...lines.slice(at)
]

/** A line with another value and its comment: `key = value  # comment`. */
export const lineWith = (line: string, separator: "=" | ":", value: string): string =>
  line.replace(
    new RegExp(String.raw`^([^${separator}]*${separator}\s*)("(?:[^"\\]|\\.)*"|'[^']*'|.*?)(\s*(?:\s#.*)?)$`),
    (_, head: string, __, tail: string) => `${/\s$/.test(head) ? head : `${head} `}${value}${tail}`
  )
