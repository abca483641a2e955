/**
 * Limits kept in Redis: one script, hence one atomic step and one round trip, a call. An acquire whose answer is lost (time
 * limit, interruption, broken connection) may have taken a lease that its caller will never release; this module gives it back.
 * The request and the tokens it may have taken are not given back: a minute refills them.
 */
import { Cause, Effect, Exit, Schedule, type Scope } from "effect"
import { Redis } from "effect/persistence"
import { type RateLimits } from "../domain/Key.ts"
import { acquireScript, bucketsKey, correctScript, leasesKey, type LimitClock } from "./LimitsScript.ts"
import { type LimitRequest, type LimitVerdict } from "./LimitVerdict.ts"
import { RedisOffline } from "./RedisOffline.ts"
import { redisScript } from "./RedisScript.ts"
import { StoreError } from "./StoreError.ts"

/** As acquireScript answers. */
type Answer = readonly [
  refused: number,
  retryAfterMs: number,
  requestsRemaining: number,
  requestsResetMs: number,
  tokensRemaining: number,
  tokensResetMs: number
]

/** Leases given back at the same time; those beyond it are left to their expiry. */
const maxGivingBack = 1_000
const givingBackTimes = 8

/** The service over the `Redis` of the context; failures are `StoreError`s of the limit store. */
export const makeLimitsRedis = Effect.fnUntraced(function* (clock: LimitClock) {
  const redis = yield* Redis.Redis
  const scope = yield* Effect.scope
  const runAcquire = redisScript<Answer>(redis, acquireScript(clock))
  const runCorrect = redisScript<number>(redis, correctScript(clock))
  const remove = (keyId: string, leaseId: string) => redis.send("ZREM", leasesKey(keyId), leaseId)
  const giveBack = givingBack(scope, remove)

  return {
    acquire: (request: LimitRequest): Effect.Effect<LimitVerdict, StoreError> =>
      runAcquire(
        [bucketsKey(request.keyId), leasesKey(request.keyId)],
        [
          String(request.nowMs),
          String(request.limits.requestsPerMinute),
          String(request.limits.tokensPerMinute),
          String(request.limits.concurrency),
          String(request.tokens),
          request.leaseId,
          String(Math.ceil(request.leaseMs))
        ]
      ).pipe(
        Effect.onExit((exit) =>
          Exit.isSuccess(exit) || wasNeverSent(exit.cause) ? Effect.void : giveBack(request.keyId, request.leaseId)
        ),
        Effect.mapBoth({ onFailure: unavailable, onSuccess: (answer) => verdictFrom(answer, request.limits) })
      ),

    release: (keyId: string, leaseId: string): Effect.Effect<void, StoreError> =>
      remove(keyId, leaseId).pipe(Effect.mapError(unavailable), Effect.asVoid),

    correct: (options: {
      readonly keyId: string
      readonly limits: RateLimits
      readonly delta: number
      readonly nowMs: number
    }): Effect.Effect<void, StoreError> =>
      runCorrect(
        [bucketsKey(options.keyId)],
        [
          String(options.nowMs),
          String(options.limits.requestsPerMinute),
          String(options.limits.tokensPerMinute),
          String(options.delta)
        ]
      ).pipe(Effect.mapError(unavailable), Effect.asVoid),

    ping: redis.send("PING").pipe(Effect.mapError(unavailable), Effect.asVoid)
  }
})

/**
 * Releases in the background, tried again for about half a minute. A first try goes down the connection that the acquire went
 * down, so that Redis meets them in this order even when it wakes up from a stall with both in its queue.
 */
const givingBack = (
  scope: Scope.Scope,
  remove: (keyId: string, leaseId: string) => Effect.Effect<unknown, Redis.RedisError>
) => {
  let running = 0
  return (keyId: string, leaseId: string): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (running >= maxGivingBack) return Effect.void
      running++
      return remove(keyId, leaseId).pipe(
        Effect.retry({ schedule: Schedule.exponential("200 millis"), times: givingBackTimes }),
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

const verdictFrom = (answer: Answer, limits: RateLimits): LimitVerdict => ({
  refusedBy: refusals[answer[0]] ?? null,
  retryAfterMs: answer[1],
  requests: { limit: limits.requestsPerMinute, remaining: answer[2], resetMs: answer[3] },
  tokens: { limit: limits.tokensPerMinute, remaining: answer[4], resetMs: answer[5] }
})
