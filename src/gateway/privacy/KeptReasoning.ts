/**
 * Reasoning that is not restored. A client that sends it back with a signature must send what the
 * model wrote: placeholders, which the next request's search leaves as they are.
 */

type Members = Readonly<Record<string, unknown>>

const names = ["reasoning", "reasoning_content", "reasoning_details"]

/** A message or delta, restored by `restore` except for its reasoning. */
export const exceptReasoning = <A extends Members, B extends Members>(members: A, restore: (rest: A) => B): B => {
  const kept = names.filter((name) => members[name] !== undefined)
  if (kept.length === 0) return restore(members)
  const rest = { ...members }
  for (const name of kept) Reflect.deleteProperty(rest, name)
  return { ...restore(rest), ...Object.fromEntries(kept.map((name) => [name, members[name]])) }
}
