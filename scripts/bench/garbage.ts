/** What the garbage collector of a process under measurement did, as gcProbe.ts reports it. */
import { existsSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { type Closers } from "./closers.ts"
import { directory, type Server } from "./servers.ts"

export interface Garbage {
  readonly allocatedBytes: number
  readonly pauseMicros: ReadonlyArray<number>
}

const nothing: Garbage = { allocatedBytes: Number.NaN, pauseMicros: [] }

/** A file for the reports of one process, and the environment that loads the probe into it. */
export const garbageProbe = (closers: Closers) => {
  const file = join(directory(closers), "garbage.json")
  return { file, env: { BENCH_GARBAGE: file, NODE_OPTIONS: `--import=${join(import.meta.dirname, "gcProbe.ts")}` } }
}

const reportOf = async (file: string, pid: number): Promise<string> => {
  rmSync(file, { force: true })
  process.kill(pid, "SIGUSR2")
  while (!existsSync(file)) await pause(5)
  return readFileSync(file, "utf8")
}

/**
 * Watches the garbage collector of a server until the returned function is called. Without a probe:
 * reports nothing.
 */
export const watchGarbage = async ({ garbage, pid }: Server): Promise<() => Promise<Garbage>> => {
  if (garbage === undefined) return () => Promise.resolve(nothing)
  await reportOf(garbage, pid)
  return async () => JSON.parse(await reportOf(garbage, pid)) as Garbage
}

/** The columns of a report. */
export const garbageColumns = (all: ReadonlyArray<Garbage>, requests: number, seconds: number) => {
  const pauses = all.flatMap(({ pauseMicros }) => pauseMicros)
  const bytes = all.reduce((sum, { allocatedBytes }) => sum + allocatedBytes, 0)
  return {
    "kB/req": bytes / 1_000 / requests,
    "GC share": Number.isNaN(bytes) ? bytes : pauses.reduce((sum, micros) => sum + micros, 0) / 1e6 / seconds,
    "GC longest ms": Number.isNaN(bytes) ? bytes : Math.max(0, ...pauses) / 1_000
  }
}
