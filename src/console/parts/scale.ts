/** Where the axis of a chart ends: at a round number whose half is one too. */

const tops = [1, 1.5, 2, 3, 4, 5, 6, 8, 10]

/** Never below the greatest value; zero where there is nothing to show. Whole numbers have a whole half. */
export const topOf = (values: ReadonlyArray<number | null>): number => {
  const greatest = values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0)
  if (greatest === 0) return 0
  const size = 10 ** Math.floor(Math.log10(greatest))
  const isWhole = values.every((value) => value === null || Number.isInteger(value))
  const fits = (top: number) => top >= greatest && (!isWhole || top % 2 === 0)
  return tops.map((one) => one * size).find(fits) ?? 10 * size
}
