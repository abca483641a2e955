/** The figures as plain text: one row per server, and the ratio of two servers below. */

export type Row = Readonly<Record<string, number>>

/** Rows by server, in the order of measurement; figures by column name. */
export type Table = ReadonlyMap<string, Row>

const figure = (value: number): string => {
  if (Number.isNaN(value)) return "-"
  if (Number.isInteger(value) || Math.abs(value) >= 100) return Math.round(value).toLocaleString("en")
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2)
}

/** The figures of one row as multiples of another's. A zero has no ratio. */
export const ratios = (table: Table, of: string, to: string): Row => {
  const base = table.get(to) ?? {}
  return Object.fromEntries(
    Object.entries(table.get(of) ?? {}).map(([name, value]) => [name, value / (base[name] || Number.NaN)])
  )
}

/** The table with aligned columns. `related`: the rows that the last line compares. */
export const render = (title: string, table: Table, related?: readonly [of: string, to: string]): string => {
  const columns = Object.keys(table.values().next().value ?? {})
  const ratio: Row = related === undefined ? {} : ratios(table, ...related)
  const lines = [
    ["", ...columns],
    ...Array.from(table, ([name, row]) => [name, ...columns.map((column) => figure(row[column] ?? Number.NaN))]),
    ...(related !== undefined && Object.keys(ratio).length > 0
      ? [
          [
            `ratio to ${related[1]}`,
            ...columns.map((column) => `${figure(ratio[column] ?? Number.NaN)}x`.replace("-x", "-"))
          ]
        ]
      : [])
  ]
  const widths = lines[0]?.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0))) ?? []
  const row = (line: ReadonlyArray<string>) =>
    line
      .map((cell, index) => (index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0)))
      .join("  ")
  return [title, ...lines.map(row)].join("\n")
}
