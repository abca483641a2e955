/** A straight line through points, with the standard error of its slope. */

export interface Slope {
  /** Increase of y per unit of x. */
  readonly slope: number
  /** Standard error of the slope, from the residuals; NaN for fewer than three points. */
  readonly error: number
}

/** Least squares. */
export const slopeOf = (points: ReadonlyArray<readonly [x: number, y: number]>): Slope => {
  const mean = (of: (point: readonly [number, number]) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length
  const [x, y] = [mean(([x]) => x), mean(([, y]) => y)]
  const spread = points.reduce((sum, [px]) => sum + (px - x) ** 2, 0)
  const slope = points.reduce((sum, [px, py]) => sum + (px - x) * (py - y), 0) / spread
  const off = points.reduce((sum, [px, py]) => sum + (py - y - slope * (px - x)) ** 2, 0)
  return { slope, error: points.length < 3 ? Number.NaN : Math.sqrt(off / (points.length - 2) / spread) }
}
