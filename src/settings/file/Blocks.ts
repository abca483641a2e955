/** Blocks of a YAML text, by lines. They are guesses: the caller reads its edits back. */

export interface Block {
  /** The index of the line that names it. */
  readonly head: number
  /** The index behind its last line of content. */
  readonly end: number
  /** The indentation of what is in it. */
  readonly indent: number
}

export const linesOf = (text: string): ReadonlyArray<string> => text.split(/\r?\n/)

const indentOf = (line: string): number => line.length - line.trimStart().length
const isContent = (line: string): boolean => line.trim() !== "" && !line.trimStart().startsWith("#")

/** The block of the member `name`, at the top or in `parent`. */
export const blockOf = (lines: ReadonlyArray<string>, name: string, parent?: Block): Block | null => {
  const indent = parent?.indent ?? 0
  const form = new RegExp(`^ {${indent}}(["']?)${name.replaceAll(".", "\\.")}\\1\\s*:(?:\\s|$)`)
  const [from, to] = parent === undefined ? [0, lines.length] : [parent.head + 1, parent.end]
  const head = lines.findIndex((line, at) => at >= from && at < to && form.test(line))
  if (head === -1) return null
  let end = head + 1
  let inner: number | null = null
  for (let at = head + 1; at < lines.length; at++) {
    const text = lines[at] ?? ""
    if (!isContent(text)) continue
    const own = indentOf(text)
    // A list may stand at the indentation of its name.
    if (own < indent || (own === indent && !/^\s*-(?:\s|$)/.test(text))) break
    inner ??= own
    end = at + 1
  }
  return { head, end, indent: inner ?? indent + 2 }
}
