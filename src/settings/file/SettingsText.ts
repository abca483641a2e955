/**
 * Edits of the text of the settings file: adds and removes providers, and keeps comments, order and
 * everything else. Each edit is read back. If the file would not say exactly what it said before
 * and the change, the edit fails, and the operator makes it by hand.
 */
import { Equal, Predicate, Result } from "effect"
import { parse } from "effect/encoding/Yaml"
import { hideReferences, writtenValue } from "../References.ts"
import { blockOf, linesOf } from "./Blocks.ts"
import { type Entry, entryLines, memberLine } from "./Rendered.ts"

type Members = Readonly<Record<string, unknown>>

/** What a text says, with its references as they are written. A failure says why it is not read. */
const read = (text: string): Result.Result<Members, string> => {
  const { references, text: hidden } = hideReferences(text)
  return Result.flatMap(
    Result.try({ try: () => parse(hidden), catch: () => "it is not valid YAML" }),
    (value): Result.Result<Members, string> => {
      const written = writtenValue(value ?? {}, references)
      return isMembers(written) ? Result.succeed(written) : Result.fail("it is not a mapping")
    }
  )
}

const isMembers = (value: unknown): value is Members => Predicate.isObject(value) && !Array.isArray(value)

const membersIn = (said: Members, name: string): Members => (isMembers(said[name]) ? said[name] : {})
const listIn = (said: Members, name: string): ReadonlyArray<unknown> => (Array.isArray(said[name]) ? said[name] : [])

/** An empty section is as good as none. */
const withoutEmpty = (said: Members): Members =>
  Object.fromEntries(
    Object.entries(said).filter(
      ([, value]) => value !== null && !(Predicate.isObjectOrArray(value) && Object.keys(value).length === 0)
    )
  )

/** The first candidate that says `wanted`. */
const checked = (candidates: ReadonlyArray<string>, wanted: Members): Result.Result<string, string> => {
  const found = candidates.find((candidate) => {
    const said = Result.getOrNull(read(candidate))
    return said !== null && Equal.equals(withoutEmpty(said), withoutEmpty(wanted))
  })
  return found === undefined ? Result.fail("its form cannot be edited without other changes") : Result.succeed(found)
}

const joined = (text: string, lines: ReadonlyArray<string>): string => lines.join(text.includes("\r\n") ? "\r\n" : "\n")

