/**
 * Lists in the settings file: their entries are decoded one by one, so that the faults of every entry are found at once, and an
 * entry that repeats the name of an earlier one is a fault.
 */
import { Result } from "effect"
import { type Faults, member, type Place, renderPath } from "./Faults.ts"

/** The places of a list's entries; none when it is no list. */
export const entriesOf = (list: Place): ReadonlyArray<Place> =>
  Array.isArray(list.value) ? list.value.map((_, index) => member(list, index)) : []

/** Entries of `list` that repeat an earlier entry's member `name`, looked up before decoding, so that none goes unseen. */
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
