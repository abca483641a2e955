/**
 * Whole requests, at 32 connections and at 1, to several servers in turn: two seconds each, again
 * and again, and the medians of it. What else the machine does then falls on all of them alike.
 */
import { chatBody } from "./messages.ts"
import { median } from "./quantile.ts"
import { type Row, type Table } from "./report.ts"
import { type Target } from "./servers.ts"
import { drive, type Load } from "./wrk.ts"

/**
 * Before a measurement, in seconds: a compiler that compiles what is hot needs some ten thousand
 * requests to know it.
 */
const WARM_SECONDS = 15
/** Of one turn. */
const TURN_SECONDS = 2

export interface RequestOptions {
  /** Every request has a body of its own; else all have the same. */
  readonly unique: boolean
  /** Of each measurement, all turns together. */
  readonly seconds: number
  /** The text that is the prompt, `@@` where a unique number goes. */
  readonly prompt?: string
}

export const turnsOf = (seconds: number): ReadonlyArray<number> =>
  Array.from({ length: Math.ceil(seconds / TURN_SECONDS) }, (_, turn) =>
    Math.min(TURN_SECONDS, seconds - turn * TURN_SECONDS)
  )

/** The median of one figure over the turns. */
export const medianOf = (loads: ReadonlyArray<Load>, figure: keyof Load): number =>
  median(loads.map((load) => load[figure]))

export const errorsOf = (loads: ReadonlyArray<Load>): number => loads.reduce((sum, { errors }) => sum + errors, 0)

/** A row for each target, in their order; each is warmed first. */
export const measureRequests = async (
  targets: ReadonlyArray<Target>,
  { prompt = "@@", seconds, unique }: RequestOptions
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
  for (const turn of turnsOf(seconds)) {
    for (const { load, many, one, target } of measured) {
      many.push(await drive(target, { ...load, connections: 32, seconds: turn }))
      one.push(await drive(target, { ...load, connections: 1, seconds: turn }))
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
        "RSS MiB": one.at(-1)?.residentMib ?? Number.NaN,
        errors: errorsOf([...many, ...one])
      }
    ])
  )
}
