/**
 * Aligned columns: each as wide as its widest cell. The last column is not padded. On a terminal
 * the widest columns are cut until a row fits its width; elsewhere nothing is cut.
 */
import { CliOutput } from "effect/cli"
import type { LookShape, Style } from "./Look.ts"
import { oneLine } from "./Output.ts"

/** A text of a cell, with its colour on a terminal. */
export type Cell = string | { readonly text: string; readonly style: Style }

/** A text that depends on where it is shown. */
export type Page = (look: LookShape) => string

type Row = ReadonlyArray<{ readonly text: string; readonly style: Style | null }>

const GAP = "  "
/** No column is cut below this width. */
const NARROWEST = 8
const NARROWEST_ID = 17

const cellOf = (cell: Cell): Row[number] =>
  typeof cell === "string" ? { text: oneLine(cell), style: null } : { ...cell, text: oneLine(cell.text) }

/** Of an id the end tells more than the beginning, which is the time. */
const id = /^[a-z]{3,8}_[0-9a-f]{16,}$/

const cut = (text: string, width: number): string => {
  if (CliOutput.displayWidth(text) <= width) return text
  if (id.test(text)) {
    const tail = Math.floor((width - 1) / 2)
    return `${text.slice(0, width - 1 - tail)}…${text.slice(text.length - tail)}`
  }
  let short = ""
  for (const character of text) {
    if (CliOutput.displayWidth(short + character) > width - 1) break
    short += character
  }
  return `${short}…`
}

/** Cuts the widest of some columns until the row fits or none is wider than `narrowest`. */
const cutColumns = (fit: Array<number>, over: number, columns: ReadonlyArray<number>, narrowest: number): number => {
  let left = over
  while (left > 0) {
    const widest = columns.reduce((a, b) => ((fit[b] ?? 0) > (fit[a] ?? 0) ? b : a), columns[0] ?? 0)
    if (columns.length === 0 || (fit[widest] ?? 0) <= narrowest) break
    fit[widest] = (fit[widest] ?? 0) - 1
    left -= 1
  }
  return left
}

/** Ids are cut first: a command takes a cut id. */
const fitted = (widths: ReadonlyArray<number>, ids: ReadonlySet<number>, width: number | null) => {
  const fit = [...widths]
  if (width === null) return fit
  const over = fit.reduce((sum, each) => sum + each, (fit.length - 1) * GAP.length) - width
  const columns = [...fit.keys()]
  const left = cutColumns(
    fit,
    over,
    columns.filter((column) => ids.has(column)),
    NARROWEST_ID
  )
  cutColumns(
    fit,
    left,
    columns.filter((column) => !ids.has(column)),
    NARROWEST
  )
  return fit
}

const aligned = (rows: ReadonlyArray<Row>, { paint, width }: LookShape): string => {
  const widths: Array<number> = []
  const ids = new Set<number>()
  for (const row of rows) {
    row.forEach(({ text }, at) => {
      widths[at] = Math.max(widths[at] ?? 0, CliOutput.displayWidth(text))
      if (id.test(text)) ids.add(at)
    })
  }
  const fit = fitted(widths, ids, width)
  return rows
    .map((row) => {
      const last = row.findLastIndex(({ text }) => text !== "")
      return row
        .slice(0, last + 1)
        .map(({ style, text }, at) => {
          const shown = cut(text, fit[at] ?? 0)
          const padding = at === last ? "" : " ".repeat(Math.max(0, (fit[at] ?? 0) - CliOutput.displayWidth(shown)))
          return (style === null ? shown : paint(style, shown)) + padding
        })
        .join(GAP)
    })
    .join("\n")
}

/** Puts `head` above the rows. Shows `empty` without rows. */
export const table =
  (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<Cell>>, empty: string): Page =>
  (look) =>
    rows.length === 0
      ? empty
      : aligned([head.map((text) => ({ text, style: "bold" })), ...rows.map((row) => row.map(cellOf))], look)

/** A name and its value per line. Names without a value are left out. */
export const facts =
  (rows: ReadonlyArray<readonly [name: string, value: Cell | null]>): Page =>
  (look) =>
    aligned(
      rows.flatMap(([name, value]) => (value === null ? [] : [[{ text: name, style: "dim" as const }, cellOf(value)]])),
      // A value is never cut: the terminal wraps it.
      { ...look, width: null }
    )

/** Parts below one another. */
export const page =
  (...parts: ReadonlyArray<string | Page>): Page =>
  (look) =>
    parts.map((part) => (typeof part === "string" ? part : part(look))).join("\n")

/** Rows without a heading, not aligned with one another. Away from a terminal tabs divide cells. */
export const lines =
  (rows: ReadonlyArray<ReadonlyArray<Cell>>): Page =>
  (look) =>
    rows
      .map((row) =>
        row
          .map(cellOf)
          .map(({ style, text }) => (style === null ? text : look.paint(style, text)))
          .join(look.width === null ? "\t" : GAP)
      )
      .join("\n")
