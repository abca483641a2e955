/**
 * Opens a request in the ledger before it costs anything, and closes it exactly once: answered,
 * failed or cancelled. A key with a cap waits for its reservation. A key without one starts while
 * its reservation is not written yet (Intents.ts); it, or the settlement in its place, is durable
 * before the reply's first byte. The reservation limits the output, so a cap is never exceeded.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { DependencyUnavailable, gatewayError, type GatewayError } from "../../domain/Errors.ts"
import { type Generation } from "../../domain/Generation.ts"
import { Ids } from "../../domain/Ids.ts"
import { type Cost, type NanoUsd } from "../../domain/pricing/Money.ts"
import { Ledger } from "../../store/ledger/Ledger.ts"
import { Limits } from "../../store/limits/Limits.ts"
import { type StoreError } from "../../store/StoreError.ts"
import { makeAssumedPriceWarning } from "./AssumedPrices.ts"
import { BudgetAlerts } from "./BudgetAlerts.ts"
import { BudgetQueue } from "./BudgetQueue.ts"
import { makeTokenCorrection } from "./TokenCorrection.ts"
import { bareGeneration, costFor, type Outcome, generationOf } from "./Outcome.ts"
import { estimateOf } from "./Estimate.ts"
import { makeSettlementWriter, type SettlementWriter } from "./SettlementWriter.ts"
import { makeHeartbeats } from "./Heartbeats.ts"
import { Intent, makeIntents } from "./Intents.ts"
import { PendingSettlements } from "./PendingSettlements.ts"
import { type OutputBudget } from "../request/OutputBudget.ts"
import { type Held, type MeteredRequest, nothingHeld, type Reservation } from "./Reservation.ts"
import { makeTopUp, missingNano } from "./TopUp.ts"
import { progressOf } from "./Progress.ts"
import { staged } from "../telemetry/RequestTrace.ts"
import { makeReserve, neededNano, type ReserveOutcome } from "./Reservations.ts"
import { likelyNano, makeOutputBudget } from "./IncrementalReservation.ts"

/** A reservation that may be written late is voided again after this share of a lease. */
const AGAIN_SHARE = 0.2
/** The name of the span of a settlement. */
const SETTLE = "tollgate.ledger.settle"

