/**
 * The meter: opens an order in the ledger before it costs anything, and closes it once, whatever the ending: answered, failed,
 * cancelled. A key with a cap waits for its reservation; a key without one works while its intent is being written, and the intent is
 * durable before the reply's first byte (`durable`). What a reservation affords bounds the output, so that a cap is never
 * overshot.
 */
import { Clock, Context, Effect, Fiber, Layer, type Stream } from "effect"
import { type ChatEvent } from "../../domain/Chat.ts"
import { DependencyUnavailable, gatewayError, type GatewayError } from "../../domain/Errors.ts"
import { type Generation } from "../../domain/Generation.ts"
import { Ids } from "../../domain/Ids.ts"
import { type Cost, type NanoUsd } from "../../domain/Money.ts"
import { Ledger } from "../../store/ledger/Ledger.ts"
import { Limits } from "../../store/limits/Limits.ts"
import { type StoreError } from "../../store/StoreError.ts"
import { BudgetAlerts } from "./BudgetAlerts.ts"
import { BudgetQueue } from "./BudgetQueue.ts"
import { makeTokenCorrection } from "./TokenCorrection.ts"
import { bareGeneration, costFor, type Outcome, generationOf } from "./Outcome.ts"
import { estimateOf } from "./Estimate.ts"
import { makeSettlementWriter, written } from "./SettlementWriter.ts"
import { makeHeartbeats } from "./Heartbeats.ts"
import { PendingSettlements } from "./PendingSettlements.ts"
import { type Order } from "../request/Order.ts"
import { progressOf } from "./Progress.ts"
import { staged } from "../telemetry/RequestTrace.ts"
import { makeReserve, neededNano, type ReserveOutcome } from "./Reservations.ts"
import { likelyNano, payAsItComes, roomOf } from "./IncrementalReservation.ts"

/** When what may have been written late is taken back once more: after this share of a lease. */
const AGAIN_SHARE = 0.2
/** The span of an ending that is written. */
const SETTLE = "tollgate.ledger.settle"

export class Meter extends Context.Service<
  Meter,
  {
    /**
     * Opens the order in the ledger. For a key with a cap it holds the worst case, or a slice of it where the output can be watched; while
     * others of the key hold what it needs it waits for them; at last it clamps the output to what is left of the month's budget.
     */
    readonly reserve: (order: Order) => Effect.Effect<ReserveOutcome, GatewayError>
    /** Waits until the order's intent is durable. Nothing may reach the client before. */
    readonly durable: (order: Order) => Effect.Effect<void, GatewayError>
    /** Tells the heartbeats how far an order is; null: nobody answers yet. */
    readonly follow: (order: Order, soFar: () => Outcome | null) => Effect.Effect<void>
    /** Lets an answer's events through as long as they are paid for; see IncrementalReservation.ts. */
    readonly watch: (
      order: Order
    ) => <E>(events: Stream.Stream<ChatEvent, E>) => Stream.Stream<ChatEvent, E | GatewayError>
    /** Holds more for a call beside the first one. False where the budget has no room for it, or nobody can tell. */
    readonly hold: (order: Order, amountNano: NanoUsd) => Effect.Effect<boolean>
    /**
     * Closes the order with what it cost and answers its generation. Only the first close counts. While the database is away it
     * answers all the same, and the writing goes on.
     */
    readonly settle: (order: Order, ending: Outcome) => Effect.Effect<Generation>
    /** Waits a while until the order's ending is durable. False: it is not yet, and nobody may be told what the order cost. */
    readonly written: (order: Order) => Effect.Effect<boolean>
    /**
     * Closes an order that needs nobody's work, in one write: if the budget has room for what `reserve` would have held. Null: it has
     * none, and nothing is written. Holds nothing at any time.
     */
    readonly replay: (order: Order, ending: Outcome) => Effect.Effect<Generation | null, GatewayError>
    /** Closes an order that came to nothing: the reservation and the rate limit's tokens are given back, no trace is left. */
    readonly void: (order: Order) => Effect.Effect<void>
  }