const linesAt = (indent: number, lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.map((line) => `${" ".repeat(indent)}${line}`)

/** Adds lines at the end of a section, which is made if there is none. */
const appended = (text: string, section: string, lines: ReadonlyArray<string>): string => {
  const all = linesOf(text)
  const block = blockOf(all, section)
  if (block === null) {
    const before = all.at(-1) === "" ? all.slice(0, -1) : all
    const gap = before.some((line) => line.trim() !== "") ? [""] : []
    return joined(text, [...before, ...gap, `${section}:`, ...linesAt(2, lines), ""])
  }
  const head = all[block.head] ?? ""
  // A section that is written as `[]` or `{}` becomes a block.
  const opened = all.with(block.head, head.replace(/(?:\[\s*\]|\{\s*\})/, "").trimEnd())
  return joined(text, [...opened.slice(0, block.end), ...linesAt(block.indent, lines), ...opened.slice(block.end)])
}

/** Adds an entry to `providers`. */
export const withProvider = (text: string, entry: Entry): Result.Result<string, string> =>
  Result.flatMap(read(text), (said) =>
    checked([appended(text, "providers", entryLines(entry))], {
      ...said,
      providers: [...listIn(said, "providers"), entry]
    })
  )

/** Sets members of a preset, which are texts. */
export const withPreset = (
  text: string,
  slug: string,
  members: Readonly<Record<string, string>>
): Result.Result<string, string> =>
  Result.flatMap(read(text), (said) => {
    const presets = membersIn(said, "presets")
    const wanted = { ...said, presets: { ...presets, [slug]: { ...membersIn(presets, slug), ...members } } }
    const lines = Object.entries(members).map(([name, value]) => memberLine(name, value))
    const all = linesOf(text)
    const block = blockOf(all, "presets")
    const own = block === null ? null : blockOf(all, slug, block)
    if (own === null)
      return checked([appended(text, "presets", [`${slug}:`, ...lines.map((line) => `  ${line}`)])], wanted)
    const kept = all.filter(
      (line, at) => !(at > own.head && at < own.end && isMember(line, own.indent, Object.keys(members)))
    )
    const head = all[own.head] ?? ""
    const flow = lines.map((line) => line.replace(/: (.*)$/, (_, value: string) => `: ${quoted(value)}`)).join(", ")
    return checked(
      [
        joined(text, [...kept.slice(0, own.head + 1), ...linesAt(own.indent, lines), ...kept.slice(own.head + 1)]),
        joined(text, all.with(own.head, head.replace(/\{\s*\}/, `{ ${flow} }`))),
        joined(text, all.with(own.head, head.replace(/\{\s*/, `{ ${flow}, `)))
      ],
      wanted
    )
  })

const quoted = (value: string): string => (value.startsWith('"') ? value : JSON.stringify(value))

const isMember = (line: string, indent: number, names: ReadonlyArray<string>): boolean =>
  names.some((name) => line.startsWith(`${" ".repeat(indent)}${name}:`))

/** Replaces the key of an entry of `providers`. */
export const withKey = (text: string, slug: string, key: string): Result.Result<string, string> =>
  Result.flatMap(read(text), (said) => {
    const list = listIn(said, "providers")
    const at = indexOf(list, slug)
    const all = linesOf(text)
    const item = itemAt(all, at)
    if (item === null) return Result.fail("its form cannot be edited without other changes")
    const wanted = {
      ...said,
      providers: list.map((entry, index) => (index === at && isMembers(entry) ? { ...entry, api_key: key } : entry))
    }
    const line = all.findIndex(
      (written, index) => index >= item.start && index < item.end && /^[\s-]*api_key\s*:/.test(written)
    )
    const written = all[line] ?? ""
    const changed = written.replace(
      /^([\s-]*api_key\s*:\s*)("(?:[^"\\]|\\.)*"|'[^']*'|.*?)(\s*(?:\s#.*)?)$/,
      (_, head: string, __, tail: string) => `${head.trimEnd()} ${key}${tail}`
    )
    const added = linesAt(item.indent + 2, [memberLine("api_key", key)])
    return checked(
      line === -1
        ? [joined(text, [...all.slice(0, item.end), ...added, ...all.slice(item.end)])]
        : [joined(text, all.with(line, changed))],
      wanted
    )
  })

/** Removes a provider, or the key and the address of a preset. */
export const without = (text: string, slug: string): Result.Result<string, string> =>
  Result.flatMap(read(text), (said) => {
    const all = linesOf(text)
    const list = listIn(said, "providers")
    const index = indexOf(list, slug)
    if (index !== -1) {
      const item = itemAt(all, index)
      if (item === null) return Result.fail("its form cannot be edited without other changes")
      const wanted = { ...said, providers: list.filter((_, at) => at !== index) }
      return checked([joined(text, [...all.slice(0, item.start), ...all.slice(item.end)])], wanted)
    }
    const presets = membersIn(said, "presets")
    const { api_key: _, base_url: __, ...rest } = membersIn(presets, slug)
    const { [slug]: ___, ...others } = presets
    const isEmpty = Object.keys(rest).length === 0
    const wanted = { ...said, presets: isEmpty ? others : { ...others, [slug]: rest } }
    const block = blockOf(all, "presets")
    const own = block === null ? null : blockOf(all, slug, block)
    if (own === null) return Result.fail("its form cannot be edited without other changes")
    const left = isEmpty
      ? [...all.slice(0, own.head), ...all.slice(own.end)]
      : all.filter(
          (line, at) => !(at > own.head && at < own.end && isMember(line, own.indent, ["api_key", "base_url"]))
        )
    const head = all[own.head] ?? ""
    const flow = head.replace(/\b(?:api_key|base_url): (?:"(?:[^"\\]|\\.)*"|[^,}]*?)(?:,\s*|(?=\s*\}))/g, "")
    return checked([joined(text, left), joined(text, all.with(own.head, flow))], wanted)
  })

const indexOf = (list: ReadonlyArray<unknown>, slug: string): number =>
  list.findIndex((entry) => isMembers(entry) && entry["slug"] === slug)

/** The lines of the item at `index` of `providers`. */
const itemAt = (lines: ReadonlyArray<string>, index: number) => {
  const block = blockOf(lines, "providers")
  if (block === null || index === -1) return null
  const starts = lines.flatMap((text, at) =>
    at > block.head && at < block.end && text.startsWith(`${" ".repeat(block.indent)}-`) ? [at] : []
  )
  const start = starts[index]
  return start === undefined ? null : { start, end: starts[index + 1] ?? block.end, indent: block.indent }
}

/** The entry of a provider or preset in a text; null: there is none. `key`: as it is written. */
export const entryIn = (
  text: string,
  slug: string
): { readonly section: "providers" | "presets"; readonly key: string | null } | null => {
  const said = Result.getOrElse(read(text), (): Members => ({}))
  const entry = listIn(said, "providers").find((each) => isMembers(each) && each["slug"] === slug)
  const preset = membersIn(membersIn(said, "presets"), slug)
  const keyOf = (members: Members) => (typeof members["api_key"] === "string" ? members["api_key"] : null)
  if (isMembers(entry)) return { section: "providers", key: keyOf(entry) }
  return "api_key" in preset ? { section: "presets", key: keyOf(preset) } : null
}
