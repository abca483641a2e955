/**
 * The meter: opens an order in the ledger before it costs anything, and closes it once, whatever the ending: answered, failed,
 * cancelled. A key with a cap waits for its reservation; a key without one works while its intent is being written, and the intent is
 * durable before the reply's first byte (`durable`). What a reservation affords bounds the output, so that a cap is never
 * overshot.
 */
import { Clock, Context, Effect, Fiber, Layer, Schedule } from "effect"
import { type Candidate } from "../domain/Catalog.ts"
import { DependencyUnavailable, gatewayError, type GatewayError } from "../domain/Errors.ts"
import { type Generation, type UsageSource } from "../domain/Generation.ts"
import { Ids } from "../domain/Ids.ts"
import {
  addCosts,
  type Cost,
  costOf,
  type NanoUsd,
  type Prices,
  pricesFor,
  type Pricing,
  priceUsage,
  savedCost,
  type TokenUsage,
  zeroCost
} from "../domain/Money.ts"
import { type Balance, Ledger } from "../store/Ledger.ts"
import { Limits } from "../store/Limits.ts"
import { type StoreError } from "../store/StoreError.ts"
import { chargedCost, chargedUsage } from "./Charges.ts"
import { estimatedTokens, type Order } from "./Order.ts"

/** The output bound of a model that does not tell its own. */
const DEFAULT_MAX_OUTPUT = 16_384
/** After the longest request could have ended, the reconciler may settle what is left open. */
const LEASE_MARGIN_MS = 60_000

export type ReserveOutcome =
  { readonly _tag: "Reserved" } | { readonly _tag: "Refused"; readonly balance: Balance; readonly neededNano: NanoUsd }

/** How an order ended. `candidate` null: no provider answered. */
export interface Ending {
  readonly candidate: Candidate | null
  readonly usage: TokenUsage
  readonly usageSource: UsageSource
  readonly timeToFirstTokenMs: number | null
  readonly finishReason: string | null
  readonly errorType: string | null
  readonly cancelled: boolean
  readonly fallbackUsed: boolean
}

export class Meter extends Context.Service<
  Meter,
  {
    /** Opens the order in the ledger. For a key with a cap, clamps the output to what is left of the month's budget. */
    readonly reserve: (order: Order) => Effect.Effect<ReserveOutcome, GatewayError>
    /** Waits until the order's intent is durable. Nothing may reach the client before. */
    readonly durable: (order: Order) => Effect.Effect<void, GatewayError>
    /** Holds more for a call beside the first one. False where the budget has no room for it, or nobody can tell. */
    readonly hold: (order: Order, amountNano: NanoUsd) => Effect.Effect<boolean>
    /** Closes the order with what it cost and answers its generation. Only the first close counts. */
    readonly settle: (order: Order, ending: Ending) => Effect.Effect<Generation, GatewayError>
    /** Closes an order that came to nothing: the reservation and the rate limit's tokens are given back, no trace is left. */
    readonly void: (order: Order) => Effect.Effect<void>
  }
>()("tollgate/gateway/Meter") {
  static readonly layer = (options: { readonly markup: number }) =>
    Layer.effect(
      Meter,
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const limits = yield* Limits
        const processId = (yield* Ids).next("prc", yield* Clock.currentTimeMillis)

        const write = (order: Order, amountNano: NanoUsd) =>
          Effect.catch(
            ledger.reserve({
              generationId: order.generationId,
              keyId: order.caller.key.id,
              ownerId: order.caller.key.ownerId,
              // A name that no provider has is the client's own text: it is not stored.
              model: order.ranked.length === 0 ? "" : order.model,
              month: order.month,
              amountNano,
              capNano: order.caller.key.monthlyBudgetNano,
              createdAtMs: order.startedAtMs,
              leaseUntilMs: order.startedAtMs + longestMs(order) + LEASE_MARGIN_MS,
              processId
            }),
            unavailable
          )

        const open = (order: Order, amountNano: NanoUsd): ReserveOutcome => {
          order.account.opened = true
          order.account.reservedNano = amountNano
          return { _tag: "Reserved" }
        }

        const reserveCapped = Effect.fnUntraced(function* (order: Order) {
          const worst = worstCase(order, options.markup)
          order.affordableTokens = worst.outputTokens
          const first = yield* write(order, worst.amountNano)
          if (first._tag === "Reserved") return open(order, worst.amountNano)
          // The worst case does not fit: offer what is left, as long as it buys a token.
          const left = (order.caller.key.monthlyBudgetNano ?? 0) - first.balance.spentNano - first.balance.reservedNano
          const tokens = Math.floor((left - worst.promptNano) / Math.max(worst.tokenNano * order.choices, 1e-9))
          const refused: ReserveOutcome = { _tag: "Refused", balance: first.balance, neededNano: worst.amountNano }
          if (order.ranked.length === 0 || worst.outputTokens === null || tokens < 1) return refused
          const clamped = Math.min(tokens, worst.outputTokens)
          const amountNano = Math.min(left, Math.ceil(worst.promptNano + clamped * worst.tokenNano * order.choices))
          order.affordableTokens = clamped
          order.account.clamped = true
          const second = yield* write(order, amountNano)
          return second._tag === "Reserved" ? open(order, amountNano) : refused
        })

        const reserveUncapped = Effect.fnUntraced(function* (order: Order) {
          order.account.intent = yield* Effect.forkChild(Effect.asVoid(write(order, 0)), { startImmediately: true })
          return open(order, 0)
        })

        const durable = (order: Order) =>
          order.account.intent === null ? Effect.void : Fiber.join(order.account.intent)

        /** What the rate limit took on an estimate becomes what was used; an order that it refused took nothing. */
        const correct = (order: Order, used: number, nowMs: number) => {
          const { key, limits: tier } = order.caller
          if (order.facts.limits?.refusedBy !== null) return Effect.void
          const delta = used - Math.min(estimatedTokens(order), tier.tokensPerMinute)
          return Effect.ignore(limits.correct({ keyId: key.id, limits: tier, delta, nowMs }))
        }

        const settle = Effect.fnUntraced(function* (order: Order, ending: Ending) {
          const nowMs = yield* Clock.currentTimeMillis
          const generation = generationOf(order, ending, nowMs, options.markup)
          if (order.account.settled) return generation
          order.account.settled = true
          yield* Effect.exit(durable(order))
          yield* ledger
            .settle(generation, order.month)
            .pipe(Effect.retry({ times: 3, schedule: Schedule.exponential("50 millis") }), Effect.catch(unavailable))
          const { usage } = generation
          const used = ending.usageSource === "cache" ? 0 : usage.promptTokens + usage.completionTokens
          yield* correct(order, used, nowMs)
          return generation
        })

        const voidOrder = Effect.fnUntraced(function* (order: Order) {
          if (order.account.settled) return
          order.account.settled = true
          yield* correct(order, 0, yield* Clock.currentTimeMillis)
          if (!order.account.opened) return
          yield* Effect.exit(durable(order))
          yield* Effect.catch(
            Effect.retry(ledger.void(order.generationId), { times: 3, schedule: Schedule.exponential("50 millis") }),
            () => Effect.logWarning("a reservation was not given back; recovery will settle it when its lease is over")
          )
        })

        return Meter.of({
          reserve: (order) =>
            order.caller.key.monthlyBudgetNano === null ? reserveUncapped(order) : reserveCapped(order),
          durable,
          hold: (order, amountNano) =>
            order.caller.key.monthlyBudgetNano === null
              ? Effect.succeed(true)
              : Effect.match(ledger.extend(order.generationId, amountNano, order.caller.key.monthlyBudgetNano), {
                  onFailure: () => false,
                  onSuccess: ({ _tag }) => {
                    if (_tag === "Refused") return false
                    order.account.reservedNano += amountNano
                    return true
                  }
                }),
          settle: (order, ending) => Effect.uninterruptible(settle(order, ending)),
          void: (order) => Effect.uninterruptible(voidOrder(order))
        })
      })
    )
}

