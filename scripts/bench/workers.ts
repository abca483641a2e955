/**
 * One process and two (`TOLLGATE_WORKERS=2`), each with Postgres and Redis of its own: throughput,
 * latency, and how evenly the connections are spread. `least / most`: processor time of the worker
 * that did the least work, as a share of the other's.
 */
import { readFileSync } from "node:fs"
import { spawnRedis } from "../../test/support/Redis.ts"
import { type Measure } from "./bench.ts"
import { path, startGateway } from "./gateway.ts"
import { cpuMicros } from "./processStat.ts"
import { type Row } from "./report.ts"
import { measureRequests } from "./requests.ts"
import { type Server } from "./servers.ts"

const childrenOf = (pid: number): ReadonlyArray<number> =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number)

export const measureWorkers: Measure = async (bench, closers) => {
  const servers: Array<Server> = []
  for (const count of [1, 2]) {
    const redis = await spawnRedis()
    closers.add(() => redis.stop())
    const env = { REDIS_URL: redis.url, TOLLGATE_WORKERS: String(count) }
    const server = await startGateway(closers, bench.nginx, bench.streaming, { env })
    const { garbage: _, ...own } = server
    servers.push(
      count === 1 ? { ...own, name: "1 worker" } : { ...own, name: `${count} workers`, workers: childrenOf(server.pid) }
    )
  }
  const before = servers.map(({ pid, workers = [pid] }) => workers.map(cpuMicros))
  const table = await measureRequests(
    bench,
    servers.map((server) => ({ server, path })),
    { unique: true }
  )
  return new Map(
    servers.map(({ name, pid, workers = [pid] }, at): [string, Row] => {
      const used = workers.map((worker, which) => cpuMicros(worker) - (before[at]?.[which] ?? 0))
      return [name, { "least / most": Math.min(...used) / Math.max(...used), ...table.get(name) }]
    })
  )
}
