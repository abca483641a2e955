/**
 * Rate limits stored in Redis. Each call is one script: atomic, and one round trip.
 *
 * A release that did not reach Redis is retried in the background until it does or the lease is
 * over. The lease is also released when the reply to an acquire was lost (time limit, interruption,
 * broken connection), because the lease may have been granted to a caller that will never release
 * it. The request and the tokens that such an acquire may have taken are not given back, and refill
 * within a minute.
 */
import { Cause, Effect, Exit, Schedule, type Scope, Layer } from "effect"
import { Limits } from "./Limits.ts"
import { Redis } from "effect/persistence"
import { type RateLimits } from "../../domain/Key.ts"
import {
  bucketsKey,
  correctScript,
  leasesKey,
  type LimitClock,
  removeScript,
  renewScript,
  takeScript
} from "./LimitsScript.ts"
import {
  type BucketState,
  type Correction,
  type Lease,
  type LimitHolder,
  type LimitRequest,
  type LimitVerdict,
  type TokenRequest
} from "./LimitVerdict.ts"
import { RedisOffline } from "../redis/RedisOffline.ts"
import { redisScript } from "../redis/RedisScript.ts"
import { StoreError } from "../StoreError.ts"

/** The reply of `takeScript`. */
type Answer = readonly [
  refused: number,
  holder: number,
  retryAfterMs: number,
  requestsHolder: number,
  requestsRemaining: number,
  requestsResetMs: number,
  tokensHolder: number,
  tokensRemaining: number,
  tokensResetMs: number
]

/** Most releases that are retried at the same time. Further leases are left to expire. */
const maxPendingReleases = 1_000
/** Retries twice a second for 15 seconds, which is how long a lease lasts. */
const RELEASE_RETRY = { schedule: Schedule.spaced("500 millis"), times: 30 }
/** Most leases that one call of the script renews. */
const RENEW_BATCH_SIZE = 500

/** The service, over the `Redis` of the context. Failures are `StoreError`s of the limit store. */
export const makeLimitsRedis = Effect.fnUntraced(function* (clock: LimitClock) {
  const redis = yield* Redis.Redis
  const scope = yield* Effect.scope
  const runTake = redisScript<Answer>(redis, takeScript(clock))
  const runCorrect = redisScript<readonly [holder: number, remaining: number, resetMs: number]>(
    redis,
    correctScript(clock)
  )
  const runRenew = redisScript<number>(redis, renewScript(clock))
  const runRemove = redisScript<number>(redis, removeScript)
  const remove = (lease: Lease): Effect.Effect<unknown, Redis.RedisError> =>
    lease.ownerId === null
      ? redis.send("ZREM", leasesKey(lease.keyId), lease.leaseId)
      : runRemove(leaseKeysOf(lease), [lease.leaseId])
  const releaseInBackground = makeBackgroundRelease(scope, remove)

  const take = (request: TokenRequest, requests: 0 | 1, leaseId: string, leaseMs: number) =>
    runTake(keysOf(request), [
      String(request.nowMs),
      String(requests),
      String(request.tokens),
      leaseId,
      String(Math.ceil(leaseMs)),
      ...figuresOf(request)
    ])

  return {
    acquire: (request: LimitRequest): Effect.Effect<LimitVerdict, StoreError> => {
      const taken = Effect.onExitPrimitive(take(request, 1, request.leaseId, request.leaseMs), (exit) =>
        Exit.isSuccess(exit) || wasNeverSent(exit.cause)
          ? undefined
          : releaseInBackground(leaseOf(request, request.leaseId))
      )
      return Effect.mapBoth(taken, { onFailure: unavailable, onSuccess: (answer) => verdictFrom(answer, request) })
    },

    take: (request: TokenRequest): Effect.Effect<LimitVerdict, StoreError> =>
      Effect.mapBoth(take(request, 0, "", 0), {
        onFailure: unavailable,
        onSuccess: (answer) => verdictFrom(answer, request)
      }),

    renew: (leases: ReadonlyArray<Lease>, leaseMs: number, nowMs: number): Effect.Effect<void, StoreError> =>
      Effect.forEach(batches(leases), ({ ids, keys }) => runRenew(keys, [String(nowMs), String(leaseMs), ...ids]), {
        concurrency: 32,
        discard: true
      }).pipe(Effect.mapError(unavailable)),

    release: (lease: Lease): Effect.Effect<void, StoreError> => {
      const removed = Effect.onExitPrimitive(remove(lease), (exit) =>
        Exit.isSuccess(exit) ? undefined : releaseInBackground(lease)
      )
      return Effect.mapBoth(removed, { onFailure: unavailable, onSuccess: () => undefined })
    },

    correct: (correction: Correction): Effect.Effect<BucketState, StoreError> =>
      runCorrect(keysOf(correction), [
        String(correction.nowMs),
        "0",
        String(correction.delta),
        "",
        "0",
        ...figuresOf(correction)
      ]).pipe(
        Effect.mapBoth({
          onFailure: unavailable,
          onSuccess: ([holder, remaining, resetMs]) => ({
            limit: limitsOf(correction, holder).tokensPerMinute,
            remaining,
            resetMs
          })
        })
      ),

    ping: redis.send("PING").pipe(Effect.mapError(unavailable), Effect.asVoid)
  }
})

