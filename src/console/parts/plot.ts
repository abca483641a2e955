/**
 * Draws a chart with uPlot in the stylesheet's current colours. This module and the library are
 * loaded only with the first chart: see `Chart`. The library's style is part of the page's.
 */
import uPlot from "uplot"
import { colorOf } from "../theme.ts"
import { type ChartData, clockOf, type Line } from "./chartData.ts"

export interface Plot {
  /** Draws other values of the same lines. */
  readonly show: (course: ChartData) => void
  /** Marks a time by its index, like the pointer. */
  readonly point: (index: number) => void
  readonly destroy: () => void
}

/**
 * Share of the step and largest width of a bar, in pixels. uPlot draws no gap below one pixel, and
 * 60 bars must have gaps.
 */
const BAR: [share: number, most: number] = [0.6, 48]
const AXIS_HEIGHT = 22

const powers = Array.from({ length: 22 }, (_, index) => 10 ** (index - 9))
const steps = powers.flatMap((power) => [1, 2, 2.5, 5].map((times) => times * power))
const wholeSteps = steps.filter(Number.isInteger)
const isWhole = ({ lines }: ChartData): boolean =>
  lines.every(({ values }) => values.every((value) => value === null || Number.isInteger(value)))

const isFlat = ({ lines }: ChartData): boolean => lines.every(({ values }) => values.every((value) => !value))

/** Stacks each line on those before it. */
const stacked = (lines: ReadonlyArray<Line>): Array<Array<number>> => {
  const sums: Array<number> = []
  return lines.map(({ values }) => values.map((value, index) => (sums[index] = (sums[index] ?? 0) + (value ?? 0))))
}

const stepOf = ({ kind, times }: ChartData): number => (kind === "bars" ? (times[1] ?? 0) - (times[0] ?? 0) : 0)

/** A bar is centred in its step. Higher ones are drawn first, behind the lower ones. */
const dataOf = (course: ChartData): uPlot.AlignedData => [
  course.times.map((time) => time + stepOf(course) / 2),
  ...(course.kind === "bars" ? stacked(course.lines).toReversed() : course.lines.map(({ values }) => [...values]))
]

/**
 * From the start of the first step to the end of the last one. A single moment is the end of a
 * minute.
 */
const rangeOf = (course: ChartData): [number, number] => {
  const end = (course.times.at(-1) ?? 0) + stepOf(course)
  return [course.times.length > 1 ? (course.times[0] ?? 0) : end - 60, end]
}

/** Values between two gaps are drawn as dots, because a line needs two. */
const alone = (values: Line["values"]): Array<number> =>
  values.flatMap((value, index) =>
    value !== null && typeof values[index - 1] !== "number" && typeof values[index + 1] !== "number" ? [index] : []
  )

const seriesOf = ({ kind, lines }: ChartData): ReadonlyArray<uPlot.Series> => {
  const bars = uPlot.paths.bars?.({ size: BAR })
  if (kind === "bars") {
    return lines.toReversed().map(({ color, label }) => ({
      label,
      fill: colorOf(color),
      width: 0,
      points: { show: false },
      ...(bars === undefined ? {} : { paths: bars })
    }))
  }
  return lines.map(({ color, label }) => {
    const stroke = colorOf(color)
    const filter = (chart: uPlot, index: number) => alone((chart.data[index] ?? []) as Line["values"])
    return { label, stroke, width: 1.75, points: { show: false, size: 4, fill: stroke, filter } }
  })
}

const axesOf = (current: () => ChartData): Array<uPlot.Axis> => {
  const axis: uPlot.Axis = {
    stroke: colorOf("muted"),
    font: `11px ${getComputedStyle(document.body).fontFamily}`,
    grid: { stroke: colorOf("line"), width: 1 },
    ticks: { show: false },
    gap: 4
  }
  return [
    {
      ...axis,
      size: AXIS_HEIGHT,
      space: 70,
      grid: { show: false },
      values: (_chart, splits) => splits.map(clockOf(current().times))
    },
    {
      ...axis,
      // As wide as its widest label.
      size: (chart, labels) =>
        Math.max(28, ...(labels ?? []).map((label) => chart.ctx.measureText(label).width / devicePixelRatio + 10)),
      space: 34,
      incrs: () => (isWhole(current()) ? wholeSteps : steps),
      // Without values, the axis has no labels.
      values: (_chart, splits) => splits.map((split) => (split > 0 && isFlat(current()) ? "" : current().format(split)))
    }
  ]
}

/**
 * Fills `home` and follows its width. `onPoint` receives the index under the pointer, and null when
 * the pointer leaves.
 */
export const plot = (home: HTMLElement, first: ChartData, onPoint: (index: number | null) => void): Plot => {
  let course = first
  const size = () => ({ width: home.clientWidth, height: home.clientHeight })
  const chart = new uPlot(
    {
      ...size(),
      legend: { show: false },
      // Padding on the right for half of the last label.
      padding: [10, 24, 0, 0],
      cursor: { y: false, points: { show: first.kind === "lines", size: 6 }, drag: { x: false, y: false } },
      scales: {
        x: { range: () => rangeOf(course) },
        y: { range: (_chart, _low, high) => [0, high > 0 ? high * 1.1 : 1] }
      },
      series: [{}, ...seriesOf(first)],
      axes: axesOf(() => course),
      hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)] }
    },
    dataOf(first),
    home
  )
  const observer = new ResizeObserver(() => chart.setSize(size()))
  observer.observe(home)
  return {
    show: (next) => {
      course = next
      chart.setData(dataOf(next))
    },
    point: (index) => {
      const time = chart.data[0][index]
      if (time !== undefined) chart.setCursor({ left: chart.valToPos(time, "x"), top: 0 })
    },
    destroy: () => {
      observer.disconnect()
      chart.destroy()
    }
  }
}
