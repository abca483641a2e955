/**
 * Loaded into a process under measurement. A SIGUSR2 starts to watch the garbage collector, the
 * next one stops it and writes what was collected between them to the file in `BENCH_GARBAGE`, as
 * JSON. Each report is a new file. The profiler keeps some kilobytes of each collection outside the
 * heap, so it is off the rest of the time: a soak would measure the profiler's own growth.
 */
import { renameSync, writeFileSync } from "node:fs"
import { GCProfiler } from "node:v8"
import { isMainThread } from "node:worker_threads"

const file = process.env["BENCH_GARBAGE"]

if (isMainThread && file !== undefined) {
  const usedBytes = () => process.memoryUsage().heapUsed
  const write = (report: object) => {
    writeFileSync(`${file}.new`, JSON.stringify(report))
    renameSync(`${file}.new`, file)
  }
  let watched: { readonly profiler: GCProfiler; readonly startBytes: number } | undefined
  process.on("SIGUSR2", () => {
    if (watched === undefined) {
      watched = { profiler: new GCProfiler(), startBytes: usedBytes() }
      watched.profiler.start()
      write({})
      return
    }
    const { statistics } = watched.profiler.stop()
    let allocatedBytes = 0
    let afterBytes = watched.startBytes
    for (const { afterGC, beforeGC } of statistics) {
      allocatedBytes += Math.max(0, beforeGC.heapStatistics.usedHeapSize - afterBytes)
      afterBytes = afterGC.heapStatistics.usedHeapSize
    }
    allocatedBytes += Math.max(0, usedBytes() - afterBytes)
    watched = undefined
    write({ allocatedBytes, pauseMicros: statistics.map(({ cost }) => cost) })
  })
}
