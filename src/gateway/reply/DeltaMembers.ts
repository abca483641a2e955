/**
 * Joins members of deltas that the gateway does not interpret (sources, reasoning with signatures,
 * older kinds of calls) as OpenAI's libraries do: text is appended, lists grow, and list items with
 * the same `index` are one item.
 */
import { Predicate } from "effect"

type Members = Readonly<Record<string, unknown>>

/** Every delta repeats these members in full. */
const repeated = new Set(["id", "index", "type", "format", "provider"])

/**
 * The joined value of the member `name`. It changes neither argument, except that a value it
 * returned before may be passed as `before` and is then reused.
 */
export const joinedMember = (name: string, before: unknown, next: unknown): unknown => {
  if (next === null || next === undefined) return before
  if (typeof before === "string" && typeof next === "string") return repeated.has(name) ? next : before + next
  if (Array.isArray(next)) return joinedList(Array.isArray(before) ? before : [], next)
  return Predicate.isObject(next) ? joinedMembers(Predicate.isObject(before) ? before : {}, next) : next
}

const joinedMembers = (before: Record<string, unknown>, next: Members): Record<string, unknown> => {
  for (const [name, value] of Object.entries(next)) {
    // A provider must not be able to change the prototype of objects.
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
