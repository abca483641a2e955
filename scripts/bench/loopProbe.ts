/**
 * Loaded into a gateway by worst.ts: reports the longest turn of the event loop since the last
 * report. A turn is measured in processor time of the loop's thread, so that other processes do not
 * count.
 */
const cpuMs = (): number => {
  const { system, user } = process.threadCpuUsage()
  return (system + user) / 1_000
}

let lastMs = cpuMs()
let longestMs = 0
setInterval(() => {
  const nowMs = cpuMs()
  longestMs = Math.max(longestMs, nowMs - lastMs)
  lastMs = nowMs
}, 1).unref()

process.on("message", () => {
  process.send?.({ longestMs, residentMib: process.memoryUsage.rss() / 1_048_576 })
  longestMs = 0
})
