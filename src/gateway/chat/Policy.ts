/**
 * The policies of a request, in this order: rate limits, monthly budget, model whitelist. The first
 * that refuses ends the request. Requests a minute and concurrent requests are checked before the
 * request is read, tokens once they are counted. A concurrency slot and a reservation are released
 * when the request's scope closes, whatever the outcome.
 *
 * A policy whose answer is known decides as it is called: its effect is then an `Exit`, which costs
 * no step of the runtime. So call it where its request is, not ahead of that.
 */
import { Clock, Context, Duration, Effect, Exit, Layer, Schedule, type Scope } from "effect"
import {
  DependencyUnavailable,
  gatewayError,
  type GatewayError,
  ModelNotAllowed,
  RateLimited
} from "../../domain/Errors.ts"
import { TransientMap } from "../../domain/runtime/TransientMap.ts"
import { allowsModel } from "../../domain/Key.ts"
import { addFinalizer } from "../../domain/runtime/OnClose.ts"
import { type Lease, Limits, type LimitVerdict } from "../../store/limits/Limits.ts"
import { type StoreError } from "../../store/StoreError.ts"
import { BudgetAlerts } from "../billing/BudgetAlerts.ts"
import { feeRefusal } from "../billing/Fees.ts"
import { Meter } from "../billing/Meter.ts"
import { type MeteredRequest } from "../billing/Reservation.ts"
import { type Caller, holderOf } from "../request/Caller.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { type LimitsLeft, type Note } from "../request/ResponseMetadata.ts"
import { BUDGET, type RequestTrace, stagedNow } from "../telemetry/RequestTrace.ts"
import { budgetExceeded } from "../billing/IncrementalReservation.ts"

/** How long the concurrency slots of a dead process stay taken. */
const LEASE_MS = 15_000
/** The renewal interval of this process's slots. A lease survives one failed renewal. */
const RENEW_EVERY_MS = 5_000
/**
 * The share of the minute's tokens that has to be left after a bound is taken. With less left, the
 * prompt is counted.
 */
const AMPLE_SHARE = 0.5
/** A prompt has at least one token in this many characters, unless it repeats one character. */
const MAX_CHARACTERS_PER_TOKEN = 16

/** A request before it is planned. `tokens`: those to take for its prompt, 0 at first. */
export interface Arrival {
  readonly generationId: string
  readonly caller: Caller
  readonly tokens: number
  /** `tokens` are a bound: a limit that has no room for them takes none. */
  readonly isBound?: boolean
  readonly trace: RequestTrace | null
  /** Receives what remains of the limits, even if the request is refused. */
  readonly note: Note
  /** The request's. It holds the concurrency slot. */
  readonly scope: Scope.Scope
}

/** What the rate limits granted. `taken`: the tokens that were taken for the prompt. */
export interface Granted {
  readonly left: LimitsLeft
  readonly taken: number
}

export class Policy extends Context.Service<
  Policy,
  {
    /** Checks requests a minute, concurrent requests, and the tokens known so far. */
    readonly rateLimit: (arrival: Arrival) => Effect.Effect<Granted, GatewayError>
    /**
     * How many tokens to count at most in a prompt of `characters`. Fails if no count is needed:
     * the prompt has more tokens than the key may use in a minute, or than are left of this minute.
     */
    readonly tokensToCount: (
      caller: Caller,
      characters: number,
      left: LimitsLeft
    ) => Effect.Effect<number, GatewayError>
    /**
     * Takes the prompt's tokens from the minute's limit, if `rateLimit` has not. Where the limit
     * has no ample room for a bound, the count decides; other bounds that were taken from it are
     * then corrected to their counts first.
     */
    readonly tokens: (request: MeteredRequest) => Effect.Effect<void, GatewayError>
    /** Reserves the cost of the request. Refuses if the month's budget has no room for it. */
    readonly budget: (request: MeteredRequest) => Effect.Effect<void, GatewayError>
    readonly whitelist: (plan: RequestPlan) => Effect.Effect<void, GatewayError>
  }
