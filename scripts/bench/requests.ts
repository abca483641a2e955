/**
 * Whole requests with 32 connections and with one, to several servers in turns of two seconds, and
 * the medians over the turns. Other load on the machine then affects all servers alike.
 */
import { type Bench } from "./bench.ts"
import { chatBody } from "./messages.ts"
import { garbageColumns } from "./garbage.ts"
import { median } from "./quantile.ts"
import { type Row, type Table } from "./report.ts"
import { type Target } from "./servers.ts"
import { drive, type Load } from "./wrk.ts"

/**
 * Warm-up before a measurement, in seconds: the optimizing compiler needs some ten thousand
 * requests.
 */
const WARM_SECONDS = 15
/** Duration of one turn. */
const TURN_SECONDS = 2

export interface RequestOptions {
  /** True: every request has its own body. False: all have the same. */
  readonly unique: boolean
  /** The prompt, with `@@` in place of a unique number. */
  readonly prompt?: string
}

export const turnsOf = (seconds: number): ReadonlyArray<number> =>
  Array.from({ length: Math.ceil(seconds / TURN_SECONDS) }, (_, turn) =>
    Math.min(TURN_SECONDS, seconds - turn * TURN_SECONDS)
  )

/** The median of one figure over the turns. */
export const medianOf = (loads: ReadonlyArray<Load>, figure: Exclude<keyof Load, "garbage">): number =>
  median(loads.map((load) => load[figure]))

/** Of all turns together. */
const garbageOf = (loads: ReadonlyArray<Load>): Row =>
  garbageColumns(
    loads.map(({ garbage }) => garbage),
    loads.reduce((sum, { requests }) => sum + requests, 0),
    loads.reduce((sum, { seconds }) => sum + seconds, 0)
  )

export const errorsOf = (loads: ReadonlyArray<Load>): number => loads.reduce((sum, { errors }) => sum + errors, 0)

/** One row per target, in order. Each is warmed up first. */
export const measureRequests = async (
  { options, record }: Bench,
  targets: ReadonlyArray<Target>,
  { prompt = "@@", unique }: RequestOptions
): Promise<Table> => {
  const body = chatBody("bench/model", prompt, false)
  const measured = targets.map((target) => ({
    target,
    load: { body, unique: target.unique ?? unique },
    many: Array.of<Load>(),
    one: Array.of<Load>()
  }))
  for (const { load, target } of measured) {
    console.error(`  warming ${target.server.name} ...`)
    await drive(target, { ...load, connections: 32, seconds: WARM_SECONDS })
  }
  for (const turn of turnsOf(options.seconds)) {
    for (const { load, many, one, target } of measured) {
      for (const [connections, loads] of [
        [32, many],
        [1, one]
      ] as const) {
        const measured = await drive(target, { ...load, connections, seconds: turn })
        record(target.server.name, connections, measured)
        loads.push(measured)
      }
    }
  }
  return new Map(
    measured.map(({ many, one, target }): [string, Row] => [
      target.server.name,
      {
        "req/s @32": medianOf(many, "requestsPerSecond"),
        "p50 ms @32": medianOf(many, "p50Ms"),
        "p99 ms @32": medianOf(many, "p99Ms"),
        "req/s @1": medianOf(one, "requestsPerSecond"),
        "p50 ms @1": medianOf(one, "p50Ms"),
        "p99 ms @1": medianOf(one, "p99Ms"),
        "CPU us/req @32": medianOf(many, "cpuMicrosPerRequest"),
        ...garbageOf(many),
        "RSS MiB": one.at(-1)?.residentMib ?? Number.NaN,
        errors: errorsOf([...many, ...one])
      }
    ])
  )
}
