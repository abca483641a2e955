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
/**
 * The share of the minute's tokens that has to be left after a bound is taken. With less left, the
 * prompt is counted.
 */
const AMPLE_SHARE = 0.5
/** A prompt has at least one token in this many characters, unless it repeats one character. */
const MAX_CHARACTERS_PER_TOKEN = 16

export type Step = <A, R>(next: Effect.Effect<A, GatewayError, R>) => Effect.Effect<A, GatewayError, R | Scope.Scope>

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
}

export class Policy extends Context.Service<
  Policy,
  {
    /** Checks requests a minute, concurrent requests, and the tokens known so far. */
    readonly rateLimit: (
      arrival: Arrival
    ) => <A, R>(
      next: (left: LimitsLeft, taken: number) => Effect.Effect<A, GatewayError, R>
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
    /**
     * Takes the prompt's tokens from the minute's limit, if `rateLimit` has not. Where the limit
     * has no ample room for a bound, the count decides; other bounds that were taken from it are
     * then corrected to their counts first.
     */
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

      /** Null: refused by the limit of tokens, which the count may pass. */
      const judged = (
        caller: Caller,
        note: Note,
        asked: Effect.Effect<LimitVerdict, StoreError>,
        mayCount: () => boolean
      ): Effect.Effect<LimitVerdict | null, GatewayError> =>
        Effect.flatMap(Effect.catch(asked, unavailable), (verdict) => {
          if (verdict.refusedBy === "tokens" && mayCount()) return Effect.succeed(null)
          const { requests, tokens } = verdict
          note({ requests, tokens })
          return verdict.refusedBy === null ? Effect.succeed(verdict) : Effect.fail(refusedBy(caller, verdict))
        })

      const acquire = (arrival: Arrival): Effect.Effect<{ left: LimitsLeft; taken: number }, GatewayError> =>
        Effect.suspend(() => {
          const { caller, generationId, isBound = false, note, tokens } = arrival
          const nowMs = clock.currentTimeMillisUnsafe()
          const holder = holderOf(caller)
          const asked = limits.acquire({ ...holder, leaseId: generationId, tokens, nowMs, leaseMs: LEASE_MS })
          const mayCount = () => tokens > 0 && (isBound || boundedBeside(caller).length > 0)
          return Effect.flatMap(judged(caller, note, asked, mayCount), (left) => {
            if (left === null) return acquire({ ...arrival, tokens: 0 })
            held.set(generationId, { keyId: holder.keyId, ownerId: holder.owner?.id ?? null, leaseId: generationId })
            return Effect.succeed({ left, taken: tokens })
          })
        })

      /** Running requests whose bound was taken, by their id. */
      const bounded = new Map<string, MeteredRequest>()

      const boundedBeside = (caller: Caller): ReadonlyArray<MeteredRequest> => {
        const { keyId, owner } = holderOf(caller)
        return [...bounded.values()].filter(
          ({ plan }) => plan.caller.key.id === keyId || (owner && plan.caller.owner?.id === owner.id)
        )
      }

      /** Corrects a bound that was taken to the count. */
      const correctToCount = (request: MeteredRequest): Effect.Effect<void> =>
        Effect.flatMap(request.plan.prompt.count(), (tokens) => {
          // The request may have ended while its prompt was counted.
          return bounded.delete(request.plan.generationId) && !request.reservation.isSettled
            ? meter.correctTokens(request, tokens, clock.currentTimeMillisUnsafe())
            : Effect.void
        })

      const release = (generationId: string) =>
        Effect.suspend(() => {
          const lease = held.get(generationId)
          held.delete(generationId)
          bounded.delete(generationId)
          return lease === undefined ? Effect.void : Effect.ignore(limits.release(lease))
        })

      const renew = Effect.suspend(() =>
        held.size === 0 ? Effect.void : limits.renew([...held.values()], LEASE_MS, clock.currentTimeMillisUnsafe())
      )
      yield* Effect.forkScoped(Effect.repeat(Effect.ignore(renew), Schedule.spaced(Duration.millis(RENEW_EVERY_MS))))

      const take = (request: MeteredRequest): Effect.Effect<void, GatewayError> =>
        Effect.suspend(() => {
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
          const others = () => (prompt.isCounted ? boundedBeside(caller) : [])
          const asked = limits.take({ ...holderOf(caller), tokens, nowMs: clock.currentTimeMillisUnsafe() })
          return Effect.flatMap(
            judged(caller, reservation.note, asked, () => !prompt.isCounted || others().length > 0),
            (left) => {
              if (left === null) {
                const counted = prompt.isCounted
                  ? Effect.forEach(others(), correctToCount, { discard: true })
                  : Effect.asVoid(prompt.count(most))
                return Effect.flatMap(counted, () => take(request))
              }
              reservation.setTakenTokens(tokens)
              return settled(request, left.tokens) ?? Effect.void
            }
          )
        })

      /** What remains to do once the prompt's tokens are taken. */
      const settled = (request: MeteredRequest, left: LimitsLeft["tokens"] | null): Effect.Effect<void> | null => {
        const { plan, reservation } = request
        if (plan.prompt.isCounted && reservation.takenTokens === plan.prompt.most) return null
        bounded.set(plan.generationId, request)
        return plan.prompt.isCounted || (left !== null && !isAmple(left)) ? correctToCount(request) : null
      }

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
            ({ left, taken }) => next(left, taken)
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

        tokens: (request) => (next) => {
          const { plan, reservation } = request
          if (reservation.takenTokens === 0)
            return Effect.flatMap(Effect.uninterruptible(staged(plan.trace, RATE_LIMIT, take(request))), () => next)
          const correcting = settled(request, null)
          return correcting === null ? next : Effect.flatMap(correcting, () => next)
        },

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
