/**
 * Settles a request, whatever its outcome: answered whole, streamed to the end, broken off, failed
 * or cancelled. The ledger is settled once, with the usage that the provider reported or the
 * gateway counted; the generation says which. Only this module settles or voids a request.
 */
import { Cause, Clock, Context, Effect, Layer, type Scope } from "effect"
import { type Batches } from "../../domain/runtime/Batches.ts"
import { type Candidate } from "../../domain/Catalog.ts"
import { type ChatEvent, type ChatReply, type ChatRequest, type Members, type UsageInfo } from "../../domain/Chat.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { type Generation } from "../../domain/Generation.ts"
import { type TokenUsage } from "../../domain/pricing/Money.ts"
import { addFinalizer } from "../../domain/runtime/OnClose.ts"
import { type ProviderError } from "../../providers/Provider.ts"
import { Circuits } from "../health/Circuits.ts"
import { ProviderStats } from "../health/ProviderStats.ts"
import { logImplausibleUsage } from "../reply/PlausibleUsage.ts"
import { type Answer, type CompletionEvent } from "../request/Answer.ts"
import { abortedCharge, type AttemptRecord, chargedPrompt, withCharge } from "../request/AttemptRecord.ts"
import { hasVisibleOutput } from "../request/Reasoning.ts"
import {
  interruptedCalls,
  isPriced,
  readToEnd,
  runPastDisconnect,
  ReceivedAnswer,
  estimatedUsage
} from "./ClientDisconnect.ts"
import { Meter } from "./Meter.ts"
import {
  countPrompt,
  errorTypeOf,
  fellBack,
  noUsage,
  type Outcome,
  outcomeOf,
  wholeOutcome,
  withSearch
} from "./Outcome.ts"
import { type MeteredRequest, type ShownAnswer } from "./Reservation.ts"
import { makeStreamSettlement } from "./StreamSettlement.ts"
import { usageInfo, withProviderUsage } from "./UsageInfo.ts"

/** A call of a provider whose answer has not begun. */
const called = { fallbackUsed: false, source: "upstream" } as const

export class Settlement extends Context.Service<
  Settlement,
  {
    /**
     * Settles an open request when its scope closes: the client has left, or there was a defect.
     */
    readonly onScopeClose: (request: MeteredRequest, scope: Scope.Scope) => Effect.Effect<void>
    /**
     * Settles a request that failed before anything reached the client: recorded if a provider was
     * called, void otherwise. A request whose client left before the reservation is void too.
     */
    readonly onFailure: (
      request: MeteredRequest
    ) => <A, R>(self: Effect.Effect<A, GatewayError, R>) => Effect.Effect<A, GatewayError, R>
    /** Voids a request that is answered with an earlier reply, because that reply is paid for. */
    readonly void: (request: MeteredRequest) => Effect.Effect<void>
    /**
     * Lets a call go on for a while after its client left, if its cost depends on what the provider
     * reports. `onLeft` is called then, so that no further call is made.
     */
    readonly surviveDisconnect: (
      request: MeteredRequest<ChatRequest>,
      call: Effect.Effect<Answer, GatewayError, Scope.Scope>,
      onLeft: () => void
    ) => Effect.Effect<Answer, GatewayError, Scope.Scope>
    readonly whole: (
      request: MeteredRequest,
      answer: Answer,
      reply: ChatReply
    ) => Effect.Effect<UsageInfo, GatewayError>
    /**
     * Settles a cache hit that has no reservation, if the budget has room for what it would have
     * reserved. Returns the usage for the client; null: the budget has no room, and nothing was
     * written.
     */
    readonly replay: (
      request: MeteredRequest,
      candidate: Candidate,
      reply: ChatReply
    ) => Effect.Effect<UsageInfo | null, GatewayError>
    /** Settles a request without a completion: embeddings. */
    readonly metered: (
      request: MeteredRequest,
      from: Pick<Answer, "candidate" | "fallbackUsed">,
      reported: TokenUsage | null
    ) => Effect.Effect<UsageInfo, GatewayError>
    /**
     * The answer's events as the client sees them. The request is settled before the last of them.
     */
    readonly stream: (
      request: MeteredRequest,
      answer: Answer,
      events: Batches<ChatEvent, ProviderError | GatewayError>,
      scope: Scope.Scope
    ) => Effect.Effect<Batches<CompletionEvent>, GatewayError>
  }
