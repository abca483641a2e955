/**
 * Whether what was granted kept to a bucket: in any stretch of time no more than a whole bucket and
 * what flowed back meanwhile.
 */

/** Something that was granted between these two moments, nobody knows when. Milliseconds. */
export interface Grant {
  readonly sentMs: number
  readonly answeredMs: number
  readonly tokens: number
}

/**
 * The stretch in which the most was granted beyond `perMinute`, and how much that was; 0 or less:
 * the limit was kept to. Only what was certainly granted within a stretch counts.
 */
export const mostBeyond = (
  grants: ReadonlyArray<Grant>,
  perMinute: number,
  weight: (grant: Grant) => number
): number => {
  const byAnswer = grants.toSorted((a, b) => a.answeredMs - b.answeredMs)
  let most = -perMinute
  for (const { sentMs: fromMs } of grants) {
    let sum = 0
    for (const grant of byAnswer) {
      if (grant.sentMs < fromMs) continue
      sum += weight(grant)
      most = Math.max(most, sum - perMinute * (1 + (grant.answeredMs - fromMs) / 60_000))
    }
  }
  return most
}