export class Meter extends Context.Service<
  Meter,
  {
    /**
     * Opens the request in the ledger. For a key with a cap it reserves the worst case, or a slice
     * of it if the output is visible. If the key's other requests hold what it needs, it waits for
     * them. At last it limits the output to the rest of the month's budget.
     */
    readonly reserve: (request: MeteredRequest) => Effect.Effect<ReserveOutcome, GatewayError>
    /** Corrects the tokens that the rate limit took to `used`. Never fails. */
    readonly correctTokens: (request: MeteredRequest, used: number, nowMs: number) => Effect.Effect<void>
    /**
     * The limits that the reservation sets on the request's calls. See IncrementalReservation.ts
     * for `watch`.
     */
    readonly outputBudget: (request: MeteredRequest) => OutputBudget
    /**
     * Closes the request with its outcome and returns its generation. Only the first close counts.
     * While the database is away it returns all the same, and the write is retried in the
     * background.
     */
    readonly settle: (request: MeteredRequest, ending: Outcome) => Effect.Effect<Generation>
    /**
     * The same for a whole answer, of which nothing has left yet. It replaces the reservation of a
     * key without a cap if that is not written yet. Fails if neither can be written.
     */
    readonly settleAnswer: (request: MeteredRequest, ending: Outcome) => Effect.Effect<Generation, GatewayError>
    /**
     * Settles a cache hit that has no reservation, in one write, if the budget has room for what
     * `reserve` would have held. Null: the budget has no room, and nothing was written.
     */
    readonly replay: (request: MeteredRequest, ending: Outcome) => Effect.Effect<Generation | null, GatewayError>
    /**
     * Closes a request that called no provider. It gives back the reservation and the rate limit's
     * tokens and leaves no generation.
     */
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
        const warnOfAssumed = makeAssumedPriceWarning()
        const pendingSettlements = yield* PendingSettlements
        const scope = yield* Effect.scope
        const clock = yield* Clock.Clock
        const processId = (yield* Ids).next("prc", clock.currentTimeMillisUnsafe())
        const queue = new BudgetQueue()
        const runFork = Effect.runForkWith(yield* Effect.context())
        const sendLater = yield* makeIntents
        const heartbeats = yield* makeHeartbeats({ leaseMs: options.ledger.leaseMs, markup: options.markup })

        const write = (
          { plan }: MeteredRequest,
          amountNano: NanoUsd,
          capNano: NanoUsd | null = plan.caller.key.monthlyBudgetNano
        ) =>
          Effect.catch(
            ledger.reserve({
              generationId: plan.generationId,
              keyId: plan.caller.key.id,
              ownerId: plan.caller.key.ownerId,
              // The name of an unknown model is the client's text and is not stored.
              model: plan.ranked.length === 0 ? "" : plan.model,
              month: plan.month,
              amountNano,
              capNano,
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

        const open = (request: MeteredRequest, held: Held, intent?: Intent) => {
          heartbeats.begin(request)
          request.reservation.open(held, intent)
          return { _tag: "Reserved" } as const
        }

        const reserveUncapped = (request: MeteredRequest): Effect.Effect<ReserveOutcome> =>
          Effect.sync(() => {
            const { plan } = request
            // The amount is charged if this process dies. It never refuses a request.
            const amountNano = likelyNano(plan, estimateOf(plan, options.markup))
            const intent = new Intent(() =>
              runFork(Effect.asVoid(Effect.onError(write(request, amountNano), () => takeBack(request))))
            )
            // A stream often needs it before its first token.
            if (plan.streamed) intent.send()
            else sendLater(intent)
            return open(request, { ...nothingHeld, amountNano }, intent)
          })

        const { finish, tryToFinish } = makeSettlementWriter(pendingSettlements, (request) => {
          heartbeats.end(request)
          queue.freed(request.plan.caller.key.id)
        })

        /**
         * Voids a reservation that may or may not have been written: the heartbeats would hold it
         * for as long as this process lives. It is voided a second time later, because a database
         * that hung may still carry out the write.
         */
        const takeBack = (request: MeteredRequest) => {
          const taken = ledger.void(request.plan.generationId)
          const again = Effect.delay(Effect.ignore(taken), options.ledger.leaseMs * AGAIN_SHARE)
          return Effect.andThen(pendingSettlements.fork(finish(request, taken)), Effect.forkIn(again, scope))
        }

        const reserveCapped = makeReserve({
          markup: options.markup,
          queue,
          write: (request, amountNano, capNano) =>
            Effect.onError(write(request, amountNano, capNano), () => takeBack(request)),
          open
        })

        const topUp = makeTopUp(ledger)

        const settle = <E = never>(request: MeteredRequest, ending: Outcome, write: Write<E> = finish) =>
          Effect.suspend(() => {
            const { plan, reservation } = request
            const nowMs = clock.currentTimeMillisUnsafe()
            const cost = costFor(ending, options.markup)
            if (!reservation.settle()) {
              return Effect.succeed(generationOf(plan, ending, nowMs, cost, heldBy(reservation)))
            }
            const isWritten = reservation.withdraw() || !reservation.isBeingWritten
            const settled =
              isWritten && missingNano(request, cost.billedNano) === 0
                ? closed(request, ending, nowMs, cost, write)
                : settleLate(request, ending, nowMs, cost)
            // A settlement that failed before it was written may be tried again.
            return Effect.onError(settled, () => Effect.sync(() => reservation.reopen()))
          })

        /** Settles once the reservation is written, with what the budget can pay. */
        const settleLate = Effect.fnUntraced(function* (
          request: MeteredRequest,
          ending: Outcome,
          nowMs: number,
          cost: Cost
        ) {
          yield* Effect.exit(request.reservation.durable)
          // If the ledger cannot be asked, the rest is not charged. The cap holds, and the client
          // is told the amount that is written.
          const uncharged = yield* Effect.catchCause(topUp(request, cost.billedNano), () =>
            Effect.succeed(missingNano(request, cost.billedNano))
          )
          if (uncharged > 0)
            yield* Effect.logWarning("an answer cost more than its key's budget had left; the rest is not charged")
          return yield* closed(request, ending, nowMs, {
            ...cost,
            markupNano: cost.markupNano - uncharged,
            billedNano: cost.billedNano - uncharged
          })
        })

        const closed = <E = never>(
          request: MeteredRequest,
          ending: Outcome,
          nowMs: number,
          cost: Cost,
          write: Write<E> = finish
        ) => {
          const { plan, reservation } = request
          const generation = generationOf(plan, ending, nowMs, cost, heldBy(reservation))
          reservation.note({ generation })
          const { completionTokens, promptTokens } = ending.usage
          const used = ending.usageSource === "cache" ? 0 : promptTokens + completionTokens
          const settled = ledger.settle(generation, plan.month)
          const bare = Effect.suspend(() => ledger.settle(bareGeneration(generation), plan.month))
          return Effect.flatMap(write(request, settled, bare), () => {
            alerts.note(plan.caller.key, false)
            return Effect.flatMapEager(correct(request, used, nowMs), () =>
              Effect.mapEager(warnOfAssumed(generation), () => generation)
            )
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
              return Effect.mapEager(correct(request, 0, nowMs), () => generation)
            })
          })

        const voidRequest = Effect.fnUntraced(function* (request: MeteredRequest) {
          const { plan, reservation } = request
          if (!reservation.settle()) return
          yield* correct(request, 0, yield* Clock.currentTimeMillis)
          if (!reservation.isOpen) return
          if (reservation.withdraw()) return yield* finish(request, Effect.void)
          yield* Effect.exit(reservation.durable)
          yield* finish(request, ledger.void(plan.generationId))
        })

        return Meter.of({
          reserve: (request) =>
            request.plan.caller.key.monthlyBudgetNano === null ? reserveUncapped(request) : reserveCapped(request),
          correctTokens: correct,
          outputBudget: makeOutputBudget(ledger, options.markup),
          settle: (request, ending) => closing(request, settle(request, ending)),
          settleAnswer: (request, ending) =>
            Effect.suspend(() => {
              const { reservation } = request
              const close = <E>(write: Write<E>) => closing(request, settle(request, ending, write))
              if (!reservation.withdraw()) return Effect.flatMapEager(reservation.durable, () => close(finish))
              return Effect.catch(close(tryToFinish), () => {
                reservation.restore()
                return Effect.andThen(reservation.durable, close(finish))
              })
            }),
          replay: (request, ending) => closing(request, replay(request, ending)),
          void: (request) =>
            Effect.uninterruptible(staged(request.plan.trace, "tollgate.ledger.void", voidRequest(request)))
        })
      })
    )
}

/** Writes a settlement. */
type Write<E> = (...settlement: Parameters<SettlementWriter["finish"]>) => Effect.Effect<void, E>

const closing = <A, E>({ plan }: MeteredRequest, self: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.uninterruptible(staged(plan.trace, SETTLE, self))

const heldBy = ({ extendedNano, held }: Reservation) => ({ reservedNano: held.amountNano, extendedNano })

const unavailable = (error: StoreError): Effect.Effect<never, GatewayError> =>
  Effect.fail(gatewayError(new DependencyUnavailable({ dependency: error.dependency })))
