/**
 * Metrics of the process, read on collection: event loop delay, event loop utilization, memory. The
 * delay covers the time since the last read.
 */
import { Effect, Metric } from "effect"
import { monitorEventLoopDelay, performance } from "node:perf_hooks"

/** Sampling interval of the event loop delay, in ms. Shorter delays are not seen. */
const RESOLUTION_MS = 20

/** Registers the gauges in the `MetricRegistry` of the context, until the scope closes. */
export const registerProcessMetrics = Effect.gen(function* () {
  const context = yield* Effect.context()
  const gauge = (id: string, unit: string, description: string, read: () => number) =>
    Effect.acquireRelease(
      Effect.sync(() =>
        Metric.registerUnsafe(Metric.gauge(id, { description, attributes: { unit } }), context, {
          get: () => ({ value: read() }),
          update: () => undefined,
          modify: () => undefined
        })
      ),
      (registration) => Effect.sync(registration.remove)
    )
  const delay = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
      histogram.enable()
      return histogram
    }),
    (histogram) => Effect.sync(() => void histogram.disable())
  )
  const about = "Delay of the event loop since the last read"
  yield* gauge("nodejs.eventloop.delay.p50", "s", `${about}: median`, () => lateness(delay, delay.percentile(50)))
  yield* gauge("nodejs.eventloop.delay.p99", "s", `${about}: 99th percentile`, () =>
    lateness(delay, delay.percentile(99))
  )
  yield* gauge("nodejs.eventloop.delay.max", "s", `${about}: longest`, () => {
    const longest = lateness(delay, delay.max)
    delay.reset()
    return longest
  })
  let last = performance.eventLoopUtilization()
  yield* gauge("nodejs.eventloop.utilization", "1", "Share of the time in which the event loop was busy", () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, last)
    last = now
    return utilization
  })
  yield* gauge("process.memory.usage", "By", "Resident memory of the process", () => process.memoryUsage.rss())
  yield* gauge(
    "v8js.memory.heap.used",
    "By",
    "Used memory of the JavaScript heap",
    () => process.memoryUsage().heapUsed
  )
})

/** Seconds beyond the sampling interval. */
const lateness = ({ count }: ReturnType<typeof monitorEventLoopDelay>, nanos: number): number =>
  count === 0 ? 0 : Math.max(0, nanos / 1e9 - RESOLUTION_MS / 1000)
