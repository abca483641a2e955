/**
 * The time from the start of the process to its first ready answer, ten times each: with
 * scripts/start, on a Postgres with its tables, and on an existing embedded database.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { get } from "node:http"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { type Measure } from "./bench.ts"
import { closing } from "./closers.ts"
import { durablePostgres, gatewayEnvironment, settingsFile } from "./gateway.ts"
import { median } from "./quantile.ts"
import { type Row } from "./report.ts"
import { directory, freePort, start } from "./servers.ts"

const TIMES = 10
const script = join(import.meta.dirname, "../start")

const isReady = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    get({ host: "127.0.0.1", port, path: "/health/ready", agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    }).on("error", () => resolve(false))
  })

/** In milliseconds. The process has ended when this resolves. */
const startOnce = (env: (port: number) => NodeJS.ProcessEnv): Promise<number> =>
  closing(async (closers) => {
    const port = await freePort()
    const fromMs = performance.now()
    let readyMs = Number.NaN
    await start(closers, script, [], env(port), async () => {
      // Polls often, because the interval counts as start-up time.
      for (let asked = 0; asked < 1_000; asked++) {
        if (await isReady(port)) {
          readyMs = performance.now() - fromMs
          return true
        }
        await pause(5)
      }
      return false
    })
    return readyMs
  })

const rowOf = (first: number, times: ReadonlyArray<number>): Row => ({
  "first ms": first,
  "median ms": median(times),
  "worst ms": Math.max(...times),
  starts: times.length
})

export const measureColdStart: Measure = async ({ nginx, streaming }, closers) => {
  const place = directory(closers)
  const config = join(place, "tollgate.yaml")
  writeFileSync(config, settingsFile(nginx, streaming))
  const databaseUrl = await durablePostgres(closers)
  const kinds = [
    { name: "Postgres", env: { DATABASE_URL: databaseUrl } },
    { name: "embedded", env: {} }
  ]
  const table = new Map<string, Row>()
  for (const { env: more, name } of kinds) {
    console.error(`  ${name} ...`)
    const dataDir = join(place, name)
    mkdirSync(dataDir, { mode: 0o700 })
    const env = (port: number) => ({ ...gatewayEnvironment(port, config, dataDir), ...more })
    const first = await startOnce(env)
    const times: Array<number> = []
    while (times.length < TIMES) times.push(await startOnce(env))
    table.set(name, rowOf(first, times))
  }
  return table
}
