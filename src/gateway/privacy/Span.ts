/**
 * Findings of recognisers, and the merging of overlapping ones: the longest wins, and of equally
 * long ones the more specific type. The parts of a losing finding beyond the winner are added to
 * it, so that no part of a value stays visible.
 */
import { type Steps } from "./TimeBudget.ts"

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

/** Characters whose findings are sorted in one step. */
const WINDOW = 16_384
/** Findings taken between two pauses. */
const STEPS = 1_024

/** In the order of the text, without overlaps. Yields where it may pause. */
export function* withoutOverlaps(spans: ReadonlyArray<Span>): Steps<ReadonlyArray<Span>> {
  if (spans.length < 2) return spans
  const windows = new Map<number, Array<Span>>()
  for (const [at, span] of spans.entries()) {
    const window = Math.floor(span.start / WINDOW)
    const found = windows.get(window)
    if (found === undefined) windows.set(window, [span])
    else found.push(span)
    if (at % STEPS === STEPS - 1) yield
  }
  const merged: Array<Span> = []
  let last: Span | undefined
  // The best of the merged spans, which determines the type.
  let best: Span | undefined
  for (const window of [...windows.keys()].sort((a, b) => a - b)) {
    for (const span of (windows.get(window) ?? []).sort((a, b) => a.start - b.start || byRank(a, b))) {
      if (last === undefined || best === undefined || span.start >= last.end) {
        if (last !== undefined) merged.push(last)
        last = best = span
        continue
      }
      if (byRank(span, best) < 0) best = span
      last = { start: last.start, end: Math.max(last.end, span.end), type: best.type }
    }
    yield
  }
  if (last !== undefined) merged.push(last)
  return merged
}
