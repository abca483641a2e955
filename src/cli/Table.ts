/** Aligned columns: each as wide as its widest cell. The last column is not padded. */
import { CliOutput } from "effect/cli"
import { oneLine } from "./Output.ts"

const padded = (cell: string, width: number): string =>
  cell + " ".repeat(Math.max(0, width - CliOutput.displayWidth(cell)))

const aligned = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths: Array<number> = []
  for (const row of rows) {
    row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, CliOutput.displayWidth(cell))))
  }
  return rows
    .map((row) =>
      row
        .map((cell, column) => padded(cell, widths[column] ?? 0))
        .join("  ")
        .trimEnd()
    )
    .join("\n")
}

/** Puts `head` above the rows. Returns `empty` without rows. */
export const table = (
  head: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string>>,
  empty: string
): string => (rows.length === 0 ? empty : aligned([head, ...rows.map((row) => row.map(oneLine))]))

/** A name and its value per line. Names without a value are left out. */
export const facts = (rows: ReadonlyArray<readonly [name: string, value: string | null]>): string =>
  aligned(rows.flatMap(([name, value]) => (value === null ? [] : [[name, oneLine(value)]])))
