/**
 * Calls of providers, counted by attempts and not by generations. A call that the client broke off
 * before an answer, or that was never made, does not count. A request that the provider rejects is
 * an answer; an unknown model is a failure.
 */
import { type OutageCause } from "./Outage.ts"

/** The calls of one provider and model in one bucket of time. */
export interface CallBucket {
  readonly startMs: number
  readonly provider: string
  readonly model: string
  readonly answered: number
  readonly failures: ReadonlyArray<Failures>
  readonly lastFailure: LastFailure | null
  /** How long whole answers took, streams to their end. */
  readonly wholeMs: TimeCounts
  /** How long streams took to their first token. */
  readonly firstTokenMs: TimeCounts
}

/** How many failures had this type and status. */
export interface Failures {
  readonly errorType: string
  readonly httpStatus: number | null
  readonly count: number
}

export interface LastFailure extends OutageCause {
  readonly atMs: number
}

/** From a bucket of times to the number of times in it. A bucket is 5 % wide. */
export type TimeCounts = ReadonlyMap<number, number>

/** Buckets in a factor of e. */
export const TIME_STEPS = 20

export const timeBucketOf = (ms: number): number => Math.round(TIME_STEPS * Math.log(Math.max(1, ms)))

const timeOf = (bucket: number): number => Math.round(Math.exp(bucket / TIME_STEPS))

/** The time below which this share of the times is; null: there are none. */
export const quantileOf = (counts: ReadonlyArray<TimeCounts>, share: number): number | null => {
  const sums = new Map<number, number>()
  for (const [bucket, count] of counts.flatMap((one) => [...one])) sums.set(bucket, (sums.get(bucket) ?? 0) + count)
  let left = share * [...sums.values()].reduce((sum, count) => sum + count, 0)
  for (const [bucket, count] of [...sums].sort(([a], [b]) => a - b)) if ((left -= count) <= 1e-9) return timeOf(bucket)
  return null
}

/**
 * One figure of a bucket: `answered`, `failed <type> <status>`, `whole <bucket>` or
 * `first <bucket>`.
 */
export interface CallFigure {
  readonly startMs: number
  readonly provider: string
  readonly model: string
  readonly figure: string
  readonly count: number
  /** Of the figure `last` alone. */
  readonly last: LastFailure | null
}

export const bucketsOf = (figures: ReadonlyArray<CallFigure>): ReadonlyArray<CallBucket> =>
  [...Map.groupBy(figures, ({ model, provider, startMs }) => `${startMs} ${provider} ${model}`).values()].flatMap(
    (of) => {
      const [one] = of
      if (one === undefined) return []
      const named = (name: string) =>
        of.flatMap(({ count, figure }) => {
          const [kind, type = "", status = ""] = figure.split(" ")
          return kind === name ? [{ type, status, count }] : []
        })
      const times = (name: string) => new Map(named(name).map(({ count, type }) => [Number(type), count]))
      return [
        {
          startMs: one.startMs,
          provider: one.provider,
          model: one.model,
          answered: named("answered")[0]?.count ?? 0,
          failures: named("failed").map(({ count, status, type }) => ({
            errorType: type,
            httpStatus: status === "" ? null : Number(status),
            count
          })),
          lastFailure: of.find(({ last }) => last !== null)?.last ?? null,
          wholeMs: times("whole"),
          firstTokenMs: times("first")
        }
      ]
    }
  )
