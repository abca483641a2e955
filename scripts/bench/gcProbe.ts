/**
 * Loaded into a process under measurement: on SIGUSR2 it writes what the garbage collector did
 * since the last signal to the file in `BENCH_GARBAGE`, as JSON.
 */
import { renameSync, writeFileSync } from "node:fs"
import { GCProfiler } from "node:v8"
import { isMainThread } from "node:worker_threads"

const file = process.env["BENCH_GARBAGE"]

if (isMainThread && file !== undefined) {
  const usedBytes = () => process.memoryUsage().heapUsed
  let startBytes = usedBytes()
  let profiler = new GCProfiler()
  profiler.start()
  process.on("SIGUSR2", () => {
    const { statistics } = profiler.stop()
    let allocatedBytes = 0
    let afterBytes = startBytes
    for (const { afterGC, beforeGC } of statistics) {
      allocatedBytes += Math.max(0, beforeGC.heapStatistics.usedHeapSize - afterBytes)
      afterBytes = afterGC.heapStatistics.usedHeapSize
    }
    startBytes = usedBytes()
    allocatedBytes += Math.max(0, startBytes - afterBytes)
    writeFileSync(`${file}.new`, JSON.stringify({ allocatedBytes, pauseMicros: statistics.map(({ cost }) => cost) }))
    renameSync(`${file}.new`, file)
    profiler = new GCProfiler()
    profiler.start()
  })
}
