/**
 * Measures the gateway beside a bare node:http + undici proxy (the floor that Node allows) on one machine in one run, each in turn:
 * misses (every request has a body of its own, so the cache is asked and has nothing), hits (one body), and streams. The gateway runs
 * on Postgres with every policy on. Then what durability costs: misses with governance off, on the embedded database and on Postgres. Prints one table a phase and, with `--out`, writes the figures as JSON. Exits 1 when any request
 * failed: then the figures mean nothing.
 */
import { writeFileSync } from "node:fs"
import { availableParallelism, cpus } from "node:os"
import { chatBody } from "./messages.ts"
import { type Options, parseOptions, type Phase } from "./options.ts"
import { ratios, render, type Row, type Table } from "./report.ts"
import { Closers, type Durability, type Server, startGateway, startNginx, startProgram } from "./servers.ts"
import { driveStreams } from "./streamLoad.ts"
import { drive } from "./wrk.ts"

interface Target {
  readonly server: Server
  readonly path: string
  readonly streamPath: string
}

/** Before a measurement, in seconds. */
const WARM_SECONDS = 15

const measureRequests = async (target: Target, unique: boolean, seconds: number): Promise<Row> => {
  const load = { body: chatBody("bench/model", "@@", false), unique }
  // A compiler that compiles what is hot needs some ten thousand requests to know it.
  await drive(target.server, target.path, { ...load, connections: 32, seconds: WARM_SECONDS })
  const many = await drive(target.server, target.path, { ...load, connections: 32, seconds })
  const one = await drive(target.server, target.path, { ...load, connections: 1, seconds })
  return {
    "req/s @32": many.requestsPerSecond,
    "p50 ms @32": many.p50Ms,
    "p99 ms @32": many.p99Ms,
    "req/s @1": one.requestsPerSecond,
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
  streams: "Streams: 50 tokens each, the first after 50 ms, one every 20 ms",
  durability: "What durability costs: misses, with governance off and on"
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

interface Upstreams {
  readonly nginx: Server
  readonly streaming: Server
}
type Add = (phase: Phase, table: Table) => void

const path = "/v1/chat/completions"

/** Closes all that it started when it is over, so that what comes next has the machine for itself. */
const closing = async <A>(use: (closers: Closers) => Promise<A>): Promise<A> => {
  const closers = new Closers()
  open.add(closers)
  try {
    return await use(closers)
  } finally {
    await closers.close()
    open.delete(closers)
  }
}
const open = new Set<Closers>()
const closeAll = async (): Promise<void> => {
  for (const closers of [...open].toReversed()) await closers.close()
}

const measureBesideBare = async (options: Options, { nginx, streaming }: Upstreams, add: Add): Promise<void> => {
  const phases = options.phases.filter((phase) => phase !== "durability")
  if (phases.length === 0) return
  await closing(async (closers) => {
    const bare = await startProgram(closers, "bare proxy", "bareProxy.ts", [nginx.url, streaming.url])
    const gateway = { server: await startGateway(closers, nginx, streaming), path, streamPath: path }
    await checkCache(gateway)
    for (const phase of phases) {
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
      add(phase, table)
    }
  })
}

const kinds: ReadonlyArray<{
  readonly name: string
  readonly durability: Durability
  readonly budgetUsd: number | null
}> = [
  { name: "off", durability: "off", budgetUsd: null },
  { name: "embedded, no cap", durability: "embedded", budgetUsd: null },
  { name: "embedded, capped", durability: "embedded", budgetUsd: 1_000_000 },
  { name: "Postgres, no cap", durability: "postgres", budgetUsd: null },
  { name: "Postgres, capped", durability: "postgres", budgetUsd: 1_000_000 }
]

/** One gateway after the other; `of off`: the share that is left of the requests a second with governance off. */
const measureDurability = async (options: Options, { nginx, streaming }: Upstreams, add: Add): Promise<void> => {
  if (!options.phases.includes("durability")) return
  const table = new Map<string, Row>()
  for (const { name, ...kind } of kinds) {
    console.error(`durability: ${name} ...`)
    const row = await closing(async (closers) =>
      measureRequests(
        { server: await startGateway(closers, nginx, streaming, kind), path, streamPath: path },
        true,
        options.seconds
      )
    )
    const off = table.get("off") ?? row
    const share = (column: string): number => (row[column] ?? Number.NaN) / (off[column] ?? Number.NaN)
    table.set(name, { "of off @32": share("req/s @32"), "of off @1": share("req/s @1"), ...row })
  }
  add("durability", table)
}

const measure = (options: Options): Promise<ReadonlyMap<Phase, Table>> =>
  closing(async (closers) => {
    const nginx = await startNginx(closers)
    const streaming = await startProgram(closers, "upstream", "streamUpstream.ts")
    const tables = new Map<Phase, Table>()
    const add: Add = (phase, table) => {
      tables.set(phase, table)
      console.log(`${render(`${titles[phase]} (${options.seconds} s a measurement)`, table)}\n`)
    }
    await measureBesideBare(options, { nginx, streaming }, add)
    await measureDurability(options, { nginx, streaming }, add)
    return tables
  })

const options = parseOptions(process.argv.slice(2))
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void closeAll().finally(() => process.exit(130)))
}
console.log(`${availableParallelism()} cores (${cpus()[0]?.model ?? "unknown"}), Node ${process.version}\n`)
const tables = await measure(options)
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
