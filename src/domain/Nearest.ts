/**
 * "Did you mean …?": finds the known name nearest to a misspelt one, by edits (insert, delete,
 * replace, swap of neighbours). Returns null if even the nearest is too different to be a typing
 * mistake.
 */

/** Longer names are not compared: the cost is the product of the lengths. */
const LONGEST = 100

/** The nearest of `known` to `name`, or `null`. */
export const nearest = (name: string, known: ReadonlyArray<string>): string | null => {
  if (name.length > LONGEST) return null
  const limit = Math.max(1, Math.floor(name.length / 3))
  const ranked = known
    .filter((candidate) => Math.abs(candidate.length - name.length) <= limit)
    .map((candidate) => ({ candidate, edits: editsBetween(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ edits }) => edits <= limit)
    .sort((a, b) => a.edits - b.edits)
  return ranked[0]?.candidate ?? null
}

const editsBetween = (a: string, b: string): number => {
  let beforeLast: ReadonlyArray<number> = []
  let last: ReadonlyArray<number> = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(beforeLast, j - 2) + 1 : replaced
      row.push(Math.min(replaced, swapped, at(last, j) + 1, at(row, j - 1) + 1))
    }
    beforeLast = last
    last = row
  }
  return at(last, b.length)
}

const at = (row: ReadonlyArray<number>, index: number): number => row[index] ?? Number.POSITIVE_INFINITY

/** The known name that was meant, perhaps with a variant of another gateway (`:free`). */
export const meantBy = (model: string, known: ReadonlyArray<string>): string | null => {
  const plain = model.replace(/:[^:/]*$/, "")
  return known.includes(plain) ? plain : (nearest(model, known) ?? nearest(plain, known))
}
