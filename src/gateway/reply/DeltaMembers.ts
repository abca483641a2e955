/**
 * Members of deltas that have no meaning here (sources, thoughts with their signatures, calls of older kinds), joined over a stream in the way
 * of OpenAI's own libraries: text follows text, lists grow, and parts of a list that bear the same `index` are one part.
 */
import { Predicate } from "effect"

type Members = Readonly<Record<string, unknown>>

/** Each piece says them anew, and whole. */
const repeated = new Set(["id", "index", "type", "format"])

/** What both say of the member `name`. Neither is changed; what is answered may be handed in as `before` again, and is then used up. */
export const joinedMember = (name: string, before: unknown, next: unknown): unknown => {
  if (next === null || next === undefined) return before
  if (typeof before === "string" && typeof next === "string") return repeated.has(name) ? next : before + next
  if (Array.isArray(next)) return joinedList(Array.isArray(before) ? before : [], next)
  return Predicate.isObject(next) ? joinedMembers(Predicate.isObject(before) ? before : {}, next) : next
}

const joinedMembers = (before: Record<string, unknown>, next: Members): Record<string, unknown> => {
  for (const [name, value] of Object.entries(next)) {
    // A provider's word is no reason to touch what all objects inherit.
    if (name === "__proto__") continue
    before[name] = joinedMember(name, Object.hasOwn(before, name) ? before[name] : undefined, value)
  }
  return before
}

const joinedList = (before: Array<unknown>, next: ReadonlyArray<unknown>): Array<unknown> => {
  for (const part of next) {
    const index = Predicate.isObject(part) ? part["index"] : undefined
    const known =
      typeof index === "number" ? before.find((other) => Predicate.isObject(other) && other["index"] === index) : null
    if (Predicate.isObject(known) && Predicate.isObject(part)) joinedMembers(known, part)
    else before.push(joinedMember("", undefined, part))
  }
  return before
}
