/**
 * Checks grants against a token bucket: in any period, at most a full bucket plus what was refilled
 * meanwhile.
 */

/** A grant at an unknown moment between these two, in milliseconds. */
export interface Grant {
  readonly sentMs: number
  readonly answeredMs: number
  readonly tokens: number
}

/**
 * The period with the most grants beyond `perMinute`, and their excess; 0 or less: the limit held.
 * Only grants that are certain to lie within a period count.
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
