/** Settings files in JSON, which may have comments and trailing commas. */
import { Result } from "effect"
import { parseJson } from "../../domain/json/Json.ts"
import { lineBreakOf, type Setting, type SettingsFormat } from "./SettingsText.ts"

interface Node {
  readonly start: number
  readonly end: number
  readonly value: unknown
  /** Of an object: its members in order. */
  readonly members?: ReadonlyArray<Member>
  readonly hasTrailingComma?: boolean
}

interface Member {
  readonly name: string
  readonly start: number
  readonly node: Node
}

const MAX_DEPTH = 100
const skipped = /(?:[\s\uFEFF]|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y
const stringForm = /"(?:[^"\\\n]|\\.)*"/y
const scalarForm = /[-+.\w]+/y

/** Reads one text. Null: it is not JSON at this place. */
class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  whole(): Node | null {
    const node = this.#node(0)
    this.#skip()
    return this.#at === this.#text.length ? node : null
  }

  line(): number {
    return this.#text.slice(0, this.#at).split("\n").length
  }

  #skip(): void {
    skipped.lastIndex = this.#at
    this.#at += skipped.exec(this.#text)?.[0].length ?? 0
  }

  #taken(character: string): boolean {
    this.#skip()
    if (this.#text[this.#at] !== character) return false
    this.#at++
    return true
  }

  #node(depth: number): Node | null {
    this.#skip()
    if (depth > MAX_DEPTH) return null
    if (this.#text[this.#at] === "{") return this.#object(depth)
    if (this.#text[this.#at] === "[") return this.#list(depth)
    return this.#scalar(this.#text[this.#at] === '"' ? stringForm : scalarForm)
  }

  #scalar(form: RegExp): Node | null {
    const start = this.#at
    form.lastIndex = start
    const written = form.exec(this.#text)?.[0]
    const value = written === undefined ? undefined : parseJson(written)
    if (written === undefined || value === undefined) return null
    this.#at += written.length
    return { start, end: this.#at, value }
  }

  #object(depth: number): Node | null {
    const start = this.#at++
    const members: Array<Member> = []
    for (let hasComma = true; !this.#taken("}");) {
      this.#skip()
      const name = hasComma && this.#text[this.#at] === '"' ? this.#scalar(stringForm) : null
      const node = name !== null && this.#taken(":") ? this.#node(depth + 1) : null
      if (name === null || node === null) return null
      members.push({ name: String(name.value), start: name.start, node })
      hasComma = this.#taken(",")
      if (hasComma && this.#taken("}")) return this.#objectOf(start, members, true)
    }
    return this.#objectOf(start, members, false)
  }

  #objectOf(start: number, members: ReadonlyArray<Member>, hasTrailingComma: boolean): Node {
    const value = Object.fromEntries(members.map(({ name, node }) => [name, node.value]))
    return { start, end: this.#at, value, members, hasTrailingComma }
  }

  #list(depth: number): Node | null {
    const start = this.#at++
    const value: Array<unknown> = []
    for (let hasComma = true; !this.#taken("]"); hasComma = this.#taken(",")) {
      const node = hasComma ? this.#node(depth + 1) : null
      if (node === null) return null
      value.push(node.value)
    }
    return { start, end: this.#at, value }
  }
}

const read = (text: string): Result.Result<unknown, string> => {
  const reader = new Reader(text)
  const node = reader.whole()
  if (node === null) return Result.fail(`it is not valid JSON near line ${reader.line()}`)
  return node.members === undefined ? Result.fail("it is not a JSON object") : Result.succeed(node.value)
}

/** The value of a path that has only these members yet. */
const nested = (path: ReadonlyArray<string>, value: unknown): unknown =>
  path.reduceRight((inner, name) => ({ [name]: inner }), value)

const edited = (text: string, { path, value }: Setting): ReadonlyArray<string> => {
  let object = new Reader(text).whole()
  for (const [depth, name] of path.entries()) {
    if (object?.members === undefined) return []
    const found = object.members.findLast((member) => member.name === name)?.node
    if (found === undefined) return [withMember(text, object, name, nested(path.slice(depth + 1), value))]
    object = found
  }
  if (object === null) return []
  return [
    `${text.slice(0, object.start)}${written(value, indentAt(text, object.start), text)}${text.slice(object.end)}`
  ]
}

const written = (value: unknown, indent: string, text: string): string =>
  JSON.stringify(value, null, 2).replaceAll("\n", `${lineBreakOf(text)}${indent}`)

/** The white space before the first character of the line of an offset. */
const indentAt = (text: string, offset: number): string =>
  /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset))?.[0] ?? ""

const withMember = (text: string, object: Node, name: string, value: unknown): string => {
  const last = object.members?.at(-1)
  const line = lineBreakOf(text)
  const outer = indentAt(text, object.start)
  const member = (indent: string) => `${line}${indent}${JSON.stringify(name)}: ${written(value, indent, text)}`
  if (last === undefined) {
    const inside = text.slice(object.start + 1, object.end - 1).trimEnd()
    return `${text.slice(0, object.start + 1)}${inside}${member(`${outer}  `)}${line}${outer}${text.slice(object.end - 1)}`
  }
  const [before, after] = [text.slice(0, last.node.end), text.slice(last.node.end)]
  if (!/\n[ \t]*$/.test(text.slice(0, last.start))) {
    return `${before}, ${JSON.stringify(name)}: ${written(value, outer, text)}${after}`
  }
  // The comment behind the last member stays with it.
  const behind = /^,?(?:[ \t]*\/\*(?:(?!\*\/)[^\n])*\*\/)*(?:[ \t]*\/\/[^\r\n]*)?/.exec(after)?.[0] ?? ""
  const hasComma = behind.startsWith(",")
  return `${before}${hasComma ? "" : ","}${behind}${member(indentAt(text, last.start))}${hasComma ? "," : ""}${after.slice(behind.length)}`
}

export const jsonText: SettingsFormat = { read, edited, blank: "{}\n", hasLists: false }