>()("tollgate/gateway/chat/Policy") {
  static readonly layer = Layer.effect(
    Policy,
    Effect.gen(function* () {
      const limits = yield* Limits
      const meter = yield* Meter
      const alerts = yield* BudgetAlerts
      const clock = yield* Clock.Clock
      /** The concurrency slots of this process, by id. */
      const held = new TransientMap<string, Lease>()

      /** Records what remains of the limits, and fails if one refused. */
      const judged = (caller: Caller, note: Note, verdict: LimitVerdict): Effect.Effect<LimitVerdict, GatewayError> => {
        const { requests, tokens } = verdict
        note({ requests, tokens })
        return verdict.refusedBy === null ? Effect.succeed(verdict) : Effect.fail(refusedBy(caller, verdict))
      }

      const acquire = (arrival: Arrival, tokens: number): Effect.Effect<Granted, GatewayError> => {
        const { caller, generationId: leaseId, isBound = false, note } = arrival
        const { keyId, limits: own, owner = null } = holderOf(caller)
        const nowMs = clock.currentTimeMillisUnsafe()
        const asked = limits.acquire({ keyId, limits: own, owner, leaseId, tokens, nowMs, leaseMs: LEASE_MS })
        return Effect.flatMapEager(Effect.catchEager(asked, unavailable), (verdict) => {
          // The count may pass where the bound was refused.
          if (verdict.refusedBy === "tokens" && tokens > 0 && (isBound || boundedBeside(caller).length > 0))
            return acquire(arrival, 0)
          return Effect.mapEager(judged(caller, note, verdict), (left) => {
            held.set(leaseId, { keyId, ownerId: owner?.id ?? null, leaseId })
            return { left, taken: tokens }
          })
        })
      }

      /** Running requests whose bound was taken, by their id. */
      const bounded = new TransientMap<string, MeteredRequest>()

      const boundedBeside = (caller: Caller): ReadonlyArray<MeteredRequest> => {
        const { keyId, owner } = holderOf(caller)
        return bounded
          .values()
          .filter(({ plan }) => plan.caller.key.id === keyId || (owner && plan.caller.owner?.id === owner.id))
      }

      /** Corrects a bound that was taken to the count. */
      const correctToCount = (request: MeteredRequest): Effect.Effect<void> =>
        Effect.flatMap(request.plan.prompt.count(), (tokens) => {
          // The request may have ended while its prompt was counted.
          return bounded.delete(request.plan.generationId) && !request.reservation.isSettled
            ? meter.correctTokens(request, tokens, clock.currentTimeMillisUnsafe())
            : Effect.void
        })

      const release = (generationId: string): Effect.Effect<void> => {
        const lease = held.get(generationId)
        held.delete(generationId)
        bounded.delete(generationId)
        if (lease === undefined) return Effect.void
        const released = limits.release(lease)
        return Exit.isExit(released) ? Effect.void : Effect.ignore(released)
      }

      const renew = Effect.suspend(() =>
        held.size === 0 ? Effect.void : limits.renew(held.values(), LEASE_MS, clock.currentTimeMillisUnsafe())
      )
      yield* Effect.forkScoped(Effect.repeat(Effect.ignore(renew), Schedule.spaced(Duration.millis(RENEW_EVERY_MS))))

      const take = (request: MeteredRequest): Effect.Effect<void, GatewayError> => {
        const { plan, reservation } = request
        const { caller, prompt } = plan
        const tokens = prompt.most
        if (tokens === 0) return Effect.void
        const most = mostTokens(caller)
        if (tokens > most) {
          return prompt.isCounted
            ? Effect.fail(tooLong(caller, tokens))
            : Effect.flatMap(prompt.count(most), () => take(request))
        }
        const asked = limits.take({ ...holderOf(caller), tokens, nowMs: clock.currentTimeMillisUnsafe() })
        return Effect.flatMapEager(Effect.catchEager(asked, unavailable), (verdict) => {
          const others = verdict.refusedBy === "tokens" && prompt.isCounted ? boundedBeside(caller) : []
          if (verdict.refusedBy === "tokens" && (!prompt.isCounted || others.length > 0)) {
            const counted = prompt.isCounted
              ? Effect.forEach(others, correctToCount, { discard: true })
              : Effect.asVoid(prompt.count(most))
            return Effect.flatMap(counted, () => take(request))
          }
          return Effect.flatMapEager(judged(caller, reservation.note, verdict), (left) => {
            reservation.setTakenTokens(tokens)
            return settled(request, left.tokens)
          })
        })
      }

      /** What remains to do once the prompt's tokens are taken. */
      const settled = (request: MeteredRequest, left: LimitsLeft["tokens"] | null): Effect.Effect<void> => {
        const { plan, reservation } = request
        if (plan.prompt.isCounted && reservation.takenTokens === plan.prompt.most) return Effect.void
        bounded.set(plan.generationId, request)
        return plan.prompt.isCounted || (left !== null && !isAmple(left)) ? correctToCount(request) : Effect.void
      }

      const reserve = (request: MeteredRequest): Effect.Effect<void, GatewayError> => {
        const { plan } = request
        const refusal = feeRefusal(plan)
        if (refusal !== null) return Effect.fail(refusal)
        return Effect.flatMapEager(meter.reserve(request), (result) => {
          if (result._tag === "Reserved") return Effect.void
          alerts.note(plan.caller.key, true)
          return Effect.fail(budgetExceeded(plan, result.balance, result.neededNano))
        })
      }

      return Policy.of({
        rateLimit: (arrival) => {
          const { generationId, scope, tokens, trace } = arrival
          const slot = Effect.flatMapEager(
            stagedNow(trace, RATE_LIMIT, () => acquire(arrival, tokens)),
            (granted) =>
              Effect.mapEager(
                addFinalizer(scope, () => release(generationId)),
                () => granted
              )
          )
          return Exit.isExit(slot) ? slot : Effect.uninterruptible(slot)
        },

        tokensToCount: (caller, characters, { tokens: left }) => {
          const most = mostTokens(caller)
          const fewest = Math.floor(characters / MAX_CHARACTERS_PER_TOKEN)
          if (fewest > most) return Effect.fail(tooLong(caller, fewest))
          return fewest <= left.remaining
            ? Effect.succeed(most)
            : Effect.fail(
                refused(
                  "tokens",
                  left.limit === caller.limits.tokensPerMinute ? "key" : "owner",
                  left.limit,
                  left.resetMs
                )
              )
        },

        tokens: (request) => {
          if (request.reservation.takenTokens > 0) return settled(request, null)
          const taken = stagedNow(request.plan.trace, RATE_LIMIT, () => take(request))
          return Exit.isExit(taken) ? taken : Effect.uninterruptible(taken)
        },

        budget: (request) => stagedNow(request.plan.trace, BUDGET, () => reserve(request)),

        whitelist: ({ caller, model, native, trace }) => {
          const isForbidden = (name: string) => !allowsModel(caller.key.allowedModels, name)
          const forbidden = isForbidden(model) ? model : native?.models.find(isForbidden)
          return stagedNow(trace, "tollgate.policy.whitelist", () =>
            forbidden === undefined ? Effect.void : Effect.fail(gatewayError(new ModelNotAllowed({ model: forbidden })))
          )
        }
      })
    })
  )
}

