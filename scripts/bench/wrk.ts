/** Drives one server with wrk and reads wrk's figures (request.lua prints them as JSON). */
import { execFile } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { type Garbage, watchGarbage } from "./garbage.ts"
import { cpuMicros, residentMib } from "./processStat.ts"
import { type Server, type Target } from "./servers.ts"

export interface Load {
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Answers other than 2xx and 3xx, and broken connections. */
  readonly errors: number
  readonly cpuMicrosPerRequest: number
  readonly residentMib: number
  readonly requests: number
  readonly seconds: number
  readonly garbage: Garbage
}

const run = promisify(execFile)

export interface DriveOptions {
  readonly body: string
  /**
   * True: every request has its own body, with a number in place of the `@@` in `body`. False: all
   * have the same.
   */
  readonly unique: boolean
  readonly connections: number
  readonly seconds: number
}

/**
 * The output of wrk. The body is passed in a file, because the longest prompts exceed the limit of
 * an environment variable.
 */
const runWrk = async ({ path, server, uniqueHeader = "" }: Target, options: DriveOptions): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), "tollgate-bench-"))
  try {
    const file = join(directory, "body")
    await writeFile(file, options.body)
    const env = {
      ...process.env,
      BENCH_BODY_FILE: file,
      BENCH_UNIQUE: options.unique ? crypto.randomUUID() : "",
      BENCH_UNIQUE_HEADER: uniqueHeader,
      BENCH_HEADERS: Object.entries(server.headers)
        .map(([name, value]) => `${name}: ${value}\n`)
        .join("")
    }
    // One thread: the other cores are for the servers.
    const load = ["-t1", `-c${options.connections}`, `-d${options.seconds}s`, "--timeout", "10s"]
    const script = join(import.meta.dirname, "request.lua")
    return (await run("wrk", [...load, "-s", script, `${server.url}${path}`], { env })).stdout
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

const processesOf = ({ pid, workers = [pid] }: Server): ReadonlyArray<number> => workers

const totalOf = (server: Server, figure: (pid: number) => number): number =>
  processesOf(server).reduce((sum, pid) => sum + figure(pid), 0)

export const drive = async (target: Target, options: DriveOptions): Promise<Load> => {
  const collected = await watchGarbage(target.server)
  const before = totalOf(target.server, cpuMicros)
  const stdout = await runWrk(target, options)
  const used = totalOf(target.server, cpuMicros) - before
  const garbage = await collected()
  const line = stdout.split("\n").find((text) => text.startsWith("{"))
  if (line === undefined) throw new Error(`wrk said nothing to read:\n${stdout}`)
  const figures = JSON.parse(line) as Record<"requests" | "micros" | "p50" | "p99" | "errors", number>
  return {
    requestsPerSecond: figures.requests / (figures.micros / 1e6),
    p50Ms: figures.p50 / 1_000,
    p99Ms: figures.p99 / 1_000,
    errors: figures.errors,
    cpuMicrosPerRequest: used / Math.max(1, figures.requests),
    residentMib: totalOf(target.server, residentMib),
    requests: figures.requests,
    seconds: figures.micros / 1e6,
    garbage
  }
}
