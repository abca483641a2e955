/** The order of a table as a member of the address: `cost`, or `-cost` for the highest first. */
import { useQuery } from "./useQuery.ts"

export interface Sorting {
  readonly value: string
  readonly onValue: (value: string) => void
  /** Each order has one direction, that of its heading. */
  readonly isOneWay?: boolean
}

const names = ["sort"] as const

/** Other orders than `allowed` are ignored. `standard` is not written into the address. */
export const useSorting = (allowed: ReadonlyArray<string>, standard: string): Sorting => {
  const [{ sort }, set] = useQuery(names)
  return {
    value: allowed.includes(sort.replace(/^-/, "")) ? sort : standard,
    onValue: (value) => set({ sort: value === standard ? "" : value })
  }
}

export const isDescending = (value: string): boolean => value.startsWith("-")
export const sortedBy = (value: string): string => value.replace(/^-/, "")
export const reverse = (value: string): string => (isDescending(value) ? sortedBy(value) : `-${value}`)

type Sortable = string | number | null | undefined

/** Sorts rows that are all here. Unknown values come last in both directions. */
export const sortRows = <Row>(
  rows: ReadonlyArray<Row>,
  value: string,
  read: Readonly<Record<string, (row: Row) => Sortable>>
): ReadonlyArray<Row> => {
  const of = read[sortedBy(value)]
  if (of === undefined) return rows
  const sign = isDescending(value) ? -1 : 1
  return rows.toSorted((left, right) => {
    const [a, b] = [of(left) ?? null, of(right) ?? null]
    if (a === null || b === null) return Number(a === null) - Number(b === null)
    return sign * (typeof a === "string" ? a.localeCompare(String(b)) : a - Number(b))
  })
}
