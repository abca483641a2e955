/**
 * Measures the gateway beside a bare node:http + undici proxy (the floor that Node allows) on one machine in one run, each in turn:
 * misses (every request has a body of its own, so the cache is asked and has nothing), hits (one body), and streams. The gateway runs
 * on Postgres with every policy on. Prints one table a phase and, with `--out`, writes the figures as JSON. Exits 1 when any request
 * failed: then the figures mean nothing.
 */
import { writeFileSync } from "node:fs"
import { availableParallelism, cpus } from "node:os"
import { chatBody } from "./messages.ts"
import { type Options, parseOptions, type Phase } from "./options.ts"
import { ratios, render, type Row, type Table } from "./report.ts"
import { Closers, type Server, startGateway, startNginx, startProgram } from "./servers.ts"
import { driveStreams } from "./streamLoad.ts"
import { drive } from "./wrk.ts"

interface Target {
  readonly server: Server
  readonly path: string
  readonly streamPath: string
}

const measureRequests = async (target: Target, unique: boolean, seconds: number): Promise<Row> => {
  const load = { body: chatBody("bench/model", "@@", false), unique }
  await drive(target.server, target.path, { ...load, connections: 32, seconds: 2 })
  const many = await drive(target.server, target.path, { ...load, connections: 32, seconds })
  const one = await drive(target.server, target.path, { ...load, connections: 1, seconds })
  return {
    "req/s @32": many.requestsPerSecond,
    "p50 ms @32": many.p50Ms,
    "p99 ms @32": many.p99Ms,
    "p50 ms @1": one.p50Ms,
    "p99 ms @1": one.p99Ms,
    "CPU us/req @32": many.cpuMicrosPerRequest,
    "RSS MiB": one.residentMib,
    errors: many.errors + one.errors
  }
}

/** `direct`: the row of the upstream itself, from which the added time is reckoned; undefined: this is that row. */
const measureStreams = async (
  target: Target,
  direct: Row | undefined,
  streams: number,
  seconds: number
): Promise<Row> => {
  const load = { path: target.streamPath, model: "stream/model" }
  await driveStreams(target.server, { ...load, streams: Math.min(streams, 32), seconds: 1 })
  const many = await driveStreams(target.server, { ...load, streams, seconds })
  const one = await driveStreams(target.server, { ...load, streams: 1, seconds })
  const added = (column: string, value: number) =>
    value - (direct === undefined ? value : (direct[column] ?? Number.NaN))
  const [p50, p99, p50One] = [`TTFT p50 ms @${streams}`, `TTFT p99 ms @${streams}`, "TTFT p50 ms @1"]
  return {
    "tokens/s": many.tokensPerSecond,
    [p50]: many.firstTokenP50Ms,
    [p99]: many.firstTokenP99Ms,
    [p50One]: one.firstTokenP50Ms,
    [`added ${p50}`]: added(p50, many.firstTokenP50Ms),
    [`added ${p99}`]: added(p99, many.firstTokenP99Ms),
    [`added ${p50One}`]: added(p50One, one.firstTokenP50Ms),
    "token delay p50 ms": many.tokenDelayP50Ms,
    "token delay p99 ms": many.tokenDelayP99Ms,
    "CPU us/token": many.cpuMicrosPerToken,
    "RSS MiB": many.residentMib,
    "streams done": many.completed,
    errors: many.broken + one.broken
  }
}

const titles: Readonly<Record<Phase, string>> = {
  misses: "Misses: every request unique",
  hits: "Cache hits: one request again and again",
  streams: "Streams: 50 tokens each, the first after 50 ms, one every 20 ms"
}

/** The cache must do what the phase says, or the figures are another phase's. */
const checkCache = async (gateway: Target): Promise<void> => {
  const ask = async (prompt: string) => {
    const response = await fetch(`${gateway.server.url}${gateway.path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...gateway.server.headers },
      body: chatBody("bench/model", prompt, false)
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`the gateway answers ${response.status}: ${text}`)
    return response.headers.get("x-tollgate-cache")
  }
  const seen = [await ask("first"), await ask("first"), await ask("second")]
  if (seen.join() !== "miss,hit,miss") throw new Error(`the cache answers ${seen.join()} where miss,hit,miss was due`)
}

const measure = async (options: Options, closers: Closers): Promise<ReadonlyMap<Phase, Table>> => {
  const nginx = await startNginx(closers)
  const streaming = await startProgram(closers, "upstream", "streamUpstream.ts")
  const bare = await startProgram(closers, "bare proxy", "bareProxy.ts", [nginx.url, streaming.url])
  const path = "/v1/chat/completions"
  const gateway = { server: await startGateway(closers, nginx, streaming), path, streamPath: path }
  await checkCache(gateway)
  const tables = new Map<Phase, Table>()
  for (const phase of options.phases) {
    const upstream = { server: phase === "streams" ? streaming : nginx, path, streamPath: path }
    const table = new Map<string, Row>()
    for (const target of [upstream, { server: bare, path, streamPath: "/stream" }, gateway]) {
      console.error(`${phase}: ${target.server.name} ...`)
      table.set(
        target.server.name,
        phase === "streams"
          ? await measureStreams(target, table.get(upstream.server.name), options.streams, options.seconds)
          : await measureRequests(target, phase === "misses", options.seconds)
      )
    }
    tables.set(phase, table)
    console.log(`${render(`${titles[phase]} (${options.seconds} s a measurement)`, table)}\n`)
  }
  return tables
}

const options = parseOptions(process.argv.slice(2))
const closers = new Closers()
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void closers.close().finally(() => process.exit(130)))
}
try {
  console.log(`${availableParallelism()} cores (${cpus()[0]?.model ?? "unknown"}), Node ${process.version}\n`)
  const tables = await measure(options, closers)
  const failed = [...tables.values()].some((table) => [...table.values()].some((row) => (row["errors"] ?? 0) > 0))
  if (failed) console.error("Some requests failed: see the column `errors`.")
  process.exitCode = failed ? 1 : 0
  if (options.out !== null) {
    const phases = Array.from(tables, ([phase, table]) => [
      phase,
      { ...Object.fromEntries(table), ratios: ratios(table, "tollgate", "bare proxy") }
    ])
    writeFileSync(
      options.out,
      `${JSON.stringify({ node: process.version, seconds: options.seconds, ...Object.fromEntries(phases) }, null, 2)}\n`
    )
  }
} finally {
  await closers.close()
}
