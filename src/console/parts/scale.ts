/** Where the axis of a chart ends: at a round number whose half is one too. */

const tops = [1, 2, 4, 6, 8, 10]

/** Never below the greatest value; zero where there is nothing to show. Whole numbers have a whole half. */
export const topOf = (values: ReadonlyArray<number | null>): number => {
  const greatest = values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0)
  if (greatest === 0) return 0
  const size = 10 ** Math.floor(Math.log10(greatest))
  const top = (tops.find((one) => one * size >= greatest) ?? 10) * size
  return values.every((value) => value === null || Number.isInteger(value)) ? Math.max(2, top) : top
}
