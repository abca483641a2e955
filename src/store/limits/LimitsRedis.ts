/**
 * Limits kept in Redis: one script, hence one atomic step and one round trip, a call. A release that Redis did not hear is sent
 * again in the background until Redis hears it or the lease is over. So is that of an acquire whose answer was lost (time limit,
 * interruption, broken connection): it may have taken a lease that its caller will never release. The request and the tokens
 * that it may have taken are not given back: a minute refills them.
 */
import { Cause, Effect, Exit, Schedule, type Scope } from "effect"
import { Redis } from "effect/persistence"
import { bucketsKey, correctScript, leasesKey, type LimitClock, renewScript, takeScript } from "./LimitsScript.ts"
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

/** As takeScript answers. */
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

/** Leases given back at the same time; those beyond it are left to their expiry. */
const maxGivingBack = 1_000
/** Two tries a second, for as long as a lease may last. */
const GIVE_BACK = { schedule: Schedule.spaced("500 millis"), times: 30 }
/** Leases in one call of the script. */
const RENEWED_AT_ONCE = 500

/** The service over the `Redis` of the context; failures are `StoreError`s of the limit store. */
export const makeLimitsRedis = Effect.fnUntraced(function* (clock: LimitClock) {
  const redis = yield* Redis.Redis
  const scope = yield* Effect.scope
  const runTake = redisScript<Answer>(redis, takeScript(clock))
  const runCorrect = redisScript<readonly [holder: number, remaining: number, resetMs: number]>(
    redis,
    correctScript(clock)
  )
  const runRenew = redisScript<number>(redis, renewScript(clock))
  const remove = (lease: Lease) =>
    Effect.forEach(leaseKeysOf(lease), (key) => redis.send("ZREM", key, lease.leaseId), { discard: true })
  const giveBack = givingBack(scope, remove)

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
    acquire: (request: LimitRequest): Effect.Effect<LimitVerdict, StoreError> =>
      take(request, 1, request.leaseId, request.leaseMs).pipe(
        Effect.onExit((exit) =>
          Exit.isSuccess(exit) || wasNeverSent(exit.cause) ? Effect.void : giveBack(leaseOf(request, request.leaseId))
        ),
        Effect.mapBoth({ onFailure: unavailable, onSuccess: (answer) => verdictFrom(answer, request) })
      ),

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

    release: (lease: Lease): Effect.Effect<void, StoreError> =>
      remove(lease).pipe(
        Effect.onExit((exit) => (Exit.isSuccess(exit) ? Effect.void : giveBack(lease))),
        Effect.mapError(unavailable)
      ),

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
  (owner === undefined || owner === null ? [limits] : [limits, owner.limits]).flatMap(
    ({ concurrency, requestsPerMinute, tokensPerMinute }) => [
      String(requestsPerMinute),
      String(tokensPerMinute),
      String(concurrency)
    ]
  )

/** Of the holder that a script names: 1 the key, 2 its owner. */
const limitsOf = ({ limits, owner }: LimitHolder, holder: number) => (holder === 2 ? (owner?.limits ?? limits) : limits)

/** The leases of each key together. */
const batches = (leases: ReadonlyArray<Lease>) => {
  const byKey = new Map<string, { readonly keys: ReadonlyArray<string>; ids: Array<string> }>()
  const full: Array<{ readonly keys: ReadonlyArray<string>; readonly ids: ReadonlyArray<string> }> = []
  for (const lease of leases) {
    const batch = byKey.get(lease.keyId) ?? { keys: leaseKeysOf(lease), ids: [] }
    byKey.set(lease.keyId, batch)
    batch.ids.push(lease.leaseId)
    if (batch.ids.length < RENEWED_AT_ONCE) continue
    full.push({ ...batch })
    batch.ids = []
  }
  return [...full, ...[...byKey.values()].filter(({ ids }) => ids.length > 0)]
}

/**
 * Releases in the background. A first try goes down the connection that the acquire went down, so that Redis meets them in this
 * order even when it wakes up from a stall with both in its queue.
 */
const givingBack = (scope: Scope.Scope, remove: (lease: Lease) => Effect.Effect<unknown, Redis.RedisError>) => {
  let running = 0
  return (lease: Lease): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (running >= maxGivingBack) return Effect.void
      running++
      return remove(lease).pipe(
        Effect.retry(GIVE_BACK),
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
