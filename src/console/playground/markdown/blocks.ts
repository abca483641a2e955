/**
 * The blocks of a Markdown text: headings, code, lists, quotes, tables, rules and paragraphs. It
 * takes linear time for any text, and a block keeps the blocks inside as text. A text that grows at
 * its end changes its last block only, so the others need not be parsed again. HTML is text.
 */

interface Sourced {
  /** The lines of the block. Equal sources are equal blocks. */
  readonly source: string
}

export type Block = Sourced &
  (
    | { readonly kind: "paragraph" | "quote" | "rest"; readonly text: string }
    | { readonly kind: "heading"; readonly level: number; readonly text: string }
    | { readonly kind: "code"; readonly language: string; readonly text: string }
    /** `start`: the first number. Null: bullets. */
    | { readonly kind: "list"; readonly start: number | null; readonly items: ReadonlyArray<string> }
    /** `rows`: lines, to be split with `cellsOf`. */
    | { readonly kind: "table"; readonly head: ReadonlyArray<string>; readonly rows: ReadonlyArray<string> }
    | { readonly kind: "rule" }
  )

/** Blocks of one text, and items of one list. What follows them is one block of plain text. */
export const MOST_PARTS = 1_000
const MOST_COLUMNS = 64

const blank = /^[ \t]*$/
const fence = /^ {0,3}(`{3,}|~{3,})[ \t]*([^`\n]*)$/
const heading = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/
const rule = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/
const quote = /^ {0,3}> ?/
const marker = /^( {0,3})([-*+]|\d{1,9}[.)])( {1,4}(?=\S)| *$|[ \t])/
const delimiters = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/

const isFence = (line: string): boolean => fence.test(line)
const interrupts = (line: string): boolean =>
  blank.test(line) || isFence(line) || heading.test(line) || rule.test(line) || quote.test(line) || marker.test(line)

const indentOf = (line: string): number => line.length - line.trimStart().length
const outdented = (line: string, columns: number): string => line.slice(Math.min(columns, indentOf(line)))

/** The cells of a table's line. A pipe after a backslash belongs to its cell. */
export const cellsOf = (line: string): ReadonlyArray<string> => {
  const cells = line
    .trim()
    .replace(/^\|/, "")
    .split(/(?<!\\)\|/)
  if (cells.length > 1 && cells.at(-1)?.trim() === "") cells.pop()
  return cells.slice(0, MOST_COLUMNS).map((cell) => cell.trim().replaceAll(String.raw`\|`, "|"))
}

type Found = readonly [block: Block, next: number]

/** `found` with the lines that it was made of. */
const sourced = <A extends object>(lines: ReadonlyArray<string>, start: number, next: number, found: A) =>
  [{ ...found, source: lines.slice(start, next).join("\n") }, next] as const

const codeAt = (lines: ReadonlyArray<string>, start: number): Found => {
  const [, ticks = "", language = ""] = fence.exec(lines[start] ?? "") ?? []
  const closing = new RegExp(`^ {0,3}${ticks[0] ?? "~"}{${ticks.length},}[ \\t]*$`)
  const indent = indentOf(lines[start] ?? "")
  let end = start + 1
  while (end < lines.length && !closing.test(lines[end] ?? "")) end++
  const text = lines
    .slice(start + 1, end)
    .map((line) => outdented(line, indent))
    .join("\n")
  return sourced(lines, start, Math.min(end + 1, lines.length), {
    kind: "code",
    language: language.trim().split(/\s/)[0] ?? "",
    text: end < lines.length ? text : text.replace(/\n$/, "")
  })
}

const quoteAt = (lines: ReadonlyArray<string>, start: number): Found => {
  let end = start + 1
  while (end < lines.length && (quote.test(lines[end] ?? "") || !interrupts(lines[end] ?? ""))) end++
  const text = lines
    .slice(start, end)
    .map((line) => line.replace(quote, ""))
    .join("\n")
  return sourced(lines, start, end, { kind: "quote", text })
}

