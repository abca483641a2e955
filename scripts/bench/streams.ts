/** Short streams, many at once: to the provider itself, the bare proxy and the gateway, in turn. */
import { type Measure } from "./bench.ts"
import { path, startGateway } from "./gateway.ts"
import { type Row } from "./report.ts"
import { startProgram, type Target } from "./servers.ts"
import { driveStreams } from "./streamLoad.ts"

/**
 * A server is measured once its code is compiled: the first 200 streams of a process take several
 * times the processor time of later ones.
 */
const WARM_UP_SECONDS = 10

/** `direct`: the upstream's row, as the baseline of added time. Undefined for that row itself. */
const measureOne = async (target: Target, direct: Row | undefined, streams: number, seconds: number): Promise<Row> => {
  const load = { path: target.path, model: "stream/model" }
  await driveStreams(target.server, { ...load, streams, seconds: WARM_UP_SECONDS })
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

export const measureStreams: Measure = async ({ nginx, options, streaming }, closers) => {
  const bare = await startProgram(closers, "bare proxy", "bareProxy.ts", [nginx.url, streaming.url])
  const gateway = await startGateway(closers, nginx, streaming)
  const table = new Map<string, Row>()
  const targets = [
    { server: streaming, path },
    { server: bare, path: "/stream" },
    { server: gateway, path }
  ]
  for (const target of targets) {
    console.error(`  ${target.server.name} ...`)
    const direct = table.get(streaming.name)
    table.set(target.server.name, await measureOne(target, direct, options.streams, options.seconds))
  }
  return table
}
