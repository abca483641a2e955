/**
 * Prompts of one, ten, a hundred and a thousand kilobytes: to the bare proxy, the gateway, and a
 * gateway with masking. `growth` shows how the cost grows: 1 is linear in the length, 2 is
 * quadratic.
 */
import { type Measure } from "./bench.ts"
import { path, startGateway } from "./gateway.ts"
import { chatBody } from "./messages.ts"
import { prose } from "./prose.ts"
import { type Row } from "./report.ts"
import { errorsOf, medianOf, turnsOf } from "./requests.ts"
import { startProgram, type Target } from "./servers.ts"
import { drive, type Load } from "./wrk.ts"

const sizes = [1_000, 10_000, 100_000, 1_000_000] as const

/** One connection: the duration of a request matters, not throughput. */
const connections = 1
const WARM_SECONDS = 5

const rowOf = (loads: ReadonlyArray<Load>, size: number, before: Row | undefined): Row => {
  const cpuMicros = medianOf(loads, "cpuMicrosPerRequest")
  const growth = Math.log10(cpuMicros / (before?.["CPU us/req"] ?? Number.NaN))
  return {
    "req/s": medianOf(loads, "requestsPerSecond"),
    "p50 ms": medianOf(loads, "p50Ms"),
    "p99 ms": medianOf(loads, "p99Ms"),
    "CPU us/req": cpuMicros,
    "CPU ns/byte": (cpuMicros * 1_000) / size,
    // The exponent: each size is ten times the previous one.
    growth,
    "RSS MiB": loads.at(-1)?.residentMib ?? Number.NaN,
    errors: errorsOf(loads)
  }
}

export const measurePrompts: Measure = async ({ nginx, options, streaming }, closers) => {
  const bare = await startProgram(closers, "bare proxy", "bareProxy.ts", [nginx.url, streaming.url])
  const gateway = await startGateway(closers, nginx, streaming)
  const masking = await startGateway(closers, nginx, streaming, { settings: "privacy: { mode: mask }\n" })
  const targets: ReadonlyArray<Target> = [bare, gateway, { ...masking, name: "tollgate, masking" }].map((server) => ({
    server,
    path
  }))
  const measured = new Map<string, { readonly row: Row; readonly order: number }>()
  for (const [at, size] of sizes.entries()) {
    const load = { body: chatBody("bench/model", `@@ ${prose(size)}`, false), unique: true, connections }
    const loads = targets.map(() => Array.of<Load>())
    console.error(`  ${size / 1_000} kB ...`)
    for (const target of targets) await drive(target, { ...load, seconds: WARM_SECONDS })
    for (const seconds of turnsOf(options.seconds)) {
      for (const [which, target] of targets.entries()) loads[which]?.push(await drive(target, { ...load, seconds }))
    }
    for (const [which, { server }] of targets.entries()) {
      const before = measured.get(`${server.name}, ${(sizes[at - 1] ?? 0) / 1_000} kB`)?.row
      const row = rowOf(loads[which] ?? [], size, before)
      measured.set(`${server.name}, ${size / 1_000} kB`, { row, order: which * sizes.length + at })
    }
  }
  return new Map(
    [...measured].sort(([, a], [, b]) => a.order - b.order).map(([name, { row }]): [string, Row] => [name, row])
  )
}
