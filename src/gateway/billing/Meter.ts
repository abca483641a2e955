/**
 * The meter: opens a request in the ledger before it costs anything, and closes it once, whatever the ending: answered, failed,
 * cancelled. A key with a cap waits for its reservation. A key without one works while its reservation is being written, and that is
 * durable before the reply's first byte. What a reservation affords bounds the output, so that a cap is never overshot.
 */
import { Clock, Context, Effect, type Fiber, Layer } from "effect"
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
import { makeSettlementWriter } from "./SettlementWriter.ts"
import { makeHeartbeats } from "./Heartbeats.ts"
import { PendingSettlements } from "./PendingSettlements.ts"
import { type OutputBudget } from "../request/OutputBudget.ts"
import { promptCost } from "./ExtraCharges.ts"
import { type Held, type MeteredRequest, nothingHeld, type Reservation } from "./Reservation.ts"
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
     * Opens the request in the ledger. For a key with a cap it holds the worst case, or a slice of it where the output can be watched; while
     * others of the key hold what it needs it waits for them; at last it clamps the output to what is left of the month's budget.
     */
    readonly reserve: (request: MeteredRequest) => Effect.Effect<ReserveOutcome, GatewayError>
    /** Tells the heartbeats how far a request is; null: nobody answers yet. */
    readonly follow: (request: MeteredRequest, soFar: () => Outcome | null) => void
    /** What the reservation lets the request's calls do, once there is one. See IncrementalReservation.ts for `watch`. */
    readonly outputBudget: (request: MeteredRequest) => OutputBudget
    /**
     * Closes the request with what it cost and answers its generation. Only the first close counts. While the database is away it
     * answers all the same, and the writing goes on.
     */
    readonly settle: (request: MeteredRequest, ending: Outcome) => Effect.Effect<Generation>
    /**
     * Settles a cache hit that has no reservation, in one write: if the budget has room for what `reserve` would have held. Null: it
     * has none, and nothing is written. Holds nothing at any time.
     */
    readonly replay: (request: MeteredRequest, ending: Outcome) => Effect.Effect<Generation | null, GatewayError>
    /** Closes a request that came to nothing: the reservation and the rate limit's tokens are given back, no trace is left. */
    readonly void: (request: MeteredRequest) => Effect.Effect<void>
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

        const write = ({ plan }: MeteredRequest, amountNano: NanoUsd) =>
          Effect.catch(
            ledger.reserve({
              generationId: plan.generationId,
              keyId: plan.caller.key.id,
              ownerId: plan.caller.key.ownerId,
              // A name that no provider has is the client's own text: it is not stored.
              model: plan.ranked.length === 0 ? "" : plan.model,
              month: plan.month,
              amountNano,
              capNano: plan.caller.key.monthlyBudgetNano,
              createdAtMs: plan.startedAtMs,
              leaseMs: options.ledger.leaseMs,
              processId,
              progress: progressOf(plan, null, {
                heldNano: amountNano,
                markup: options.markup,
                nowMs: plan.startedAtMs
              })
            }),
            unavailable
          )

        const open = (request: MeteredRequest, held: Held, write?: Fiber.Fiber<void, GatewayError>): ReserveOutcome => {
          heartbeats.begin(request)
          request.reservation.open(held, write)
          return { _tag: "Reserved" }
        }

        const reserveUncapped = Effect.fnUntraced(function* (request: MeteredRequest) {
          const { plan } = request
          // Refuses nothing; it is what is charged should this process die.
          const amountNano = likelyNano(plan, estimateOf(plan, options.markup))
          const written = Effect.onError(write(request, amountNano), () => takeBack(request))
          const writing = yield* Effect.forkChild(Effect.asVoid(written), { startImmediately: true })
          return open(request, { ...nothingHeld, amountNano }, writing)
        })

        const finish = makeSettlementWriter(pendingSettlements, (request) => {
          heartbeats.end(request)
          queue.freed(request.plan.caller.key.id)
        })

        /**
         * Takes back a reservation of which nobody heard whether it was written: it would be held for as long as this process lives. Once
         * more later on, because a database that hung may carry out late what was given up.
         */
        const takeBack = (request: MeteredRequest) => {
          const taken = ledger.void(request.plan.generationId)
          const again = Effect.delay(Effect.ignore(taken), options.ledger.leaseMs * AGAIN_SHARE)
          return Effect.andThen(pendingSettlements.fork(finish(request, taken)), Effect.forkIn(again, scope))
        }

        const reserveCapped = makeReserve({
          markup: options.markup,
          queue,
          write: (request, amountNano) => Effect.onError(write(request, amountNano), () => takeBack(request)),
          open
        })

        /** Makes room for what an answer cost beyond what is held; answers what cannot be charged, because the cap is a promise. */
        const topUp = Effect.fnUntraced(function* (request: MeteredRequest, billedNano: NanoUsd) {
          const { plan, reservation } = request
          const capNano = plan.caller.key.monthlyBudgetNano
          const missing = missingNano(request, billedNano)
          if (capNano === null || missing === 0) return 0
          const first = yield* ledger.extend(plan.generationId, missing, capNano)
          const room = first._tag === "Reserved" ? missing : Math.max(0, Math.min(missing, roomOf(plan, first.balance)))
          const last =
            first._tag === "Reserved" || room === 0 ? first : yield* ledger.extend(plan.generationId, room, capNano)
          if (last._tag === "Refused") return missing
          reservation.extend(room)
          return missing - room
        })

        const settle = (request: MeteredRequest, ending: Outcome) =>
          Effect.suspend(() => {
            const { plan, reservation } = request
            const nowMs = clock.currentTimeMillisUnsafe()
            const cost = costFor(ending, options.markup)
            if (!reservation.settle()) {
              return Effect.succeed(generationOf(plan, ending, nowMs, cost, heldBy(reservation)))
            }
            const settled =
              !reservation.isBeingWritten && missingNano(request, cost.billedNano) === 0
                ? closed(request, ending, nowMs, cost)
                : settleLate(request, ending, nowMs, cost)
            // What failed before it was written may be settled once more, by whoever closes the request.
            return Effect.onError(settled, () => Effect.sync(() => reservation.reopen()))
          })

        /** Once the reservation has been written, and with what the budget can pay. */
        const settleLate = Effect.fnUntraced(function* (
          request: MeteredRequest,
          ending: Outcome,
          nowMs: number,
          cost: Cost
        ) {
          yield* Effect.exit(request.reservation.durable)
          // What the budget cannot be asked for is not charged: the cap holds, and what the client is told is what is written.
          const uncharged = yield* Effect.catchCause(topUp(request, cost.billedNano), () =>
            Effect.succeed(missingNano(request, cost.billedNano))
          )
          if (uncharged > 0) yield* Effect.logWarning("an answer cost more than its key's budget could pay")
          return yield* closed(request, ending, nowMs, {
            ...cost,
            markupNano: cost.markupNano - uncharged,
            billedNano: cost.billedNano - uncharged
          })
        })

        const closed = (request: MeteredRequest, ending: Outcome, nowMs: number, cost: Cost) => {
          const { plan, reservation } = request
          const generation = generationOf(plan, ending, nowMs, cost, heldBy(reservation))
          reservation.note({ generation })
          const { completionTokens, promptTokens } = ending.usage
          const used = ending.usageSource === "cache" ? 0 : promptTokens + completionTokens
          const settled = ledger.settle(generation, plan.month)
          const bare = Effect.suspend(() => ledger.settle(bareGeneration(generation), plan.month))
          return Effect.flatMap(finish(request, settled, bare), () => {
            alerts.note(plan.caller.key, false)
            return Effect.as(correct(request, used, nowMs), generation)
          })
        }

        const replay = (request: MeteredRequest, ending: Outcome) =>
          Effect.suspend(() => {
            const { plan, reservation } = request
            const { key } = plan.caller
            const nowMs = clock.currentTimeMillisUnsafe()
            const reservedNano =
              key.monthlyBudgetNano === null
                ? likelyNano(plan, estimateOf(plan, options.markup))
                : neededNano(plan, options.markup)
            const cost = costFor(ending, options.markup)
            const generation = generationOf(plan, ending, nowMs, cost, { reservedNano, extendedNano: 0 })
            const written = ledger.replay(generation, plan.month, reservedNano, key.monthlyBudgetNano)
            return Effect.flatMap(Effect.catch(written, unavailable), ({ _tag }) => {
              if (_tag === "Refused") return Effect.succeed(null)
              reservation.settle()
              reservation.note({ generation })
              alerts.note(key, false)
              return Effect.as(correct(request, 0, nowMs), generation)
            })
          })

        const voidRequest = Effect.fnUntraced(function* (request: MeteredRequest) {
          const { plan, reservation } = request
          if (!reservation.settle()) return
          yield* correct(request, 0, yield* Clock.currentTimeMillis)
          if (!reservation.isOpen) return
          yield* Effect.exit(reservation.durable)
          yield* finish(request, ledger.void(plan.generationId))
        })

        const outputBudget = (request: MeteredRequest): OutputBudget => {
          const { plan, reservation } = request
          const { affordableTokens, isSliced, tokens } = reservation.held
          const capNano = plan.caller.key.monthlyBudgetNano
          const extend = (amountNano: NanoUsd) => ledger.extend(plan.generationId, amountNano, capNano)
          return {
            affordableTokens,
            isSliced,
            watch: (events) =>
              tokens === null
                ? events
                : payAsItComes(request, estimateOf(plan, options.markup).tokenNano, extend)(events),
            hold: (candidate, promptTokens) => {
              if (capNano === null) return Effect.succeed(true)
              const amountNano = promptCost(candidate, promptTokens, options.markup)
              return Effect.match(extend(amountNano), {
                onFailure: () => false,
                onSuccess: ({ _tag }) => {
                  if (_tag === "Refused") return false
                  reservation.extend(amountNano)
                  return true
                }
              })
            }
          }
        }

        return Meter.of({
          reserve: (request) =>
            request.plan.caller.key.monthlyBudgetNano === null ? reserveUncapped(request) : reserveCapped(request),
          follow: heartbeats.follow,
          outputBudget,
          settle: (request, ending) =>
            Effect.uninterruptible(staged(request.plan.trace, SETTLE, settle(request, ending))),
          replay: (request, ending) =>
            Effect.uninterruptible(staged(request.plan.trace, SETTLE, replay(request, ending))),
          void: (request) =>
            Effect.uninterruptible(staged(request.plan.trace, "tollgate.ledger.void", voidRequest(request)))
        })
      })
    )
}

/** What an answer cost beyond what is held for it. Keys without a cap need not hold more. */
const missingNano = ({ plan, reservation }: MeteredRequest, billedNano: NanoUsd): NanoUsd =>
  plan.caller.key.monthlyBudgetNano === null ? 0 : Math.max(0, billedNano - reservation.heldNano)

const heldBy = ({ extendedNano, held }: Reservation) => ({ reservedNano: held.amountNano, extendedNano })

const unavailable = (error: StoreError): Effect.Effect<never, GatewayError> =>
  Effect.fail(gatewayError(new DependencyUnavailable({ dependency: error.dependency })))
