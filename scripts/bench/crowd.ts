/**
 * Very many long streams at once on one process: to the provider itself, the bare proxy and the
 * gateway, in turn.
 */
import { type Measure } from "./bench.ts"
import { type CrowdLoad, driveCrowd } from "./crowdLoad.ts"
import { path, startGateway } from "./gateway.ts"
import { type Row } from "./report.ts"
import { startProgram } from "./servers.ts"

/** Duration of one stream. */
const LIFE_SECONDS = 10
/** Minimum duration of a measurement: shorter ones see too few first tokens. */
const LEAST_SECONDS = 20

const rowOf = (load: CrowdLoad, base: CrowdLoad): Row => ({
  "tokens/s": load.tokensPerSecond,
  "TTFT p50 ms": load.firstTokenP50Ms,
  "TTFT p99 ms": load.firstTokenP99Ms,
  "added TTFT p99 ms": load.firstTokenP99Ms - base.firstTokenP99Ms,
  "token delay p50 ms": load.tokenDelayP50Ms,
  "token delay p99 ms": load.tokenDelayP99Ms,
  "slowest stream x": load.slowest,
  "CPU ms/1000 tokens": load.cpuMsPerThousandTokens,
  cores: load.cores,
  "RSS MiB": load.residentMib,
  "streams done": load.completed,
  errors: load.broken
})

/** "Added" is the gateway's time beyond the bare proxy's, and the proxy's beyond the provider's. */
export const measureCrowd: Measure = async ({ nginx, options }, closers) => {
  const { crowd, pace } = options
  const tokensPerStream = pace * LIFE_SECONDS
  const everyMs = Math.round(1_000 / pace)
  const upstream = await startProgram(closers, "upstream", "crowdUpstream.ts", [
    String(tokensPerStream),
    String(everyMs)
  ])
  const bare = await startProgram(closers, "bare proxy", "bareProxy.ts", [nginx.url, upstream.url])
  const gateway = await startGateway(closers, nginx, upstream)
  const table = new Map<string, Row>()
  let base: CrowdLoad | undefined
  for (const target of [
    { server: upstream, path },
    { server: bare, path: "/stream" },
    { server: gateway, path }
  ]) {
    console.error(`  ${target.server.name} ...`)
    const lifeMs = 50 + tokensPerStream * everyMs
    const seconds = Math.max(LEAST_SECONDS, options.seconds)
    if (target.server !== upstream) await driveCrowd(target, { streams: 100, tokensPerStream, lifeMs, seconds: 2 })
    const load = await driveCrowd(target, { streams: crowd, tokensPerStream, lifeMs, seconds })
    table.set(target.server.name, rowOf(load, base ?? load))
    base = load
  }
  return table
}