const unavailable = (error: StoreError): Effect.Effect<never, GatewayError> =>
  Effect.fail(gatewayError(new DependencyUnavailable({ dependency: error.dependency })))

const longestMs = (order: Order): number =>
  order.ranked.reduce((longest, { provider }) => Math.max(longest, provider.timeouts.totalMs), 0)

/** What a request costs at worst: its prompt and its whole output at the dearest candidate's price, markup included. */
const worstCase = (order: Order, markup: number) => {
  let promptNano = 0
  let tokenNano = 0
  let outputTokens: number | null = null
  const asked = order.outputTokens === null ? null : Math.ceil(order.outputTokens / order.choices)
  for (const { offer } of order.ranked) {
    const prices = pricesFor(offer.pricing, order.promptTokens)
    promptNano = Math.max(promptNano, costOf(order.promptTokens, prices.prompt))
    tokenNano = Math.max(tokenNano, prices.completion / 1000)
    const possible = offer.embeddings ? 0 : (asked ?? offer.maxCompletionTokens ?? DEFAULT_MAX_OUTPUT)
    outputTokens = Math.max(outputTokens ?? 0, possible)
  }
  const factor = 1 + markup
  return {
    promptNano: promptNano * factor,
    tokenNano: tokenNano * factor,
    outputTokens,
    amountNano: Math.ceil((promptNano + (outputTokens ?? 0) * order.choices * tokenNano) * factor)
  }
}

const costFor = (ending: Ending, price: Pricing, markup: number): Cost => {
  if (ending.candidate === null) return zeroCost
  return ending.usageSource === "cache" ? savedCost(ending.usage, price) : priceUsage(ending.usage, price, markup)
}

const freePrices: Prices = { prompt: 0, completion: 0, cachedPrompt: null }

const generationOf = (order: Order, ending: Ending, nowMs: number, markup: number): Generation => {
  const pricing = ending.candidate?.offer.pricing ?? freePrices
  const own = costFor(ending, pricing, markup)
  const cost = order.charges.length === 0 ? own : addCosts(own, chargedCost(order.charges, markup))
  const last = order.attempts.at(-1)
  return {
    id: order.generationId,
    keyId: order.caller.key.id,
    ownerId: order.caller.key.ownerId,
    model: ending.candidate?.offer.id ?? last?.model ?? order.model,
    provider: ending.candidate?.provider.slug ?? last?.provider ?? "",
    createdAtMs: order.startedAtMs,
    usage: order.charges.length === 0 ? ending.usage : chargedUsage(order.charges, ending.usage),
    usageSource: order.charges.length === 0 ? ending.usageSource : "counted",
    cost,
    latencyMs: nowMs - order.startedAtMs,
    timeToFirstTokenMs: ending.timeToFirstTokenMs,
    fallbackUsed: ending.fallbackUsed,
    cacheHit: ending.usageSource === "cache",
    streamed: order.streamed,
    cancelled: ending.cancelled,
    finishReason: ending.finishReason,
    errorType: ending.errorType,
    attempts: order.attempts,
    excluded: order.excluded,
    price: pricesFor(pricing, ending.usage.promptTokens),
    reservation: { reservedNano: order.account.reservedNano, extendedNano: 0, settledNano: cost.billedNano }
  }
}
