/**
 * Adds to a list what may be long. `push(...added)` takes each element as an argument, and some
 * 120,000 arguments overflow the stack: a client's message may have more parts.
 */
export const addAll = <A>(target: Array<A>, added: Iterable<A>): void => {
  for (const one of added) target.push(one)
}
