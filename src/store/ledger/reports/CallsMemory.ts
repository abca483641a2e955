/** The calls of providers in the ledger in memory, counted as in Postgres. */
import { type Attempt, type Generation } from "../../../domain/Generation.ts"
import type { LedgerState } from "../MemoryState.ts"
import { bucketsOf, type CallBucket, type CallFigure, timeBucketOf } from "../../../domain/Calls.ts"
import type { SeriesSpan } from "./LedgerReports.ts"

const NOT_FOUND = 404

const isCounted = ({ errorType, status }: Attempt): boolean =>
  status === "ok" ||
  ((status === "error" || status === "timeout") && errorType !== "unsupported" && errorType !== "internal_error")

const isAnswered = ({ errorType, httpStatus, status }: Attempt): boolean =>
  status === "ok" || (errorType === "rejected" && httpStatus !== NOT_FOUND)

const timesOf = ({ endedMs, latencyMs, startedMs = 0, status }: Attempt, streamed: boolean): ReadonlyArray<string> => {
  if (status !== "ok") return []
  if (!streamed) return [`whole ${timeBucketOf(latencyMs)}`]
  return [
    `first ${timeBucketOf(latencyMs)}`,
    ...(endedMs === undefined ? [] : [`whole ${timeBucketOf(endedMs - startedMs)}`])
  ]
}

const figuresOf = (generation: Generation, bucketMs: number): ReadonlyArray<CallFigure> =>
  generation.attempts.filter(isCounted).flatMap((attempt) => {
    const { errorType, httpStatus, message, model, provider, startedMs = 0 } = attempt
    const startMs = Math.floor(generation.createdAtMs / bucketMs) * bucketMs
    const figure = (name: string): CallFigure => ({ startMs, provider, model, figure: name, count: 1, last: null })
    if (isAnswered(attempt)) return [figure("answered"), ...timesOf(attempt, generation.streamed).map(figure)]
    const atMs = generation.createdAtMs + startedMs
    const last = { atMs, errorType: errorType ?? "", httpStatus, message: message ?? null }
    return [figure(`failed ${errorType} ${httpStatus ?? ""}`), { ...figure("last"), last }]
  })

export const callsOf = (state: LedgerState, { bucketMs, fromMs, toMs }: SeriesSpan): ReadonlyArray<CallBucket> => {
  const figures = [...state.generations.values()]
    .map(({ generation }) => generation)
    .filter(({ createdAtMs }) => createdAtMs >= fromMs && createdAtMs < toMs)
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .flatMap((generation) => figuresOf(generation, bucketMs))
  const sums = new Map<string, CallFigure>()
  for (const one of figures) {
    const name = `${one.startMs} ${one.provider} ${one.model} ${one.figure}`
    sums.set(name, { ...one, count: (sums.get(name)?.count ?? 0) + 1 })
  }
  return bucketsOf([...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, figure]) => figure))
}