/** Whether a bound may stay taken, because much of the minute's limit is left. */
export const isAmple = ({ limit, remaining }: LimitsLeft["tokens"]): boolean => remaining >= limit * AMPLE_SHARE

const RATE_LIMIT = "tollgate.policy.rate_limit"

/** The tokens that the caller may use in a minute. */
export const mostTokens = ({ limits, owner }: Caller): number =>
  owner === undefined || owner === null
    ? limits.tokensPerMinute
    : Math.min(limits.tokensPerMinute, owner.limits.tokensPerMinute)

/** The error of a prompt that exceeds the limit of a whole minute. Waiting does not help. */
export const tooLong = (caller: Caller, tokens: number): GatewayError =>
  gatewayError(
    new RateLimited({
      limit: "tokens",
      holder: mostTokens(caller) < caller.limits.tokensPerMinute ? "owner" : "key",
      allowed: mostTokens(caller),
      needed: tokens,
      retryAfterMs: null
    })
  )

const refused = (
  limit: RateLimited["limit"],
  holder: RateLimited["holder"],
  allowed: number,
  retryAfterMs: number
): GatewayError => gatewayError(new RateLimited({ limit, holder, allowed, needed: null, retryAfterMs }))

const refusedBy = (caller: Caller, { holder, refusedBy, retryAfterMs }: LimitVerdict): GatewayError => {
  const limits = holder === "owner" ? (caller.owner?.limits ?? caller.limits) : caller.limits
  const allowed = {
    requests: limits.requestsPerMinute,
    tokens: limits.tokensPerMinute,
    concurrency: limits.concurrency
  }
  const limit = refusedBy ?? "requests"
  return refused(limit, holder ?? "key", allowed[limit], retryAfterMs)
}

const unavailable = (error: StoreError): Effect.Effect<never, GatewayError> =>
  Effect.fail(gatewayError(new DependencyUnavailable({ dependency: error.dependency })))
