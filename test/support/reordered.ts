import { type Schema } from "effect"

/**
 * The same value with the members of every object in reverse order, and one more member that is
 * undefined.
 */
export const reordered = (value: Schema.Json): Schema.Json => {
  if (Array.isArray(value)) return value.map(reordered)
  if (typeof value !== "object" || value === null) return value
  const members = Object.entries(value).map(([name, member]) => [name, reordered(member)] as const)
  return Object.fromEntries([["absent", null], ...members.toReversed()])
}
