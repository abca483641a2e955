/** Columns for people: as wide as their widest cell, the last one as long as it is. */
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

/** `head` above the rows; `empty` where there are none. */
export const table = (
  head: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string>>,
  empty: string
): string => (rows.length === 0 ? empty : aligned([head, ...rows.map((row) => row.map(oneLine))]))

/** A name and its value on each line; what has no value is left out. */
export const facts = (rows: ReadonlyArray<readonly [name: string, value: string | null]>): string =>
  aligned(rows.flatMap(([name, value]) => (value === null ? [] : [[name, oneLine(value)]])))
