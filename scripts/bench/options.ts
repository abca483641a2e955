/** The command line of the benchmark. */
import { parseArgs } from "node:util"

const names = [
  "misses",
  "hits",
  "portkey",
  "prompts",
  "agents",
  "streams",
  "crowd",
  "telemetry",
  "promises",
  "durability",
  "workers",
  "start",
  "soak"
] as const
export type PhaseName = (typeof names)[number]

/** Phases that take too long for a run of all. */
const onlyWhenAsked: ReadonlySet<PhaseName> = new Set(["soak"])

export interface Options {
  /** Duration of each measurement. */
  readonly seconds: number
  readonly phases: ReadonlyArray<PhaseName>
  /** Concurrent streams in the phases `streams` and `crowd`. */
  readonly streams: number
  readonly crowd: number
  /** Tokens per second of each stream in the crowd. */
  readonly pace: number
  /** The file for the figures as JSON, or null. */
  readonly out: string | null
}

export const usage = `usage: scripts/bench/run [--seconds N] [--only ${names.join("|")}] [--streams N] [--pace N] [--out FILE]`

const positive = (name: string, text: string): number => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} ${text}: a whole number from 1 on\n${usage}`)
  return value
}

/** Throws an `Error` that names the fault and the usage. */
export const parseOptions = (args: ReadonlyArray<string>): Options => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: "string", default: "8" },
      only: { type: "string" },
      streams: { type: "string" },
      pace: { type: "string", default: "50" },
      out: { type: "string" }
    }
  })
  const only = names.filter((phase) => (values.only === undefined ? !onlyWhenAsked.has(phase) : phase === values.only))
  if (only.length === 0) throw new Error(`--only ${values.only ?? ""}: one of ${names.join(", ")}\n${usage}`)
  return {
    seconds: positive("seconds", values.seconds),
    phases: only,
    streams: positive("streams", values.streams ?? "200"),
    crowd: positive("streams", values.streams ?? "1000"),
    pace: positive("pace", values.pace),
    out: values.out ?? null
  }
}
