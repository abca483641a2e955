/**
 * The cost of telemetry: misses without traces, with tracing on and none, a tenth or all of the
 * requests traced, and with the metrics read each second.
 */
import { type Measure } from "./bench.ts"
import { adminKey, path, startGateway } from "./gateway.ts"
import { type Row } from "./report.ts"
import { measureRequests } from "./requests.ts"
import { type Server, startProgram } from "./servers.ts"

export const tracing = (sink: Server, share: number): Readonly<Record<string, string>> => ({
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${sink.url}/v1/traces`,
  OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
  OTEL_TRACES_SAMPLER_ARG: String(share)
})

/** Reads the metrics each second until closed: fifteen times Prometheus's default rate. */
const scrape = (server: Server): (() => void) => {
  const timer = setInterval(() => {
    const headers = { "x-admin-key": adminKey }
    fetch(`${server.url}/metrics`, { headers }).then(
      (response) => response.text(),
      () => undefined
    )
  }, 1_000)
  return () => clearInterval(timer)
}

export const sinkBytes = async (sink: Server): Promise<number> => Number(await (await fetch(sink.url)).text())

/** `of off`: processor time per request, as a multiple of that without telemetry. */
export const measureTelemetry: Measure = async (bench, closers) => {
  const { nginx, streaming } = bench
  const sink = await startProgram(closers, "sink", "otlpSink.ts")
  const kinds = [
    { name: "off", env: {} },
    { name: "none traced", env: tracing(sink, 0) },
    { name: "10 % traced", env: tracing(sink, 0.1) },
    { name: "100 % traced", env: tracing(sink, 1) },
    { name: "metrics read", env: {} }
  ]
  const servers: Array<Server> = []
  for (const { env, name } of kinds) servers.push({ ...(await startGateway(closers, nginx, streaming, { env })), name })
  const read = servers.at(-1)
  if (read !== undefined) closers.add(scrape(read))
  const targets = servers.map((server) => ({ server, path }))
  const table = await measureRequests(bench, targets, { unique: true })
  if ((await sinkBytes(sink)) === 0) throw new Error("no trace has arrived: the rows are not what they say")
  const column = "CPU us/req @32"
  const off = table.get("off")?.[column] ?? Number.NaN
  return new Map(
    Array.from(table, ([name, row]): [string, Row] => [
      name,
      { "CPU of off": (row[column] ?? Number.NaN) / off, ...row }
    ])
  )
}
