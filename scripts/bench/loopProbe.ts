/**
 * Loaded into a gateway by worst.ts: tells, when it is asked, the longest turn of the event loop
 * since it was asked the last time. A turn is measured in processor time of the loop's own thread,
 * so that other processes of the machine do not count.
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
