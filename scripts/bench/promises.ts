/**
 * What each promise of the gateway costs. The rows down to `budget` each add one promise to the row
 * above, beginning with governance off and no cache. The rows below it add one feature to `budget`.
 * `adds`: the processor time of a request beyond that of the row without it.
 */
import { type Measure } from "./bench.ts"
import { type GatewayOptions, path, startGateway } from "./gateway.ts"
import { type Row } from "./report.ts"
import { measureRequests } from "./requests.ts"
import { startProgram, type Target } from "./servers.ts"
import { sinkBytes, tracing } from "./telemetry.ts"

interface Kind {
  readonly name: string
  /** The row without it. */
  readonly without: string
  readonly options: GatewayOptions
  readonly uniqueHeader?: string
}

const kinds = (traced: Readonly<Record<string, string>>): ReadonlyArray<Kind> => [
  { name: "nothing", without: "bare proxy", options: { durability: "off", caches: false } },
  { name: "prompt cache", without: "nothing", options: { durability: "off" } },
  { name: "limits", without: "prompt cache", options: { durability: "off", env: { BENCH_LIMITS: "on" } } },
  { name: "receipt, durable", without: "limits", options: { budgetUsd: null } },
  { name: "budget", without: "receipt, durable", options: {} },
  { name: "idempotency key", without: "budget", options: {}, uniqueHeader: "idempotency-key" },
  { name: "privacy masking", without: "budget", options: { settings: "privacy: { mode: mask }\n" } },
  { name: "one request in ten traced", without: "budget", options: { env: traced } }
]

const COLUMN = "CPU us/req @32"

export const measurePromises: Measure = async (bench, closers) => {
  const { nginx, streaming } = bench
  const sink = await startProgram(closers, "sink", "otlpSink.ts")
  const all = kinds(tracing(sink, 0.1))
  const targets: Array<Target> = [
    { server: await startProgram(closers, "bare proxy", "bareProxy.ts", [nginx.url, streaming.url]), path }
  ]
  for (const { name, options, uniqueHeader } of all) {
    const server = { ...(await startGateway(closers, nginx, streaming, options)), name }
    targets.push({ server, path, ...(uniqueHeader === undefined ? {} : { uniqueHeader }) })
  }
  const table = await measureRequests(bench, targets, { unique: true })
  if ((await sinkBytes(sink)) === 0) throw new Error("no trace has arrived: the rows are not what they say")
  const micros = (name: string) => table.get(name)?.[COLUMN] ?? Number.NaN
  const added = new Map(all.map(({ name, without }) => [name, micros(name) - micros(without)]))
  return new Map(
    Array.from(table, ([name, row]): [string, Row] => [name, { "adds us": added.get(name) ?? Number.NaN, ...row }])
  )
}
