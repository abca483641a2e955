/**
 * Findings of recognisers, and the merging of overlapping ones: the longest wins, and of equally
 * long ones the more specific type. The parts of a losing finding beyond the winner are added to
 * it, so that no part of a value stays visible.
 */

/**
 * `start` and `end` are in UTF-16 units. `type` is an entity, or the name of an operator's pattern.
 */
export interface Span {
  readonly start: number
  readonly end: number
  readonly type: string
}

/** Most specific first. An operator's patterns precede all of these. */
const specific = ["secret", "iban", "credit_card", "us_ssn", "email", "ip_address", "phone"]

const byRank = (a: Span, b: Span): number =>
  b.end - b.start - (a.end - a.start) || specific.indexOf(a.type) - specific.indexOf(b.type)

/** In the order of the text, without overlaps. */
export const withoutOverlaps = (spans: ReadonlyArray<Span>): ReadonlyArray<Span> => {
  if (spans.length < 2) return spans
  const sorted = spans.toSorted((a, b) => a.start - b.start || byRank(a, b))
  const merged: Array<Span> = []
  let last: Span | undefined
  // The best of the merged spans, which determines the type.
  let best: Span | undefined
  for (const span of sorted) {
    if (last === undefined || best === undefined || span.start >= last.end) {
      if (last !== undefined) merged.push(last)
      last = best = span
      continue
    }
    if (byRank(span, best) < 0) best = span
    last = { start: last.start, end: Math.max(last.end, span.end), type: best.type }
  }
  if (last !== undefined) merged.push(last)
  return merged
}
