/** Drives one server with wrk and reads wrk's own figures (request.lua prints them as JSON). */
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { cpuMicros, residentMib } from "./processStat.ts"
import { type Server } from "./servers.ts"

export interface Load {
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Answers other than 2xx and 3xx, and broken connections. */
  readonly errors: number
  readonly cpuMicrosPerRequest: number
  readonly residentMib: number
}

const run = promisify(execFile)

/** `unique`: every request has a body of its own; else all have the same. */
export const drive = async (
  server: Server,
  path: string,
  options: { readonly body: string; readonly unique: boolean; readonly connections: number; readonly seconds: number }
): Promise<Load> => {
  const before = cpuMicros(server.pid)
  // One thread: the machine's other cores are for what is measured.
  const { stdout } = await run(
    "wrk",
    ["-t1", `-c${options.connections}`, `-d${options.seconds}s`, "--timeout", "10s"].concat([
      "-s",
      join(import.meta.dirname, "request.lua"),
      `${server.url}${path}`
    ]),
    {
      env: {
        ...process.env,
        BENCH_BODY: options.body,
        BENCH_UNIQUE: options.unique ? crypto.randomUUID() : "",
        BENCH_AUTHORIZATION: server.headers["authorization"] ?? ""
      }
    }
  )
  const used = cpuMicros(server.pid) - before
  const line = stdout.split("\n").find((text) => text.startsWith("{"))
  if (line === undefined) throw new Error(`wrk said nothing to read:\n${stdout}`)
  const figures = JSON.parse(line) as Record<"requests" | "micros" | "p50" | "p99" | "errors", number>
  return {
    requestsPerSecond: figures.requests / (figures.micros / 1e6),
    p50Ms: figures.p50 / 1_000,
    p99Ms: figures.p99 / 1_000,
    errors: figures.errors,
    cpuMicrosPerRequest: used / Math.max(1, figures.requests),
    residentMib: residentMib(server.pid)
  }
}
