/**
 * Markdown for a terminal, as it streams: headings, lists, quotes, code, tables and emphasis. Text
 * is shown as soon as its meaning is known; only tables wait for their end. Characters that a
 * terminal would obey are made visible before.
 */
import { CliOutput } from "effect/cli"
import type { Paint, Style } from "../Look.ts"

/** The pictures of the C0 characters begin here: `␛` for the escape. */
const PICTURES = 0x24_00
const DELETE = 0x7f

/** Control characters as pictures (`␛`) or escapes (`\x9b`). Tabs and line feeds stay. */
export const visible = (text: string): string =>
  text.replaceAll("\r", "").replaceAll(/[^\P{Cc}\t\n]/gu, (character) => {
    const code = character.charCodeAt(0)
    if (code === DELETE) return "␡"
    return code < 0x20 ? String.fromCharCode(PICTURES + code) : `\\x${code.toString(16)}`
  })

export interface Renderer {
  /** What can be shown of the text so far, and was not yet. */
  readonly push: (text: string) => string
  /** The rest. */
  readonly end: () => string
}

/** Shows the text as it is. */
export const plainText: Renderer = { push: (text) => text, end: () => "" }

/** Beginnings of lines whose kind needs more characters. */
const undecided = /^ *(?:#{1,6}|[-*+_]{1,2}|-{3,}|\*{3,}|`{1,3}[^`]*|\d{1,3}[.)]?|>|)$/
const fence = /^ *```/
const heading = /^ *(#{1,6}) +/
const bullet = /^( *)[-*+] +/
const quote = /^ *> ?/
const rule = /^ *(?:-{3,}|\*{3,}|_{3,}) *$/
/** The line below the heading of a table. */
const divider = /^ *\|?[ :|-]+$/

const RULE = 24

const cellsOf = (line: string): ReadonlyArray<string> =>
  line
    .trim()
    .replace(/^\|/, "")
    .replace(/\|$/, "")
    .split("|")
    .map((cell) => cell.trim().replaceAll(/\*\*|`/g, ""))

const tableOf = (lines: ReadonlyArray<string>, paint: Paint): string => {
  const rows = lines.filter((line, index) => !(index === 1 && divider.test(line))).map(cellsOf)
  const widths: Array<number> = []
  for (const row of rows) {
    row.forEach((cell, at) => (widths[at] = Math.max(widths[at] ?? 0, CliOutput.displayWidth(cell))))
  }
  const text = rows.map((row, index) =>
    row
      .map((cell, at) => {
        const padding = at === row.length - 1 ? "" : " ".repeat((widths[at] ?? 0) - CliOutput.displayWidth(cell))
        return (index === 0 ? paint("bold", cell) : cell) + padding
      })
      .join("  ")
  )
  text.splice(1, 0, paint("dim", widths.map((width) => "─".repeat(width)).join("  ")))
  return `${text.join("\n")}\n`
}

/** A renderer for one answer. */
export const markdown = (paint: Paint): Renderer => {
  /** The beginning of a line of unknown kind, a table's line, or a mark that may go on. */
  let held = ""
  let kind: "start" | "text" | "code" | "codeStart" | "table" = "start"
  let table: Array<string> = []
  /** Of the line. */
  let base: ReadonlyArray<Style> = []
  let isBold = false
  let isItalic = false
  let isCode = false

  const painted = (text: string): string => {
    const styles: Array<Style> = [
      ...base,
      ...(isBold ? (["bold"] as const) : []),
      ...(isItalic ? (["italic"] as const) : []),
      ...(isCode ? (["cyan"] as const) : [])
    ]
    return text === "" || styles.length === 0 ? text : paint(styles, text)
  }

  /** Emphasis within a line. A mark at the end waits for what follows it. */
  const inline = (text: string, isEnd: boolean): string => {
    const all = held + text
    held = ""
    let shown = ""
    let run = ""
    const flush = () => {
      shown += painted(run)
      run = ""
    }
    for (let at = 0; at < all.length; at++) {
      const character = all[at] ?? ""
      if (character === "`") {
        flush()
        isCode = !isCode
      } else if (character === "*" && !isCode) {
        const next = all[at + 1]
        if (next === undefined && !isEnd) {
          held = character
          break
        }
        if (next === "*") {
          flush()
          isBold = !isBold
          at += 1
        } else if (isItalic || (next !== undefined && !/\s/.test(next))) {
          flush()
          isItalic = !isItalic
        } else run += character
      } else run += character
    }
    flush()
    return shown
  }

  const endLine = (): string => {
    const rest = kind === "text" ? inline("", true) : ""
    base = []
    isBold = false
    isItalic = false
    isCode = false
    kind = "start"
    return rest
  }

  /** Begins a line whose kind is known. */
  const begin = (line: string): string => {
    held = ""
    if (heading.test(line)) {
      base = (heading.exec(line)?.[1] ?? "").length === 1 ? ["bold", "underline"] : ["bold"]
      kind = "text"
      return inline(line.replace(heading, ""), false)
    }
    kind = "text"
    const [mark = "", indent = ""] = bullet.exec(line) ?? []
    if (mark !== "") return `${indent}• ${inline(line.slice(mark.length), false)}`
    if (quote.test(line)) return `${paint("dim", "│")} ${inline(line.replace(quote, ""), false)}`
    return inline(line, false)
  }

  const endTable = (): string => {
    const lines = table
    table = []
    return lines.length === 0 ? "" : tableOf(lines, paint)
  }

  /** A piece of one line; `isWhole`: its line feed follows. */
  const piece = (text: string, isWhole: boolean): string => {
    if (kind === "text") return inline(text, false) + (isWhole ? `${endLine()}\n` : "")
    held += text
    if (kind === "code" || kind === "codeStart") {
      if (kind === "codeStart" && /^ *`{0,2}$/.test(held) && !isWhole) return ""
      if (kind === "codeStart" && fence.test(held)) {
        if (!isWhole) return ""
        held = ""
        kind = "start"
        return `${paint("dim", "```")}\n`
      }
      const shown = held === "" ? "" : paint("cyan", held)
      held = ""
      kind = isWhole ? "codeStart" : "code"
      return shown + (isWhole ? "\n" : "")
    }
    if (/^ *\|/.test(held)) {
      if (!isWhole) return ""
      table.push(held)
      held = ""
      return ""
    }
    if (!isWhole && undecided.test(held)) return ""
    const before = endTable()
    const line = held
    if (fence.test(line) && !isWhole) return before
    if (fence.test(line)) {
      held = ""
      kind = "codeStart"
      return `${before}${paint("dim", line.trim())}\n`
    }
    if (rule.test(line)) {
      if (!isWhole) return before
      held = ""
      return `${before}${paint("dim", "─".repeat(RULE))}\n`
    }
    return before + begin(line) + (isWhole ? `${endLine()}\n` : "")
  }

  const push = (text: string): string => {
    const lines = visible(text).split("\n")
    return lines.map((line, at) => piece(line, at < lines.length - 1)).join("")
  }

  return {
    push,
    end: () => {
      if (kind === "text") return endLine()
      if (held === "") return endTable()
      // As if the line had ended, without its line feed.
      return piece("", true).replace(/\n$/, "") + endTable()
    }
  }
}
