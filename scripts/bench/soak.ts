/**
 * A soak test: ten minutes of misses at half of the maximum rate. It shows growth of memory and
 * delays of the event loop, from the gateway's own metrics.
 */
import { type Measure } from "./bench.ts"
import { adminKey, path, startGateway } from "./gateway.ts"
import { chatBody } from "./messages.ts"
import { drivePaced } from "./pacedLoad.ts"
import { median, quantile } from "./quantile.ts"
import { type Row } from "./report.ts"
import { type Server } from "./servers.ts"
import { type Slope, slopeOf } from "./slope.ts"
import { drive } from "./wrk.ts"

const SAMPLE_SECONDS = 5
/** One of this many samples is printed. */
const SHOWN = 12
/** Samples are grouped, because the heap varies with each garbage collection. */
const BUCKET_SECONDS = 30
/** Share of the time that is ignored, while the cache fills and the heap settles. */
const SETTLING = 0.25
const MIB = 1024 * 1024

interface Sample {
  readonly seconds: number
  readonly residentMib: number
  readonly heapMib: number
  readonly delayP99Ms: number
}

const readSample = async (server: Server, seconds: number): Promise<Sample> => {
  const response = await fetch(`${server.url}/metrics`, { headers: { "x-admin-key": adminKey } })
  const text = await response.text()
  const value = (name: string) =>
    Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, "m").exec(text)?.[1] ?? Number.NaN)
  return {
    seconds,
    residentMib: value("process_memory_usage_bytes") / MIB,
    heapMib: value("v8js_memory_heap_used_bytes") / MIB,
    delayP99Ms: value("nodejs_eventloop_delay_p99_seconds") * 1_000
  }
}

/** The growth of the minimum per bucket, in MiB per hour. */
const growthOf = (samples: ReadonlyArray<Sample>, of: "residentMib" | "heapMib"): Slope => {
  const least = new Map<number, number>()
  for (const sample of samples) {
    const bucket = Math.floor(sample.seconds / BUCKET_SECONDS)
    least.set(bucket, Math.min(sample[of], least.get(bucket) ?? Number.POSITIVE_INFINITY))
  }
  return slopeOf(Array.from(least, ([bucket, mib]) => [(bucket * BUCKET_SECONDS) / 3_600, mib]))
}

export const measureSoak: Measure = async ({ nginx, options, streaming }, closers) => {
  const server = await startGateway(closers, nginx, streaming)
  const target = { server, path }
  const load = { body: chatBody("bench/model", "@@", false), unique: true, connections: 32 }
  await drive(target, { ...load, seconds: 15 })
  const top = (await drive(target, { ...load, seconds: 10 })).requestsPerSecond
  const rate = top / 2
  console.error(`  ${Math.round(rate)} of ${Math.round(top)} requests a second for ${options.seconds} s ...`)
  const samples: Array<Sample> = []
  const fromMs = performance.now()
  const timer = setInterval(() => {
    readSample(server, (performance.now() - fromMs) / 1_000).then(
      (sample) => {
        samples.push(sample)
        const { delayP99Ms, heapMib, residentMib, seconds } = sample
        const memory = `${residentMib.toFixed(1)} MiB resident, ${heapMib.toFixed(1)} of the heap`
        if (samples.length % SHOWN === 0)
          console.error(`  ${Math.round(seconds)} s: ${memory}, delay ${delayP99Ms.toFixed(1)} ms`)
      },
      () => undefined
    )
  }, SAMPLE_SECONDS * 1_000)
  const { done, errors, latenciesMs } = await drivePaced(target, { rate, seconds: options.seconds })
  clearInterval(timer)
  const settled = samples.filter(({ seconds }) => seconds > options.seconds * SETTLING)
  const [resident, heap] = [growthOf(settled, "residentMib"), growthOf(settled, "heapMib")]
  const sorted = latenciesMs.toSorted((a, b) => a - b)
  const delays = settled.map(({ delayP99Ms }) => delayP99Ms)
  const row: Row = {
    "req/s": done / options.seconds,
    "p50 ms": quantile(sorted, 0.5),
    "p99 ms": quantile(sorted, 0.99),
    "RSS MiB": median(settled.map(({ residentMib }) => residentMib)),
    "RSS MiB/h": resident.slope,
    "± RSS": resident.error,
    "heap MiB": median(settled.map(({ heapMib }) => heapMib)),
    "heap MiB/h": heap.slope,
    "± heap": heap.error,
    "loop delay p99 ms": median(delays),
    worst: Math.max(...delays),
    errors
  }
  return new Map([["tollgate", row]])
}
