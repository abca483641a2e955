/**
 * What a request must pass before anyone works on it, in the order of spec.md: rate limit, monthly budget, model whitelist. Each
 * policy wraps the rest of the way; the first that refuses ends it. What a policy takes (a concurrency slot, a reservation) it
 * gives back when the request's scope closes, whatever the ending.
 */
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import {
  DependencyUnavailable,
  gatewayError,
  type GatewayError,
  ModelNotAllowed,
  RateLimited
} from "../domain/Errors.ts"
import { allowsModel, type RateLimits } from "../domain/Key.ts"
import { acquired } from "../domain/OnClose.ts"
import { Limits, type LimitVerdict } from "../store/Limits.ts"
import { type StoreError } from "../store/StoreError.ts"
import { BudgetAlerts } from "./BudgetAlerts.ts"
import { Meter } from "./Meter.ts"
import { estimatedTokens, type Order } from "./Order.ts"
import { BUDGET, staged } from "./RequestTrace.ts"
import { budgetExceeded } from "./Slices.ts"

/** A concurrency slot outlives the longest request, so that only a dead process leaves one behind. */
const LEASE_MARGIN_MS = 60_000

export type Step = <A, R>(next: Effect.Effect<A, GatewayError, R>) => Effect.Effect<A, GatewayError, R | Scope.Scope>

/** What the rate limit has to know of a request; one that calls no model has no candidates. */
export type Limited = Pick<
  Order<unknown>,
  "generationId" | "caller" | "promptTokens" | "outputTokens" | "ranked" | "facts"
>

export class Policy extends Context.Service<
  Policy,
  {
    /** Requests and tokens a minute, and requests at once. Leaves the verdict in the order's facts, refused or not. */
    readonly rateLimit: (request: Limited) => Step
    /** Reserves what the request may cost. Refuses when the month's budget has no room for it. */
    readonly budget: (order: Order) => Step
    readonly whitelist: (order: Order) => Step
  }
>()("tollgate/gateway/Policy") {
  static readonly layer = Layer.effect(
    Policy,
    Effect.gen(function* () {
      const limits = yield* Limits
      const meter = yield* Meter
      const alerts = yield* BudgetAlerts

      const clock = yield* Clock.Clock

      const acquire = (order: Limited): Effect.Effect<void, GatewayError> =>
        Effect.suspend(() => {
          const { key, limits: tier } = order.caller
          const taken = limits.acquire({
            keyId: key.id,
            leaseId: order.generationId,
            limits: tier,
            tokens: estimatedTokens(order),
            nowMs: clock.currentTimeMillisUnsafe(),
            leaseMs: longestMs(order) + LEASE_MARGIN_MS
          })
          return Effect.flatMap(Effect.catch(taken, unavailable), (verdict) => {
            order.facts.limits = verdict
            return verdict.refusedBy === null
              ? Effect.void
              : Effect.fail(rateLimited(tier, verdict.refusedBy, verdict.retryAfterMs))
          })
        })

      const release = (order: Limited) =>
        Effect.catch(limits.release(order.caller.key.id, order.generationId), (error) =>
          Effect.logWarning("a concurrency slot was not given back; its lease will end it").pipe(
            Effect.annotateLogs({ dependency: error.dependency })
          )
        )

      const reserve = (order: Order) =>
        Effect.flatMap(meter.reserve(order), (result) => {
          if (result._tag === "Reserved") return Effect.void
          alerts.note(order.caller.key, true)
          return Effect.fail(budgetExceeded(order, result.balance, result.neededNano))
        })

      return Policy.of({
        rateLimit: (order) => (next) =>
          Effect.flatMap(
            acquired(staged(order.facts.trace, "tollgate.policy.rate_limit", acquire(order)), () => release(order)),
            () => next
          ),

        budget: (order) => (next) => Effect.andThen(staged(order.facts.trace, BUDGET, reserve(order)), next),

        whitelist: (order) => (next) => {
          const { trace } = order.facts
          const allowed = allowsModel(order.caller.key.allowedModels, order.model)
          if (allowed && trace === null) return next
          const verdict = allowed ? Effect.void : Effect.fail(gatewayError(new ModelNotAllowed({ model: order.model })))
          return Effect.andThen(staged(trace, "tollgate.policy.whitelist", verdict), next)
        }
      })
    })
  )
}

const rateLimited = (
  tier: RateLimits,
  limit: NonNullable<LimitVerdict["refusedBy"]>,
  retryAfterMs: number
): GatewayError =>
  gatewayError(
    new RateLimited({
      limit,
      allowed: {
        requests: tier.requestsPerMinute,
        tokens: tier.tokensPerMinute,
        concurrency: tier.concurrency
      }[limit],
      retryAfterMs
    })
  )

const unavailable = (error: StoreError): Effect.Effect<never, GatewayError> =>
  Effect.fail(gatewayError(new DependencyUnavailable({ dependency: error.dependency })))

const longestMs = (order: Limited): number =>
  order.ranked.reduce((longest, { provider }) => Math.max(longest, provider.timeouts.totalMs), 0)
