/** What a chart tells: lines over the same times, how their values are written, and how the times are. */

export interface Line {
  readonly label: string
  /** The name of a colour of the stylesheet. */
  readonly color: string
  /** As many as there are times; `null` where nothing is known. */
  readonly values: ReadonlyArray<number | null>
}

export interface Course {
  /** Seconds since 1970, ascending; of bars, when their steps begin, which are equally long. */
  readonly times: ReadonlyArray<number>
  readonly lines: ReadonlyArray<Line>
  readonly format: (value: number) => string
  /** Bars stand on each other; lines do not. */
  readonly kind: "bars" | "lines"
}

/** With days where a step is one, with seconds where minutes tell too little. */
export const clockOf = (times: ReadonlyArray<number>): ((time: number) => string) => {
  const whole = (times.at(-1) ?? 0) - (times[0] ?? 0)
  const options: Intl.DateTimeFormatOptions =
    (times[1] ?? 0) - (times[0] ?? 0) >= 86_000
      ? { month: "short", day: "numeric" }
      : { hour: "2-digit", minute: "2-digit", hourCycle: "h23", ...(whole < 600 ? { second: "2-digit" } : {}) }
  const format = new Intl.DateTimeFormat("en", options)
  return (time) => format.format(new Date(time * 1_000))
}