const leaseOf = ({ keyId, owner }: LimitHolder, leaseId: string): Lease => ({
  keyId,
  ownerId: owner?.id ?? null,
  leaseId
})

const leaseKeysOf = ({ keyId, ownerId }: Lease): ReadonlyArray<string> =>
  ownerId === null ? [leasesKey(keyId)] : [leasesKey(keyId, ownerId), leasesKey(ownerId)]

const keysOf = ({ keyId, owner }: LimitHolder): ReadonlyArray<string> =>
  owner === undefined || owner === null
    ? [bucketsKey(keyId), leasesKey(keyId)]
    : [bucketsKey(keyId, owner.id), leasesKey(keyId, owner.id), bucketsKey(owner.id), leasesKey(owner.id)]

const figuresOf = ({ limits, owner }: LimitHolder): ReadonlyArray<string> =>
  owner === undefined || owner === null ? figures(limits) : [...figures(limits), ...figures(owner.limits)]

const figures = ({ concurrency, requestsPerMinute, tokensPerMinute }: RateLimits): ReadonlyArray<string> => [
  String(requestsPerMinute),
  String(tokensPerMinute),
  String(concurrency)
]

/** The limits of the holder that a script names: 1 is the key, 2 its owner. */
const limitsOf = ({ limits, owner }: LimitHolder, holder: number) => (holder === 2 ? (owner?.limits ?? limits) : limits)

/** Groups leases by key, in batches of limited size. */
const batches = (leases: ReadonlyArray<Lease>) => {
  const byKey = new Map<string, { readonly keys: ReadonlyArray<string>; ids: Array<string> }>()
  const full: Array<{ readonly keys: ReadonlyArray<string>; readonly ids: ReadonlyArray<string> }> = []
  for (const lease of leases) {
    const batch = byKey.get(lease.keyId) ?? { keys: leaseKeysOf(lease), ids: [] }
    byKey.set(lease.keyId, batch)
    batch.ids.push(lease.leaseId)
    if (batch.ids.length < RENEW_BATCH_SIZE) continue
    full.push({ ...batch })
    batch.ids = []
  }
  return [...full, ...[...byKey.values()].filter(({ ids }) => ids.length > 0)]
}

/**
 * Releases leases in the background. The first try uses the connection that the acquire used, so
 * Redis sees the two in this order, even if it stalls with both in its queue.
 */
const makeBackgroundRelease = (
  scope: Scope.Scope,
  remove: (lease: Lease) => Effect.Effect<unknown, Redis.RedisError>
) => {
  let running = 0
  return (lease: Lease): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (running >= maxPendingReleases) return Effect.void
      running++
      return remove(lease).pipe(
        Effect.retry(RELEASE_RETRY),
        Effect.ignore,
        Effect.ensuring(Effect.sync(() => void running--)),
        Effect.forkIn(scope, { startImmediately: true }),
        Effect.asVoid
      )
    })
}

const wasNeverSent = (cause: Cause.Cause<Redis.RedisError>): boolean => {
  const failure = cause.reasons.find(Cause.isFailReason)
  return failure?.error.cause instanceof RedisOffline
}

const unavailable = (error: Redis.RedisError): StoreError =>
  new StoreError({ dependency: "limit_store", cause: error.cause })

const refusals = [null, "requests", "tokens", "concurrency"] as const

const holders = [null, "key", "owner"] as const

const verdictFrom = (answer: Answer, holder: LimitHolder): LimitVerdict => ({
  refusedBy: refusals[answer[0]] ?? null,
  holder: holders[answer[1]] ?? null,
  retryAfterMs: answer[2],
  requests: {
    limit: limitsOf(holder, answer[3]).requestsPerMinute,
    remaining: answer[4],
    resetMs: answer[5]
  },
  tokens: { limit: limitsOf(holder, answer[6]).tokensPerMinute, remaining: answer[7], resetMs: answer[8] }
})

/**
 * Limits shared by all processes. Time is read from Redis and every `nowMs` is ignored, so the
 * clocks of the processes need not agree. A Redis that loses its data starts again with full
 * buckets.
 */
export const layer = Layer.effect(Limits, makeLimitsRedis("server"))
