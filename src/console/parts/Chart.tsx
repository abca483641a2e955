/**
 * A small chart over time, drawn as the stylesheet colours it. Its head always tells the figures in words: those under the pointer, or the last
 * ones; so nothing is said by the drawing alone. It has its height before there is anything to draw.
 */
import { useState } from "preact/hooks"
import { topOf } from "./scale.ts"

export interface Line {
  readonly label: string
  /** The name of a colour of the stylesheet. */
  readonly color: string
  readonly values: ReadonlyArray<number | null>
}

interface ChartProps {
  readonly title: string
  /** Seconds since 1970, ascending; of bars, when their steps begin, which are equally long. */
  readonly times: ReadonlyArray<number>
  readonly lines: ReadonlyArray<Line>
  readonly format: (value: number) => string
  /** Bars stand on each other; lines do not. */
  readonly kind: "bars" | "lines"
}

/** The drawing's own units; it is stretched to the room that there is. */
const WIDTH = 1_000
const HEIGHT = 100
/** How much of its step a bar takes. */
const BAR = 0.7

/** With days where a step is one, with seconds where minutes tell too little. */
const clockFor = (times: ReadonlyArray<number>): ((time: number) => string) => {
  const whole = (times.at(-1) ?? 0) - (times[0] ?? 0)
  const options: Intl.DateTimeFormatOptions =
    (times[1] ?? 0) - (times[0] ?? 0) >= 86_000
      ? { month: "short", day: "numeric" }
      : { hour: "2-digit", minute: "2-digit", hourCycle: "h23", ...(whole < 600 ? { second: "2-digit" } : {}) }
  const format = new Intl.DateTimeFormat("en", options)
  return (time) => format.format(new Date(time * 1_000))
}

/** Each line on top of those before it. */
const stacked = (lines: ReadonlyArray<Line>): ReadonlyArray<ReadonlyArray<number>> => {
  const sums: Array<number> = []
  return lines.map(({ values }) => values.map((value, index) => (sums[index] = (sums[index] ?? 0) + (value ?? 0))))
}

const whole = (value: number): string => String(Math.round(value * 10) / 10)

interface Scale {
  readonly x: (time: number) => number
  readonly y: (value: number) => number
  /** Of a bar. */
  readonly width: number
}

const scaleOf = (times: ReadonlyArray<number>, top: number, kind: ChartProps["kind"]): Scale => {
  const begin = times[0] ?? 0
  const last = times.at(-1) ?? 0
  const step = kind === "bars" ? (times[1] ?? begin + 1) - begin : 0
  const span = Math.max(1, last + step - begin)
  return {
    x: (time) => (times.length === 1 && kind === "lines" ? WIDTH : ((time - begin) / span) * WIDTH),
    y: (value) => (top === 0 ? HEIGHT : HEIGHT - (value / top) * HEIGHT),
    width: (step / span) * WIDTH * BAR
  }
}

const barsPath = (
  times: ReadonlyArray<number>,
  tops: ReadonlyArray<number>,
  floors: ReadonlyArray<number> | undefined,
  { width, x, y }: Scale
): string =>
  times
    .map((time, index) => {
      const [high, low] = [tops[index] ?? 0, floors?.[index] ?? 0]
      if (high <= low) return ""
      return `M${whole(x(time) + (width / BAR - width) / 2)} ${whole(y(low))}V${whole(y(high))}h${whole(width)}V${whole(y(low))}z`
    })
    .join("")

type Values = Line["values"]

const at = (times: ReadonlyArray<number>, values: Values, { x, y }: Scale, index: number): string =>
  `${whole(x(times[index] ?? 0))} ${whole(y(values[index] ?? 0))}`

/** A gap where nothing is known. */
const linePath = (times: ReadonlyArray<number>, values: Values, scale: Scale): string =>
  values
    .map((value, index) => {
      if (value === null) return ""
      return `${typeof values[index - 1] === "number" ? "L" : "M"}${at(times, values, scale, index)}`
    })
    .join("")

/** A value between two gaps is no line, but a dot. */
const dotsPath = (times: ReadonlyArray<number>, values: Values, scale: Scale): string =>
  values
    .map((value, index) => {
      const isAlone = typeof values[index - 1] !== "number" && typeof values[index + 1] !== "number"
      return value === null || !isAlone ? "" : `M${at(times, values, scale, index)}h0`
    })
    .join("")

export const Chart = ({ format, kind, lines, times, title }: ChartProps) => {
  const [pointed, setPointed] = useState<number | null>(null)
  const tops = kind === "bars" ? stacked(lines) : []
  const top = topOf(kind === "bars" ? (tops.at(-1) ?? []) : lines.flatMap(({ values }) => values))
  const scale = scaleOf(times, top, kind)
  const clock = clockFor(times)
  const index = pointed !== null && pointed < times.length ? pointed : times.length - 1
  const time = times[index]
  const middleOf = (one: number) => scale.x(one) + scale.width / BAR / 2
  const point = (event: PointerEvent & { readonly currentTarget: SVGSVGElement }) => {
    const { left, width } = event.currentTarget.getBoundingClientRect()
    const here = ((event.clientX - left) / width) * WIDTH
    const distances = times.map((one) => Math.abs(middleOf(one) - here))
    setPointed(times.length === 0 ? null : distances.indexOf(Math.min(...distances)))
  }
  const ends = times.length < 2 ? times : [times[0] ?? 0, times[times.length >> 1] ?? 0, times.at(-1) ?? 0]
  return (
    <figure class="chart">
      <figcaption>
        <h3>{title}</h3>
        <span class="quiet">{time === undefined ? "" : clock(time)}</span>
      </figcaption>
      <ul class="legend">
        {lines.map(({ color, label, values }) => (
          <li key={label}>
            <i class={`swatch ${color}`} />
            {label} <b>{typeof values[index] === "number" ? format(values[index]) : "–"}</b>
          </li>
        ))}
        {lines.length === 0 ? <li>none</li> : null}
      </ul>
      <div class="plot" aria-hidden="true">
        <div class="ticks">
          <span>{top === 0 ? "" : format(top)}</span>
          <span>{top === 0 ? "" : format(top / 2)}</span>
          <span>0</span>
        </div>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          focusable="false"
          onPointerMove={point}
          onPointerLeave={() => setPointed(null)}
        >
          <path class="grid" d={`M0 0H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT}H${WIDTH}`} />
          {lines.map(({ color, label, values }, place) =>
            kind === "bars" ? (
              <path
                key={label}
                class={`bars ${color}`}
                d={barsPath(times, tops[place] ?? [], tops[place - 1], scale)}
              />
            ) : (
              <g key={label}>
                <path class={`line ${color}`} d={linePath(times, values, scale)} />
                <path class={`line dots ${color}`} d={dotsPath(times, values, scale)} />
              </g>
            )
          )}
          {pointed === null || time === undefined ? null : (
            <path class="at" d={`M${whole(middleOf(time))} 0V${HEIGHT}`} />
          )}
        </svg>
        <div class="clock">
          {ends.map((one) => (
            <span key={one}>{clock(one)}</span>
          ))}
        </div>
      </div>
    </figure>
  )
}