>()("tollgate/gateway/billing/Meter") {
  static readonly layer = (options: { readonly markup: number; readonly ledger: { readonly leaseMs: number } }) =>
    Layer.effect(
      Meter,
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const correct = makeTokenCorrection(yield* Limits)
        const alerts = yield* BudgetAlerts
        const pendingSettlements = yield* PendingSettlements
        const scope = yield* Effect.scope
        const clock = yield* Clock.Clock
        const processId = (yield* Ids).next("prc", clock.currentTimeMillisUnsafe())
        const queue = new BudgetQueue()
        const heartbeats = yield* makeHeartbeats({ leaseMs: options.ledger.leaseMs, markup: options.markup })

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
              leaseMs: options.ledger.leaseMs,
              processId,
              progress: progressOf(order, null, {
                heldNano: amountNano,
                markup: options.markup,
                nowMs: order.startedAtMs
              })
            }),
            unavailable
          )

        const open = (order: Order, amountNano: NanoUsd): ReserveOutcome => {
          heartbeats.begin(order)
          order.account.opened = true
          order.account.reservedNano = amountNano
          return { _tag: "Reserved" }
        }

        const reserveUncapped = Effect.fnUntraced(function* (order: Order) {
          // Refuses nothing; it is what is charged should this process die.
          const amountNano = likelyNano(order, estimateOf(order, options.markup))
          const written = Effect.onError(write(order, amountNano), () => takeBack(order))
          order.account.pendingReserve = yield* Effect.forkChild(Effect.asVoid(written), { startImmediately: true })
          return open(order, amountNano)
        })

        const durable = (order: Order) =>
          order.account.pendingReserve === null ? Effect.void : Fiber.join(order.account.pendingReserve)

        const finish = makeSettlementWriter(pendingSettlements, (order) => {
          heartbeats.end(order)
          queue.freed(order.caller.key.id)
        })

        /**
         * Takes back a reservation of which nobody heard whether it was written: it would be held for as long as this process lives. Once
         * more later on, because a database that hung may carry out late what was given up.
         */
        const takeBack = (order: Order) => {
          const taken = ledger.void(order.generationId)
          const again = Effect.delay(Effect.ignore(taken), options.ledger.leaseMs * AGAIN_SHARE)
          return Effect.andThen(pendingSettlements.fork(finish(order, taken)), Effect.forkIn(again, scope))
        }

        const reserveCapped = makeReserve({
          markup: options.markup,
          queue,
          write: (order, amountNano) => Effect.onError(write(order, amountNano), () => takeBack(order)),
          open
        })

        /** Makes room for what an answer cost beyond what is held; answers what cannot be charged, because the cap is a promise. */
        const topUp = Effect.fnUntraced(function* (order: Order, billedNano: NanoUsd) {
          const { account, caller } = order
          const capNano = caller.key.monthlyBudgetNano
          const missing = missingNano(order, billedNano)
          if (capNano === null || missing === 0) return 0
          const first = yield* ledger.extend(order.generationId, missing, capNano)
          if (first._tag === "Reserved") return ((account.extendedNano += missing), 0)
          const room = Math.max(0, Math.min(missing, roomOf(order, first.balance)))
          const second = room === 0 ? first : yield* ledger.extend(order.generationId, room, capNano)
          if (second._tag === "Refused") return missing
          account.extendedNano += room
          return missing - room
        })

        const settle = (order: Order, ending: Outcome) =>
          Effect.suspend(() => {
            const nowMs = clock.currentTimeMillisUnsafe()
            const cost = costFor(ending, options.markup)
            if (order.account.settled) return Effect.succeed(generationOf(order, ending, nowMs, cost))
            order.account.settled = true
            const settled =
              order.account.pendingReserve === null && missingNano(order, cost.billedNano) === 0
                ? closed(order, ending, nowMs, cost)
                : settleLate(order, ending, nowMs, cost)
            return Effect.onError(settled, () => notSettled(order))
          })

        /** What failed before it was written may be settled once more, by whoever closes the request. */
        const notSettled = ({ account }: Order) => Effect.sync(() => void (account.settled = false))

        /** Once the intent has been written, and with what the budget can pay. */
        const settleLate = Effect.fnUntraced(function* (order: Order, ending: Outcome, nowMs: number, cost: Cost) {
          yield* Effect.exit(durable(order))
          // What the budget cannot be asked for is not charged: the cap holds, and what the client is told is what is written.
          const uncharged = yield* Effect.catchCause(topUp(order, cost.billedNano), () =>
            Effect.succeed(missingNano(order, cost.billedNano))
          )
          if (uncharged > 0) yield* Effect.logWarning("an answer cost more than its key's budget could pay")
          return yield* closed(order, ending, nowMs, {
            ...cost,
            markupNano: cost.markupNano - uncharged,
            billedNano: cost.billedNano - uncharged
          })
        })

        const closed = (order: Order, ending: Outcome, nowMs: number, cost: Cost) => {
          const generation = generationOf(order, ending, nowMs, cost)
          order.facts.generation = generation
          const { completionTokens, promptTokens } = ending.usage
          const used = ending.usageSource === "cache" ? 0 : promptTokens + completionTokens
          const settled = ledger.settle(generation, order.month)
          const bare = Effect.suspend(() => ledger.settle(bareGeneration(generation), order.month))
          return Effect.flatMap(finish(order, settled, bare), () => {
            alerts.note(order.caller.key, false)
            return Effect.as(correct(order, used, nowMs), generation)
          })
        }

        const replay = (order: Order, ending: Outcome) =>
          Effect.suspend(() => {
            const { account, caller, facts } = order
            const { monthlyBudgetNano } = caller.key
            const nowMs = clock.currentTimeMillisUnsafe()
            account.reservedNano =
              monthlyBudgetNano === null
                ? likelyNano(order, estimateOf(order, options.markup))
                : neededNano(order, options.markup)
            const generation = generationOf(order, ending, nowMs, costFor(ending, options.markup))
            const written = ledger.replay(generation, order.month, account.reservedNano, monthlyBudgetNano)
            return Effect.flatMap(Effect.catch(written, unavailable), ({ _tag }) => {
              if (_tag === "Refused") {
                account.reservedNano = 0
                return Effect.succeed(null)
              }
              account.settled = true
              facts.generation = generation
              alerts.note(caller.key, false)
              return Effect.as(correct(order, 0, nowMs), generation)
            })
          })

        const voidOrder = Effect.fnUntraced(function* (order: Order) {
          if (order.account.settled) return
          order.account.settled = true
          yield* correct(order, 0, yield* Clock.currentTimeMillis)
          if (!order.account.opened) return
          yield* Effect.exit(durable(order))
          yield* finish(order, ledger.void(order.generationId))
        })

        return Meter.of({
          reserve: (order) =>
            order.caller.key.monthlyBudgetNano === null ? reserveUncapped(order) : reserveCapped(order),
          durable,
          follow: heartbeats.follow,
          watch: (order) =>
            order.account.heldTokens === null
              ? (events) => events
              : payAsItComes(order, estimateOf(order, options.markup).tokenNano, (amountNano) =>
                  ledger.extend(order.generationId, amountNano, order.caller.key.monthlyBudgetNano)
                ),
          hold: (order, amountNano) =>
            order.caller.key.monthlyBudgetNano === null
              ? Effect.succeed(true)
              : Effect.match(ledger.extend(order.generationId, amountNano, order.caller.key.monthlyBudgetNano), {
                  onFailure: () => false,
                  onSuccess: ({ _tag }) => {
                    if (_tag === "Refused") return false
                    order.account.extendedNano += amountNano
                    return true
                  }
                }),
          settle: (order, ending) => Effect.uninterruptible(staged(order.facts.trace, SETTLE, settle(order, ending))),
          written,
          replay: (order, ending) => Effect.uninterruptible(staged(order.facts.trace, SETTLE, replay(order, ending))),
          void: (order) => Effect.uninterruptible(staged(order.facts.trace, "tollgate.ledger.void", voidOrder(order)))
        })
      })
    )
}

/** What an answer cost beyond what is held for it; a key without a cap holds what it likes. */
const missingNano = ({ account, caller }: Order, billedNano: NanoUsd): NanoUsd =>
  caller.key.monthlyBudgetNano === null ? 0 : Math.max(0, billedNano - account.reservedNano - account.extendedNano)

const unavailable = (error: StoreError): Effect.Effect<never, GatewayError> =>
  Effect.fail(gatewayError(new DependencyUnavailable({ dependency: error.dependency })))
