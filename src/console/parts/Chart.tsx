/**
 * A small chart over time. Its head gives the values at the pointer, or the last ones, as text, so
 * the chart is usable without the drawing. Arrow keys move along the times like the pointer. Its
 * height is reserved before the drawing is loaded.
 */
import { useEffect, useRef, useState } from "preact/hooks"
import { Link } from "../router.tsx"
import { useStore } from "../store.ts"
import { palette } from "../theme.ts"
import { type ChartData, clockOf } from "./chartData.ts"
import { type plot, type Plot } from "./plot.ts"

interface ChartProps extends ChartData {
  readonly title: string
}

interface Drawing {
  readonly plot: typeof plot
}

/** Loaded once, with the first chart. A failed load is tried again. */
let loading: Promise<Drawing> | undefined
const load = (): Promise<Drawing> =>
  (loading ??= import("./plot.ts").catch((thrown: unknown) => {
    loading = undefined
    throw thrown
  }))

const useDrawing = (): Drawing | "missing" | undefined => {
  const [drawing, setDrawing] = useState<Drawing | "missing" | undefined>(undefined)
  useEffect(() => {
    let isHere = true
    load().then(
      (loaded) => isHere && setDrawing(loaded),
      () => isHere && setDrawing("missing")
    )
    return () => {
      isHere = false
    }
  }, [])
  return drawing
}

const moves: Readonly<Record<string, (index: number, last: number) => number>> = {
  ArrowLeft: (index) => Math.max(0, index - 1),
  ArrowRight: (index, last) => Math.min(last, index + 1),
  Home: () => 0,
  End: (_, last) => last
}

export const Chart = ({ title, ...course }: ChartProps) => {
  const { format, kind, lines, times } = course
  const home = useRef<HTMLDivElement>(null)
  const drawn = useRef<Plot | null>(null)
  const [pointed, setPointed] = useState<number | null>(null)
  const drawing = useDrawing()
  const colors = useStore(palette)

  // Other lines or colours need a new drawing; other values do not.
  const shape = [kind, ...lines.map(({ color, label }) => `${color} ${label}`)].join("\n")
  useEffect(() => {
    if (home.current === null || drawing === undefined || drawing === "missing") return
    const made = drawing.plot(home.current, course, setPointed)
    drawn.current = made
    return () => {
      drawn.current = null
      made.destroy()
    }
  }, [drawing, shape, colors])
  useEffect(() => drawn.current?.show(course), [times, lines])

  const last = times.length - 1
  const index = pointed !== null && pointed <= last ? pointed : last
  const time = times[index]
  const clock = clockOf(times)
  const figures = lines.map(({ color, label, to, values }) => {
    const value = values[index]
    return { color, label, to, figure: typeof value === "number" ? format(value) : "–" }
  })
  const move = (event: KeyboardEvent) => {
    const next = moves[event.key]?.(index, last)
    if (next === undefined) return
    event.preventDefault()
    setPointed(next)
    drawn.current?.point(next)
  }
  return (
    <figure class="chart">
      <figcaption>
        <h2>{title}</h2>
        <span class="quiet">{time === undefined ? "" : clock(time)}</span>
      </figcaption>
      <ul class="legend">
        {figures.map(({ color, figure, label, to }) => (
          <li key={label}>
            <i class={`swatch ${color}`} />
            {to === undefined ? label : <Link to={to}>{label}</Link>} <b>{figure}</b>
          </li>
        ))}
        {lines.length === 0 ? <li>none</li> : null}
      </ul>
      {drawing === "missing" ? (
        <div class="plot">
          <p>The drawing did not load. Load the page again to see it.</p>
        </div>
      ) : (
        <div
          class="plot"
          ref={home}
          role="slider"
          tabIndex={0}
          aria-label={title}
          aria-valuemin={0}
          aria-valuemax={Math.max(0, last)}
          aria-valuenow={Math.max(0, index)}
          aria-valuetext={[
            time === undefined ? "nothing yet" : clock(time),
            ...figures.map(({ figure, label }) => `${label} ${figure}`)
          ].join(", ")}
          onKeyDown={move}
        />
      )}
    </figure>
  )
}
