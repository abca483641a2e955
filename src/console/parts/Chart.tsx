/**
 * A small chart over time. Its head always tells the figures in words: those under the cursor, or the last ones; so nothing is said
 * by the drawing alone. Its height is fixed before anything is drawn.
 */
import { useEffect, useRef, useState } from "preact/hooks"
import uPlot from "uplot"
import { colorOf, palette } from "../theme.ts"
import { useStore } from "../store.ts"

export interface Line {
  readonly label: string
  /** The name of a colour of the stylesheet. */
  readonly color: string
  readonly values: ReadonlyArray<number | null>
}

interface ChartProps {
  readonly title: string
  /** Seconds since 1970. */
  readonly times: ReadonlyArray<number>
  readonly lines: ReadonlyArray<Line>
  readonly format: (value: number) => string
  /** Bars stand on each other; lines do not. */
  readonly kind: "bars" | "lines"
}

const HEIGHT = 132
const two = (value: number): string => String(value).padStart(2, "0")
/** With seconds where minutes tell too little. */
const clockFor =
  (times: ReadonlyArray<number>) =>
  (time: number): string => {
    const date = new Date(time * 1_000)
    const short = `${two(date.getHours())}:${two(date.getMinutes())}`
    return (times.at(-1) ?? 0) - (times[0] ?? 0) < 600 ? `${short}:${two(date.getSeconds())}` : short
  }

/** Each line on top of those before it. */
const stacked = (lines: ReadonlyArray<Line>): ReadonlyArray<ReadonlyArray<number | null>> => {
  const sums: Array<number> = []
  return lines.map(({ values }) => values.map((value, index) => (sums[index] = (sums[index] ?? 0) + (value ?? 0))))
}

const draw = (
  home: HTMLElement,
  { format, kind, lines, times }: ChartProps,
  onCursor: (index: number | null) => void
): uPlot => {
  const ink = colorOf("muted")
  const grid = { stroke: colorOf("line"), width: 1 }
  const font = `11px ${getComputedStyle(document.body).fontFamily}`
  // The highest bar is drawn first, the lower ones over it.
  const shown = kind === "bars" ? lines.toReversed() : lines
  const values = kind === "bars" ? stacked(lines).toReversed() : lines.map((line) => line.values)
  const bars = uPlot.paths.bars?.({ size: [0.7, 18], align: 1 })
  const clock = clockFor(times)
  // To the end of the last step, so that its bar has room.
  const end = (times.at(-1) ?? 0) + (kind === "bars" ? (times[1] ?? 0) - (times[0] ?? 0) : 0)
  const begin = times.length > 1 ? (times[0] ?? 0) : end - 60
  const axis = { stroke: ink, font, grid, ticks: { show: false }, gap: 4 }
  return new uPlot(
    {
      width: home.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      padding: [8, 16, 0, 0],
      cursor: { y: false, points: { show: kind === "lines", size: 6 }, drag: { x: false, y: false } },
      scales: {
        x: { range: () => [begin, end] },
        y: { range: (_chart, _low, high) => [0, high > 0 ? high * 1.1 : 1] }
      },
      series: [
        {},
        ...shown.map(({ color, label }) => {
          const stroke = colorOf(color)
          return kind === "bars"
            ? { label, fill: stroke, width: 0, points: { show: false }, ...(bars === undefined ? {} : { paths: bars }) }
            : { label, stroke, width: 1.5, spanGaps: false, points: { size: 3, fill: stroke } }
        })
      ],
      axes: [
        { ...axis, size: 22, space: 70, grid: { show: false }, values: (_chart, splits) => splits.map(clock) },
        {
          ...axis,
          size: (chart, labels) =>
            Math.max(28, ...(labels ?? []).map((label) => chart.ctx.measureText(label).width / devicePixelRatio + 14)),
          space: 34,
          values: (_chart, splits) => splits.map((split) => format(split).replace(/\s(ms|s)$/, "$1"))
        }
      ],
      hooks: { setCursor: [(chart) => onCursor(chart.cursor.idx ?? null)] }
    },
    [[...times], ...values.map((line) => [...line])] as uPlot.AlignedData,
    home
  )
}

export const Chart = (props: ChartProps) => {
  const { format, lines, times, title } = props
  const home = useRef<HTMLDivElement>(null)
  const [pointed, setPointed] = useState<number | null>(null)
  const colors = useStore(palette)

  useEffect(() => {
    const element = home.current
    if (element === null) return
    const chart = draw(element, props, setPointed)
    const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      chart.destroy()
    }
  }, [lines, times, colors])

  const at = pointed !== null && pointed < times.length ? pointed : times.length - 1
  const time = times[at]
  const clock = clockFor(times)
  const figure = (line: Line): string => {
    const value = line.values[at]
    return value === null || value === undefined ? "–" : format(value)
  }
  return (
    <figure class="chart">
      <figcaption>
        <h3>{title}</h3>
        <span class="quiet">{time === undefined ? "" : clock(time)}</span>
      </figcaption>
      <ul class="legend">
        {lines.map((line) => (
          <li key={line.label}>
            <i class={`swatch ${line.color}`} />
            {line.label} <b>{figure(line)}</b>
          </li>
        ))}
        {lines.length === 0 ? <li>none</li> : null}
      </ul>
      <div class="canvas" ref={home} aria-hidden="true" />
    </figure>
  )
}
