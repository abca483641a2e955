/**
 * The policies of a request, in this order: rate limits, monthly budget, model whitelist. Each
 * policy wraps the rest of the request; the first that refuses ends it. Requests a minute and
 * concurrent requests are checked before the request is read, tokens once they are counted. A
 * concurrency slot and a reservation are released when the request's scope closes, whatever the
 * outcome.
 */
import { Clock, Context, Duration, Effect, Layer, Schedule, type Scope } from "effect"
import {
  DependencyUnavailable,
  gatewayError,
  type GatewayError,
  ModelNotAllowed,
  RateLimited
} from "../../domain/Errors.ts"
import { allowsModel } from "../../domain/Key.ts"
import { acquired } from "../../domain/OnClose.ts"
import { type Lease, Limits, type LimitVerdict } from "../../store/limits/Limits.ts"
import { type StoreError } from "../../store/StoreError.ts"
import { BudgetAlerts } from "../billing/BudgetAlerts.ts"
import { feeRefusal } from "../billing/Fees.ts"
import { Meter } from "../billing/Meter.ts"
import { type MeteredRequest } from "../billing/Reservation.ts"
import { type Caller, holderOf } from "../request/Caller.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { type LimitsLeft, type Note } from "../request/ResponseMetadata.ts"
import { BUDGET, type RequestTrace, staged } from "../telemetry/RequestTrace.ts"
import { budgetExceeded } from "../billing/IncrementalReservation.ts"

/** How long the concurrency slots of a dead process stay taken. */
const LEASE_MS = 15_000
/** The renewal interval of this process's slots. A lease survives one failed renewal. */
const RENEW_EVERY_MS = 5_000
/** A prompt has at least one token in this many characters, unless it repeats one character. */
const MAX_CHARACTERS_PER_TOKEN = 16

export type Step = <A, R>(next: Effect.Effect<A, GatewayError, R>) => Effect.Effect<A, GatewayError, R | Scope.Scope>

/** A request before its prompt is counted. `tokens`: the tokens known so far, 0 at first. */
export interface Arrival {
  readonly generationId: string
  readonly caller: Caller
  readonly tokens: number
  readonly trace: RequestTrace | null
  /** Receives what remains of the limits, even if the request is refused. */
  readonly note: Note
}

export class Policy extends Context.Service<
  Policy,
  {
    /** Checks requests a minute, concurrent requests, and the tokens known so far. */
    readonly rateLimit: (
      arrival: Arrival
    ) => <A, R>(
      next: (left: LimitsLeft) => Effect.Effect<A, GatewayError, R>
    ) => Effect.Effect<A, GatewayError, R | Scope.Scope>
    /**
     * How many tokens to count at most in a prompt of `characters`. Fails if no count is needed:
     * the prompt has more tokens than the key may use in a minute, or than are left of this minute.
     */
    readonly tokensToCount: (
      caller: Caller,
      characters: number,
      left: LimitsLeft
    ) => Effect.Effect<number, GatewayError>
    /** Takes the prompt's tokens from the minute's limit, if `rateLimit` has not. */
    readonly tokens: (request: MeteredRequest) => Step
    /** Reserves the cost of the request. Refuses if the month's budget has no room for it. */
    readonly budget: (request: MeteredRequest) => Step
    readonly whitelist: (plan: RequestPlan) => Step
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
      const held = new Map<string, Lease>()

      const judged = (caller: Caller, note: Note, asked: Effect.Effect<LimitVerdict, StoreError>) =>
        Effect.flatMap(Effect.catch(asked, unavailable), (verdict) => {
          const { requests, tokens } = verdict
          note({ requests, tokens })
          return verdict.refusedBy === null ? Effect.succeed(verdict) : Effect.fail(refusedBy(caller, verdict))
        })

      const acquire = ({ caller, generationId, note, tokens }: Arrival): Effect.Effect<LimitsLeft, GatewayError> =>
        Effect.suspend(() => {
          const nowMs = clock.currentTimeMillisUnsafe()
          const holder = holderOf(caller)
          const taken = limits.acquire({ ...holder, leaseId: generationId, tokens, nowMs, leaseMs: LEASE_MS })
          return Effect.map(judged(caller, note, taken), (left) => {
            held.set(generationId, { keyId: holder.keyId, ownerId: holder.owner?.id ?? null, leaseId: generationId })
            return left
          })
        })

      const release = (generationId: string) =>
        Effect.suspend(() => {
          const lease = held.get(generationId)
          held.delete(generationId)
          return lease === undefined ? Effect.void : Effect.ignore(limits.release(lease))
        })

      const renew = Effect.suspend(() =>
        held.size === 0 ? Effect.void : limits.renew([...held.values()], LEASE_MS, clock.currentTimeMillisUnsafe())
      )
      yield* Effect.forkScoped(Effect.repeat(Effect.ignore(renew), Schedule.spaced(Duration.millis(RENEW_EVERY_MS))))

      const take = ({ plan: { caller, promptTokens: tokens }, reservation }: MeteredRequest) =>
        Effect.suspend(() => {
          if (tokens === 0) return Effect.void
          if (tokens > mostTokens(caller)) return Effect.fail(tooLong(caller, tokens))
          const nowMs = clock.currentTimeMillisUnsafe()
          const taken = limits.take({ ...holderOf(caller), tokens, nowMs })
          return Effect.map(judged(caller, reservation.note, taken), () => reservation.setTakenTokens(tokens))
        })

      const reserve = (request: MeteredRequest) =>
        Effect.suspend(() => {
          const { plan } = request
          const refusal = feeRefusal(plan)
          if (refusal !== null) return Effect.fail(refusal)
          return Effect.flatMap(meter.reserve(request), (result) => {
            if (result._tag === "Reserved") return Effect.void
            alerts.note(plan.caller.key, true)
            return Effect.fail(budgetExceeded(plan, result.balance, result.neededNano))
          })
        })

      return Policy.of({
        rateLimit: (arrival) => (next) =>
          Effect.flatMap(
            acquired(staged(arrival.trace, RATE_LIMIT, acquire(arrival)), () => release(arrival.generationId)),
            next
          ),

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

        tokens: (request) => (next) =>
          request.reservation.takenTokens > 0
            ? next
            : Effect.flatMap(Effect.uninterruptible(staged(request.plan.trace, RATE_LIMIT, take(request))), () => next),

        budget: (request) => (next) => Effect.andThen(staged(request.plan.trace, BUDGET, reserve(request)), next),

        whitelist:
          ({ caller, model, native, trace }) =>
          (next) => {
            const isForbidden = (name: string) => !allowsModel(caller.key.allowedModels, name)
            const forbidden = isForbidden(model) ? model : native?.models.find(isForbidden)
            if (forbidden === undefined && trace === null) return next
            const verdict =
              forbidden === undefined
                ? Effect.void
                : Effect.fail(gatewayError(new ModelNotAllowed({ model: forbidden })))
            return Effect.andThen(staged(trace, "tollgate.policy.whitelist", verdict), next)
          }
      })
    })
  )
}

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