/** The kind of a list: its bullet, or the sign after its numbers. */
const signOf = (mark: string): string => mark.at(-1) ?? ""

const listAt = (lines: ReadonlyArray<string>, start: number): Found => {
  const [, , first = ""] = marker.exec(lines[start] ?? "") ?? []
  const items: Array<string> = []
  let end = start
  while (end < lines.length && items.length < MOST_PARTS) {
    const found = marker.exec(lines[end] ?? "")
    if (found === null || signOf(found[2] ?? "") !== signOf(first) || rule.test(lines[end] ?? "")) break
    const [whole, lead = "", mark = "", gap = ""] = found
    const columns = lead.length + mark.length + (gap === "" ? 1 : gap.length)
    const item = [(lines[end] ?? "").slice(whole.length)]
    end++
    while (end < lines.length) {
      const line = lines[end] ?? ""
      if (blank.test(line)) {
        // A blank line belongs to the item if the next line does.
        const next = lines[end + 1]
        if (next === undefined || blank.test(next) || indentOf(next) < Math.min(2, columns)) break
        item.push("")
      } else if (
        indentOf(line) >= columns ||
        (indentOf(line) >= 2 && marker.test(line) && indentOf(line) > lead.length)
      ) {
        item.push(outdented(line, columns))
      } else if (item.at(-1) !== "" && !interrupts(line)) {
        item.push(line.trimStart())
      } else break
      end++
    }
    items.push(item.join("\n"))
    // Items may be one blank line apart.
    if (blank.test(lines[end] ?? "x") && marker.test(lines[end + 1] ?? "")) end++
  }
  const number = /^\d/.test(first) ? Number.parseInt(first, 10) : null
  return sourced(lines, start, Math.max(end, start + 1), { kind: "list", start: number, items })
}

const tableAt = (lines: ReadonlyArray<string>, start: number): Found | undefined => {
  const [line = "", under = ""] = [lines[start], lines[start + 1]]
  if (!line.includes("|") || !under.includes("-") || !delimiters.test(under)) return undefined
  const head = cellsOf(line)
  if (head.length !== cellsOf(under).length) return undefined
  let end = start + 2
  while (end < lines.length && end - start - 2 < MOST_PARTS && (lines[end] ?? "").includes("|")) end++
  return sourced(lines, start, end, { kind: "table", head, rows: lines.slice(start + 2, end) })
}

const paragraphAt = (lines: ReadonlyArray<string>, start: number): Found => {
  let end = start + 1
  while (end < lines.length && !interrupts(lines[end] ?? "")) end++
  const text = lines.slice(start, end).join("\n").trim()
  return sourced(lines, start, end, { kind: "paragraph", text })
}

const blockAt = (lines: ReadonlyArray<string>, start: number): Found => {
  const line = lines[start] ?? ""
  if (isFence(line)) return codeAt(lines, start)
  const [, hashes, title = ""] = heading.exec(line) ?? []
  if (hashes !== undefined) {
    const text = title.replace(/(?:^|[ \t])#+[ \t]*$/, "")
    return sourced(lines, start, start + 1, { kind: "heading", level: hashes.length, text })
  }
  if (rule.test(line)) return sourced(lines, start, start + 1, { kind: "rule" })
  if (quote.test(line)) return quoteAt(lines, start)
  if (marker.test(line)) return listAt(lines, start)
  return tableAt(lines, start) ?? paragraphAt(lines, start)
}

export const blocksOf = (text: string): ReadonlyArray<Block> => {
  const lines = text.split(/\r?\n/)
  const blocks: Array<Block> = []
  let at = 0
  while (at < lines.length) {
    if (blank.test(lines[at] ?? "")) {
      at++
    } else if (blocks.length === MOST_PARTS) {
      const rest = lines.slice(at).join("\n")
      blocks.push({ kind: "rest", text: rest, source: rest })
      break
    } else {
      const [block, next] = blockAt(lines, at)
      blocks.push(block)
      at = next
    }
  }
  return blocks
}
