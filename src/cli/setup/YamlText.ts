/**
 * Settings files in YAML, edited line by line: scalars and lists of texts of an entry of a list, of
 * which each entry has a `name`.
 */
import { Result } from "effect"
import { parse } from "effect/encoding/Yaml"
import { inserted, lineBreakOf, lineWith, type Setting, type SettingsFormat } from "./SettingsText.ts"

const read = (text: string): Result.Result<unknown, string> =>
  Result.try({
    try: () => parse(text),
    catch: (error) => `it is not YAML that can be edited: ${error instanceof Error ? error.message : "unreadable"}`
  })

const indentOf = (line: string): number => line.length - line.trimStart().length
const isContent = (line: string): boolean => line.trim() !== "" && !line.trimStart().startsWith("#")

/** Plain where YAML reads a plain text as this text. */
const scalar = (value: unknown): string =>
  typeof value === "string" && /^[a-z][\w./-]*$/i.test(value) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(value)
    ? value
    : JSON.stringify(value)

const memberLines = (indent: number, name: string, value: Setting["value"]): ReadonlyArray<string> => {
  const space = " ".repeat(indent)
  return Array.isArray(value)
    ? [`${space}${name}:`, ...value.map((each) => `${space}  - ${scalar(each)}`)]
    : [`${space}${name}: ${scalar(value)}`]
}

/** The index behind the last line of content that is deeper than `indent`, from `from` on. */
const endOf = (lines: ReadonlyArray<string>, from: number, isInside: (line: string) => boolean): number => {
  let end = from
  for (let at = from; at < lines.length; at++) {
    const line = lines[at] ?? ""
    if (!isContent(line)) continue
    if (!isInside(line)) break
    end = at + 1
  }
  return end
}

const edited = (text: string, { path, value }: Setting): ReadonlyArray<string> => {
  const [list = "", entry = "", member = ""] = path
  const lineBreak = lineBreakOf(text)
  const lines = text.split(/\r?\n/)
  const join = (all: ReadonlyArray<string>) => all.join(lineBreak)
  const head = lines.findIndex((line) => new RegExp(`^["']?${list}["']?\\s*:`).test(line))
  const entryLines = (indent: number) => [
    `${" ".repeat(indent)}- name: ${scalar(entry)}`,
    ...memberLines(indent + 2, member, value)
  ]
  if (head === -1) {
    const space = text === "" || text.endsWith("\n") ? "" : lineBreak
    return [`${text}${space}${join([`${list}:`, ...entryLines(2)])}${lineBreak}`]
  }
  const first = lines.findIndex((line, at) => at > head && isContent(line))
  const indent = first !== -1 && (lines[first] ?? "").trimStart().startsWith("-") ? indentOf(lines[first] ?? "") : 2
  const end = endOf(
    lines,
    head + 1,
    (line) => indentOf(line) > indent || (indentOf(line) === indent && /^\s*-/.test(line))
  )
  const own = lines.findIndex(
    (line, at) => at > head && at < end && indentOf(line) === indent && scalarOf(line, "- name") === entry
  )
  if (own === -1) {
    // A list that is written as `[]` becomes a block.
    const empty = lines.with(head, (lines[head] ?? "").replace(/\[\s*\]/, "").trimEnd())
    return [join(inserted(empty, end, entryLines(indent)))]
  }
  const ownEnd = endOf(lines, own + 1, (line) => indentOf(line) > indent)
  const old = lines.findIndex(
    (line, at) => at > own && at < ownEnd && new RegExp(`^\\s*["']?${member}["']?\\s*:`).test(line)
  )
  const sibling = lines.slice(own + 1, ownEnd).find(isContent)
  const memberIndent = sibling === undefined ? indent + 2 : indentOf(sibling)
  return old === -1
    ? [join(inserted(lines, ownEnd, memberLines(memberIndent, member, value)))]
    : [join(lines.with(old, lineWith(lines[old] ?? "", ":", scalar(value))))]
}

/** The text behind `name:` of a line. */
const scalarOf = (line: string, name: string): unknown => {
  const written = line.trimStart()
  if (!written.startsWith(`${name}:`)) return undefined
  return Result.getOrUndefined(Result.try(() => parse(written.slice(name.length + 1).trim())))
}

export const yamlText: SettingsFormat = {
  read,
  edited,
  blank: "name: Local\nversion: 1.0.0\nschema: v1\n",
  hasLists: true
}
