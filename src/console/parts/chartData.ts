/** The data of a chart: lines over common times, and the formats of values and times. */

export interface Line {
  readonly label: string
  /** A page about what the line counts. */
  readonly to?: string
  /** A colour name of the stylesheet. */
  readonly color: string
  /** One per time; `null` if unknown. */
  readonly values: ReadonlyArray<number | null>
}

export interface ChartData {
  /**
   * Seconds since 1970, ascending. For bars: the starts of their steps, which have equal length.
   */
  readonly times: ReadonlyArray<number>
  readonly lines: ReadonlyArray<Line>
  readonly format: (value: number) => string
  /** Bars are stacked, lines are not. */
  readonly kind: "bars" | "lines"
}

/** Shows days if a step is a day, and seconds if minutes are too coarse. */
export const clockOf = (times: ReadonlyArray<number>): ((time: number) => string) => {
  const whole = (times.at(-1) ?? 0) - (times[0] ?? 0)
  const options: Intl.DateTimeFormatOptions =
    (times[1] ?? 0) - (times[0] ?? 0) >= 86_000
      ? { month: "short", day: "numeric" }
      : { hour: "2-digit", minute: "2-digit", hourCycle: "h23", ...(whole < 600 ? { second: "2-digit" } : {}) }
  const format = new Intl.DateTimeFormat("en", options)
  return (time) => format.format(new Date(time * 1_000))
}
