/** Settings files in TOML, edited line by line. */
import { Predicate, Result } from "effect"
import { parse } from "effect/encoding/Toml"
import { inserted, lineBreakOf, lineWith, type Setting, type SettingsFormat } from "./SettingsText.ts"

const read = (text: string): Result.Result<unknown, string> =>
  Result.mapError(parse(text), ({ message }) => `it is not valid TOML: ${message.split("\n")[0]}`)

/** The names of a table's header line, or null. */
const tableOf = (line: string): ReadonlyArray<string> | null => {
  if (!/^\s*\[[^[]/.test(line)) return null
  const names: Array<string> = []
  let at: unknown = Result.getOrNull(parse(line))
  while (Predicate.isObject(at)) {
    const [entry] = Object.entries(at)
    if (entry === undefined) break
    names.push(entry[0])
    at = entry[1]
  }
  return names
}

const startsTable = (line: string): boolean => /^\s*\[/.test(line)
const assigns = (line: string, key: string): boolean =>
  line
    .split("=")[0]
    ?.trim()
    .replaceAll(/^["']|["']$/g, "") === key

const edited = (text: string, { path, value }: Setting): ReadonlyArray<string> => {
  const key = path.at(-1) ?? ""
  const table = path.slice(0, -1)
  const end = lineBreakOf(text)
  const lines = text.split(/\r?\n/)
  const header = table.length === 0 ? -1 : lines.findIndex((line) => tableOf(line)?.join("\0") === table.join("\0"))
  const assignment = `${key} = ${JSON.stringify(value)}`
  if (header === -1 && table.length > 0) {
    const space = text === "" ? "" : text.endsWith("\n") ? end : `${end}${end}`
    return [`${text}${space}[${table.map(bare).join(".")}]${end}${assignment}${end}`]
  }
  const next = lines.findIndex((line, at) => at > header && startsTable(line))
  const last = next === -1 ? lines.length : next
  const within = lines.slice(header + 1, last)
  const old = within.findIndex((line) => assigns(line, key))
  if (old !== -1) {
    const at = header + 1 + old
    return [lines.with(at, lineWith(lines[at] ?? "", "=", JSON.stringify(value))).join(end)]
  }
  const uncommented = lines.findIndex((line) => !line.startsWith("#"))
  const head = uncommented === -1 ? lines.length : uncommented
  // A value of several lines may follow the last key, so the start is tried too.
  const lastKey = header + 1 + within.findLastIndex((line) => /^\s*[\w"'.-]+\s*=/.test(line)) + 1
  const first = table.length === 0 ? head : header + 1
  return [lastKey, first].map((at) => inserted(lines, at > header + 1 ? at : first, [assignment]).join(end))
}

const bare = (name: string): string => (/^[\w-]+$/.test(name) ? name : JSON.stringify(name))

export const tomlText: SettingsFormat = { read, edited, blank: "", hasLists: false }
