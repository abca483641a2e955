/**
 * What a recogniser found in a text, and how findings that overlap become findings that do not: the longest wins, between equals the
 * more specific. A loser that reaches beyond the winner is joined to it, so that no part of a value stays in the open.
 */

/** `start` and `end` in UTF-16 units; `type` is an entity, or the name of an operator's own pattern. */
export interface Span {
  readonly start: number
  readonly end: number
  readonly type: string
}

/** From the most specific on; an operator's own patterns come before all of these. */
const specific = ["secret", "iban", "credit_card", "us_ssn", "email", "ip_address", "phone"]

const byRank = (a: Span, b: Span): number =>
  b.end - b.start - (a.end - a.start) || specific.indexOf(a.type) - specific.indexOf(b.type)

/** In the order of the text, none overlapping another. */
export const withoutOverlaps = (spans: ReadonlyArray<Span>): ReadonlyArray<Span> => {
  if (spans.length < 2) return spans
  const sorted = spans.toSorted((a, b) => a.start - b.start || byRank(a, b))
  const kept: Array<Span> = []
  let last: Span | undefined
  // The span whose type the joined one bears: the best of those that were joined.
  let best: Span | undefined
  for (const span of sorted) {
    if (last === undefined || best === undefined || span.start >= last.end) {
      if (last !== undefined) kept.push(last)
      last = best = span
      continue
    }
    if (byRank(span, best) < 0) best = span
    last = { start: last.start, end: Math.max(last.end, span.end), type: best.type }
  }
  if (last !== undefined) kept.push(last)
  return kept
}
