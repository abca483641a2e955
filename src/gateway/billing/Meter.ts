/**
 * Opens a request in the ledger before it costs anything, and closes it exactly once: answered,
 * failed or cancelled. A key with a cap waits for its reservation. A key without one starts while
 * its reservation is being written; the reservation is durable before the reply's first byte. The
 * reservation limits the output, so a cap is never exceeded.
 */
import { Clock, Context, Effect, type Fiber, Layer } from "effect"
import { type Candidate } from "../../domain/Catalog.ts"
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
import { estimateOf, promptCost } from "./Estimate.ts"
import { makeSettlementWriter } from "./SettlementWriter.ts"
import { makeHeartbeats } from "./Heartbeats.ts"
import { PendingSettlements } from "./PendingSettlements.ts"
import { type OutputBudget } from "../request/OutputBudget.ts"
import { type Held, type MeteredRequest, nothingHeld, type Reservation } from "./Reservation.ts"
import { progressOf } from "./Progress.ts"
import { staged } from "../telemetry/RequestTrace.ts"
import { makeReserve, neededNano, type ReserveOutcome } from "./Reservations.ts"
import { holdPrompt, likelyNano, reserveWhileStreaming, remainingNano } from "./IncrementalReservation.ts"

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
    /** Gives the heartbeats a function that tells the progress; null before an answer begins. */
    readonly follow: (request: MeteredRequest, soFar: () => Outcome | null) => void
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

        const open = (request: MeteredRequest, held: Held, write?: Fiber.Fiber<void, GatewayError>): ReserveOutcome => {
          heartbeats.begin(request)
          request.reservation.open(held, write)
          return { _tag: "Reserved" }
        }

        const reserveUncapped = Effect.fnUntraced(function* (request: MeteredRequest) {
          const { plan } = request
          // The amount is charged if this process dies. It never refuses a request.
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

        /**
         * Reserves what an answer cost beyond its reservation. Returns the part that the cap has no
         * room for, which is not charged.
         */
        const topUp = Effect.fnUntraced(function* (request: MeteredRequest, billedNano: NanoUsd) {
          const { plan, reservation } = request
          const capNano = plan.caller.key.monthlyBudgetNano
          const missing = missingNano(request, billedNano)
          if (capNano === null || missing === 0) return 0
          const first = yield* ledger.extend(plan.generationId, missing, capNano)
          const room =
            first._tag === "Reserved" ? missing : Math.max(0, Math.min(missing, remainingNano(plan, first.balance)))
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
            return Effect.as(Effect.andThen(correct(request, used, nowMs), warnOfAssumed(generation)), generation)
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
          const priceOfPrompt = (candidate: Candidate) => (tokens: number) =>
            promptCost(plan, candidate, tokens, options.markup)
          return {
            affordableTokens,
            isSliced,
            watch: (events) =>
              tokens === null
                ? events
                : reserveWhileStreaming(request, estimateOf(plan, options.markup).tokenNano, extend)(events),
            hold: (candidate, prompt) =>
              capNano === null ? Effect.succeed(true) : holdPrompt(request, prompt, priceOfPrompt(candidate), extend)
          }
        }

        return Meter.of({
          reserve: (request) =>
            request.plan.caller.key.monthlyBudgetNano === null ? reserveUncapped(request) : reserveCapped(request),
          correctTokens: correct,
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
