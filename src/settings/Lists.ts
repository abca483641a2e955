/**
 * Lists in the settings file. Entries are decoded one by one, so that the faults of all are
 * reported together. An entry that repeats an earlier entry's name is a fault.
 */
import { Result } from "effect"
import { type Faults, member, type Place, renderPath } from "./Faults.ts"

/** The places of a list's entries. Empty if the value is not a list. */
export const entriesOf = (list: Place): ReadonlyArray<Place> =>
  Array.isArray(list.value) ? list.value.map((_, index) => member(list, index)) : []

/**
 * Entries of `list` that repeat an earlier entry's member `name`. Works on undecoded values, so
 * that faulty entries count too.
 */
export const duplicates = (list: Place, name: string, expected: string): Faults => {
  const names = entriesOf(list).map((entry) => member(entry, name))
  return names.flatMap(({ value, path }, index) => {
    const first = names.findIndex((other) => other.value === value)
    const problem = `repeats ${renderPath(names[first]?.path ?? [])}`
    return typeof value === "string" && first < index ? [{ setting: renderPath(path), problem, expected }] : []
  })
}

/** All values, or the faults of all. */
export const collect = <A>(
  results: ReadonlyArray<Result.Result<A, Faults>>,
  more: Faults
): Result.Result<ReadonlyArray<A>, Faults> => {
  const faults = [...results.flatMap((result) => (Result.isFailure(result) ? result.failure : [])), ...more]
  return faults.length === 0 ? Result.all(results) : Result.fail(faults)
}