>()("tollgate/gateway/billing/Settlement") {
  static readonly layer = Layer.effect(
    Settlement,
    Effect.gen(function* () {
      const meter = yield* Meter
      const stats = yield* ProviderStats
      const circuits = yield* Circuits
      const clock = yield* Clock.Clock

      const failed = (request: MeteredRequest, errorType: string) => {
        const { record } = request.log
        return meter.settle(request, { ...noUsage, record, errorType, fallbackUsed: fellBack(record) })
      }

      /**
       * The client left, or the process is shutting down. The output that the provider produced is
       * charged.
       */
      const abandoned = Effect.fnUntraced(function* (request: MeteredRequest) {
        const { log, plan, reservation } = request
        const { record } = log
        const { shown } = reservation
        const begun = record.continuation?.candidate ?? shown?.answer.candidate
        const [first, ...others] = begun === undefined ? interruptedCalls(plan, record) : []
        const candidate = begun ?? first?.candidate
        if (candidate === undefined) {
          if (record.attempts.length === 0) return yield* meter.void(request)
          // Between two attempts: no output was produced, but a provider was called.
          return yield* Effect.ignore(
            meter.settle(request, { ...noUsage, record, cancelled: true, fallbackUsed: fellBack(record) })
          )
        }
        let all = record
        for (const { at, candidate } of others) {
          const promptTokens = yield* chargedPrompt(all, candidate, plan.prompt)
          all = withCharge(all, abortedCharge(all, candidate, promptTokens, 0), at)
        }
        yield* settleAbandoned(request, all, candidate, shown)
      })

      /** Settles an answer whose client has left. */
      const settleAbandoned = Effect.fnUntraced(function* (
        request: MeteredRequest,
        record: AttemptRecord,
        candidate: Candidate,
        shown: ShownAnswer | undefined
      ) {
        const known = shown?.seen.output.count() ?? record.produced?.() ?? 0
        const { throughputTps } = stats.snapshot(candidate.provider.slug, candidate.offer.id)
        const nowMs = clock.currentTimeMillisUnsafe()
        const reported = shown?.seen.usage ?? null
        const left = {
          ...noUsage,
          record,
          candidate,
          timeToFirstTokenMs: shown?.timeToFirstTokenMs ?? null,
          cancelled: true,
          fallbackUsed: shown?.answer.fallbackUsed === true || fellBack(record)
        }
        yield* countPrompt(request, record, shown?.answer ?? { candidate, ...called }, reported)
        if (shown !== undefined && (reported !== null || shown.answer.source === "cache")) {
          const { usage, usageSource } = outcomeOf(request, record, shown.answer, reported, () => known)
          return yield* settle(request, { ...left, usage, usageSource }, reported)
        }
        const { usage, usageSource } = estimatedUsage(request, record, candidate, known, nowMs, throughputTps)
        return yield* meter.settle(request, {
          ...left,
          usage: withSearch(request.plan, candidate, usage),
          usageSource
        })
      })

      const surviveDisconnect = (
        request: MeteredRequest,
        call: Effect.Effect<Answer, GatewayError, Scope.Scope>,
        onLeft: () => void
      ) => {
        const { log, plan, reservation } = request
        if (plan.unroutable !== null || !isPriced(plan) || (plan.streamed && hasVisibleOutput(plan))) return call
        const settleAfterDisconnect = (answer: Answer) => {
          if (answer.body._tag === "Whole") {
            const { reply } = answer.body
            return Effect.flatMap(countPrompt(request, log.record, answer, reply.usage), () => {
              const ending = wholeOutcome(request, log.record, answer, reply)
              return settle(request, { ...ending, finishReason: null, cancelled: true }, reply.usage)
            })
          }
          if (reservation.shown !== undefined) return Effect.void
          const seen = new ReceivedAnswer()
          const shown = { answer, seen, timeToFirstTokenMs: answer.latencyMs }
          return Effect.andThen(
            readToEnd(answer.body.events, seen),
            Effect.suspend(() => settleAbandoned(request, log.record, answer.candidate, shown))
          )
        }
        return runPastDisconnect(request, call, settleAfterDisconnect, onLeft)
      }

      /**
       * Settles an answer. `reported`: the provider's figures; they are logged if they are
       * implausible.
       */
      const settle = (request: MeteredRequest, ending: Outcome, reported: TokenUsage | null) =>
        logged(request, ending, reported, meter.settle(request, ending))

      /** The same for a whole answer. */
      const settleAnswer = (request: MeteredRequest, ending: Outcome, reported: TokenUsage | null) =>
        logged(request, ending, reported, meter.settleAnswer(request, ending))

      const logged = <E>(
        { plan }: MeteredRequest,
        { candidate, usageSource }: Outcome,
        reported: TokenUsage | null,
        settled: Effect.Effect<Generation, E>
      ) =>
        reported === null || usageSource !== "counted"
          ? settled
          : Effect.andThen(logImplausibleUsage(plan, candidate, reported), settled)

      /** The usage for the client. It contains an amount only if that is durable. */
      const settledUsage = <E>(
        { reservation }: MeteredRequest,
        settled: Effect.Effect<Generation, E>,
        usageExtra?: Members
      ) =>
        Effect.flatMap(settled, (generation) =>
          Effect.mapEager(reservation.written, (isWritten) =>
            withProviderUsage(generation, usageInfo(generation, isWritten), usageExtra)
          )
        )

      const whole = (request: MeteredRequest, answer: Answer, reply: ChatReply) => {
        const { record } = request.log
        return Effect.flatMapEager(countPrompt(request, record, answer, reply.usage), () => {
          const settled = settleAnswer(request, wholeOutcome(request, record, answer, reply), reply.usage)
          return settledUsage(request, settled, reply.usageExtra)
        })
      }

      const replay = (request: MeteredRequest, candidate: Candidate, reply: ChatReply) => {
        const origin = { candidate, fallbackUsed: false, source: "cache" } as const
        return Effect.map(
          meter.replay(request, wholeOutcome(request, request.log.record, origin, reply)),
          (generation) =>
            generation === null ? null : withProviderUsage(generation, usageInfo(generation), reply.usageExtra)
        )
      }

      const metered = Effect.fnUntraced(function* (
        request: MeteredRequest,
        from: Pick<Answer, "candidate" | "fallbackUsed">,
        reported: TokenUsage | null
      ) {
        const answer = { ...from, source: "upstream" } as const
        yield* countPrompt(request, request.log.record, answer, reported)
        const ending = outcomeOf(request, request.log.record, answer, reported, () => 0)
        return yield* settledUsage(request, settleAnswer(request, ending, reported))
      })

      return Settlement.of({
        onScopeClose: (request, scope) => {
          return addFinalizer(scope, () => (request.reservation.isSettled ? Effect.void : abandoned(request)))
        },
        onFailure: (request) => (self) =>
          Effect.onError(self, (cause) => {
            const { log, plan, reservation } = request
            const hasCalled = log.record.attempts.length > 0
            if (Cause.hasInterruptsOnly(cause)) {
              return reservation.isOpen || hasCalled ? Effect.void : meter.void(request)
            }
            if (!hasCalled) {
              reservation.note({ generationId: null })
              return meter.void(request)
            }
            reservation.note({ generationId: plan.generationId })
            // A defect is recorded as such, not as a client that left, and is not charged.
            const error = cause.reasons.find(({ _tag }) => _tag === "Fail")
            const errorType = error?._tag === "Fail" ? errorTypeOf(error.error) : "internal_error"
            return Effect.ignore(failed(request, errorType))
          }),
        void: meter.void,
        surviveDisconnect,
        whole,
        replay,
        metered,
        stream: makeStreamSettlement({ circuits, clock, stats, settle, settleAbandoned, settledUsage })
      })
    })
  )
}
