/** A process's resource usage, from /proc. Includes its threads, not its children. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"

const ticksPerSecond = Number(execFileSync("getconf", ["CLK_TCK"]).toString())

/** User and system time since its start, in µs; exact to one tick (10 ms on most machines). */
export const cpuMicros = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
  // The second field is the program's name in parentheses and may contain spaces. utime and stime
  // are the 14th and 15th.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return ((Number(fields[11]) + Number(fields[12])) * 1_000_000) / ticksPerSecond
}

/** Resident memory, in MiB. */
export const residentMib = (pid: number): number => {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))
  return Number(line?.[1] ?? Number.NaN) / 1024
}
