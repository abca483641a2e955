/**
 * Follows requests as they end. A request appears in the list when it has ended, at the place of
 * its arrival, so each reading begins before the last one: each time by a margin, and now and then
 * by as long as a request may take. Each request is given once. A reading that fails for a passing
 * reason is repeated later, from where the last good one ended.
 */
import { Clock, Effect, type PlatformError, Ref, Result, type Stdio } from "effect"
import type { TollgateError } from "../../client/Client.ts"
import { isTollgateError } from "../Failure.ts"
import { readPages } from "../Pages.ts"
import type { Query, RequestPage, Source } from "./Source.ts"

type Entry = RequestPage["data"][number]

const PAGE = 100
const SHORT_MS = 30_000
/** The longest request that is surely followed. */
const LONG_MS = 600_000
/** Between two readings that go far back. */
const SWEEP_MS = 20_000
const SHORTEST_PAUSE_MS = 1_000
/** While nothing happens. */
const LONGEST_PAUSE_MS = 4_000
/** While the gateway does not answer. */
const LONGEST_RETRY_MS = 30_000

type Written = Effect.Effect<void, PlatformError.PlatformError, Stdio.Stdio>

export interface Following {
  readonly list: Source["list"]
  readonly query: Query
  /** Called with new requests, oldest first. */
  readonly onRequests: (entries: ReadonlyArray<Entry>) => Written
  /** Called before a pause after a failed reading. */
  readonly onFailure: (message: string, pauseSeconds: number) => Written
  /** The requests before the first reading that are given, too. */
  readonly before: number
}

const isPassing = (error: TollgateError | PlatformError.PlatformError): boolean =>
  isTollgateError(error) && (error.isRetryable || error.reason._tag === "CutOff" || (error.status ?? 0) >= 500)

/** Runs until it is interrupted, or a reading is refused for good. */
export const follow = Effect.fnUntraced(function* ({ before, list, onFailure, onRequests, query }: Following) {
  const seen = new Map<string, number>()
  const startedMs = yield* Clock.currentTimeMillis
  const state = yield* Ref.make({ readMs: startedMs, sweptMs: startedMs })

  const read = Effect.fnUntraced(function* (fromMs: number) {
    const from = new Date(fromMs).toISOString()
    const { data } = yield* readPages((cursor) => list({ ...query, from }, PAGE, cursor), Infinity)
    const fresh = data.filter(({ row }) => !seen.has(row.id)).toReversed()
    for (const { row } of fresh) seen.set(row.id, Date.parse(row.created_at))
    return fresh
  })

  const next = Effect.gen(function* () {
    const nowMs = yield* Clock.currentTimeMillis
    const { readMs, sweptMs } = yield* Ref.get(state)
    const isSweep = nowMs - sweptMs >= SWEEP_MS
    // The gateway's clock may differ; a margin covers that, and what it writes late.
    const fresh = yield* read(readMs - (isSweep ? LONG_MS : SHORT_MS))
    yield* Ref.set(state, { readMs: nowMs, sweptMs: isSweep ? nowMs : sweptMs })
    for (const [id, atMs] of seen) if (atMs < readMs - 2 * LONG_MS) seen.delete(id)
    if (fresh.length > 0) yield* onRequests(fresh)
    return fresh.length
  })

  // In this order: a request that ends in between is in neither, and the next reading finds it.
  yield* read(startedMs - LONG_MS)
  const latest = before === 0 ? [] : (yield* list(query, Math.min(before, PAGE), {})).data
  const known = latest.toReversed()
  for (const { row } of known) seen.set(row.id, Date.parse(row.created_at))
  if (known.length > 0) yield* onRequests(known)

  let pauseMs = SHORTEST_PAUSE_MS
  let retryMs = SHORTEST_PAUSE_MS
  return yield* Effect.forever(
    Effect.gen(function* () {
      yield* Effect.sleep(pauseMs)
      const read = yield* Effect.result(next)
      if (Result.isFailure(read) && !isPassing(read.failure)) return yield* read.failure
      if (Result.isFailure(read)) yield* onFailure(read.failure.message, retryMs / 1_000)
      const found = Result.isSuccess(read) ? read.success : null
      pauseMs = found === null ? retryMs : found > 0 ? SHORTEST_PAUSE_MS : Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
      retryMs = found === null ? Math.min(retryMs * 2, LONGEST_RETRY_MS) : SHORTEST_PAUSE_MS
    })
  )
})
