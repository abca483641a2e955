/**
 * The endings of an order. Whatever they are (answered whole, streamed to the end, broken off, failed, cancelled), the ledger is
 * settled once, with what the provider reported or with what was counted here, and the generation says how it came about.
 */
import * as Arr from "effect/Array"
import { Cause, Clock, Context, Effect, Layer, type Pull, type Scope, Stream } from "effect"
import { type Candidate } from "../../domain/Catalog.ts"
import { type ChatEvent, type ChatReply, type ChatRequest, type UsageInfo } from "../../domain/Chat.ts"
import { gatewayError, type GatewayError, ProvidersFailed, ProvidersTimedOut } from "../../domain/Errors.ts"
import { type Attempt, type Generation } from "../../domain/Generation.ts"
import { onClose } from "../../domain/OnClose.ts"
import { type TokenUsage } from "../../domain/Money.ts"
import { type ProviderError } from "../../providers/Provider.ts"
import { logImplausibleUsage } from "./PlausibleUsage.ts"
import { Circuits } from "../health/Circuits.ts"
import { showsItsOutput } from "./Estimate.ts"
import { type Outcome, outcomeOf, errorTypeOf, noUsage, wholeOutcome } from "./Outcome.ts"
import { interruptedCalls, isPriced, listen, outliving, Seen, usedUnheard } from "./ClientDisconnect.ts"
import { Meter } from "./Meter.ts"
import { type Answer, type CompletionEvent } from "../request/Answer.ts"
import { type AttemptRecord, brokenOff, charged, noAttempts, promptCharge } from "../request/AttemptRecord.ts"
import { type Order } from "../request/Order.ts"
import { endingSoFar } from "./Progress.ts"
import { ProviderStats } from "../health/ProviderStats.ts"
import { usageInfo } from "./UsageInfo.ts"

/** What is known of an answer on its way, for an ending that comes too early. */
interface Progress {
  readonly answer: Answer
  readonly seen: Seen
  readonly timeToFirstTokenMs: number
}

export class Settlement extends Context.Service<
  Settlement,
  {
    /** Settles what is still open when the request's scope closes: the client has left, or a defect struck. */
    readonly onScopeClose: (order: Order) => Effect.Effect<void, never, Scope.Scope>
    /** Settles an order that failed before anything reached the client: recorded if a provider was called, void if none was. */
    readonly onFailure: (
      order: Order
    ) => <A, R>(self: Effect.Effect<A, GatewayError, R>) => Effect.Effect<A, GatewayError, R>
    /**
     * Lets a call that is paid for by what it reports go on for a while when its client leaves. `onLeft` is told then, so that no
     * further call is made.
     */
    readonly outlive: (
      order: Order<ChatRequest>,
      call: Effect.Effect<Answer, GatewayError, Scope.Scope>,
      onLeft: () => void
    ) => Effect.Effect<Answer, GatewayError, Scope.Scope>
    readonly whole: (order: Order, answer: Answer, reply: ChatReply) => Effect.Effect<UsageInfo, GatewayError>
    /**
     * Settles what was neither reserved nor needs anybody's work, an answer out of the cache, if the budget has room for what it would
     * have held: its generation. Null: there is none, and nothing happened.
     */
    readonly replay: (
      order: Order,
      candidate: Candidate,
      reply: ChatReply
    ) => Effect.Effect<Generation | null, GatewayError>
    /** Settles what has no completion: embeddings. */
    readonly metered: (
      order: Order,
      from: Pick<Answer, "candidate" | "fallbackUsed">,
      reported: TokenUsage | null
    ) => Effect.Effect<UsageInfo, GatewayError>
    /** The answer's events as the client sees them; settled before the last of them. */
    readonly stream: (
      order: Order,
      answer: Answer,
      events: Stream.Stream<ChatEvent, ProviderError | GatewayError>
    ) => Effect.Effect<Stream.Stream<CompletionEvent>, GatewayError, Scope.Scope>
  }
>()("tollgate/gateway/billing/Settlement") {
  static readonly layer = Layer.effect(
    Settlement,
    Effect.gen(function* () {
      const meter = yield* Meter
      const stats = yield* ProviderStats
      const circuits = yield* Circuits
      const underWay = new WeakMap<Order, Progress>()

      const failed = (order: Order, errorType: string) =>
        Effect.suspend(() => {
          const { record } = order.log
          return meter.settle(order, { ...noUsage, record, errorType, fallbackUsed: fellBack(record) })
        })

      /** The client left, or the process is giving up. What the provider had produced is charged. */
      const abandoned = Effect.fnUntraced(function* (order: Order) {
        const progress = underWay.get(order)
        const { record } = order.log
        const begun = record.continuation?.candidate ?? progress?.answer.candidate
        const [first, ...beside] = begun === undefined ? interruptedCalls(order, record) : []
        const candidate = begun ?? first?.candidate
        if (candidate === undefined) {
          if (record.attempts.length === 0) return yield* meter.void(order)
          // Between two attempts: nobody produced anything, but somebody was called.
          return yield* Effect.ignore(
            meter.settle(order, { ...noUsage, record, cancelled: true, fallbackUsed: fellBack(record) })
          )
        }
        const all = beside.reduce(
          (sum, { at, candidate }) => charged(sum, promptCharge(candidate, order.promptTokens), at),
          record
        )
        yield* settleLeft(order, all, candidate, progress)
      })

      /** Settles an answer that its client did not wait for. */
      const settleLeft = Effect.fnUntraced(function* (
        order: Order,
        record: AttemptRecord,
        candidate: Candidate,
        progress: Progress | undefined
      ) {
        const known = progress?.seen.output.count() ?? record.produced?.() ?? 0
        const { throughputTps } = stats.snapshot(candidate.provider.slug, candidate.offer.id)
        const nowMs = yield* Clock.currentTimeMillis
        const reported = progress?.seen.usage ?? null
        const left = {
          ...noUsage,
          record,
          candidate,
          timeToFirstTokenMs: progress?.timeToFirstTokenMs ?? null,
          cancelled: true,
          fallbackUsed: progress?.answer.fallbackUsed === true || fellBack(record)
        }
        if (progress !== undefined && (reported !== null || progress.answer.source === "cache")) {
          const { usage, usageSource } = outcomeOf(order, record, progress.answer, reported, () => known)
          return yield* settle(order, { ...left, usage, usageSource }, reported)
        }
        return yield* meter.settle(order, { ...left, ...usedUnheard(order, record, known, nowMs, throughputTps) })
      })

      const outlive = (order: Order, call: Effect.Effect<Answer, GatewayError, Scope.Scope>, onLeft: () => void) =>
        order.unroutable !== null || !isPriced(order) || (order.streamed && showsItsOutput(order))
          ? call
          : outliving(
              order,
              call,
              (answer) => {
                if (answer.body._tag === "Whole") {
                  const { reply } = answer.body
                  const ending = wholeOutcome(order, order.log.record, answer, reply)
                  return settle(order, { ...ending, finishReason: null, cancelled: true }, reply.usage)
                }
                if (underWay.has(order)) return Effect.void
                const seen = new Seen()
                const progress = { answer, seen, timeToFirstTokenMs: answer.latencyMs }
                return Effect.andThen(
                  listen(answer.body.events, seen),
                  Effect.suspend(() => settleLeft(order, order.log.record, answer.candidate, progress))
                )
              },
              onLeft
            )

      /** Settles an answer. `reported`: the provider's figures; that they were not believed is for the operator to know. */
      const settle = (order: Order, ending: Outcome, reported: TokenUsage | null) =>
        reported === null || ending.usageSource !== "counted"
          ? meter.settle(order, ending)
          : Effect.andThen(logImplausibleUsage(order, ending.candidate, reported), meter.settle(order, ending))

      /** What the client is told of a settlement: no amount that is not durable. */
      const told = (order: Order, settled: Effect.Effect<Generation>) =>
        Effect.zipWith(settled, meter.written(order), usageInfo)

      const whole = (order: Order, answer: Answer, reply: ChatReply) => {
        const { generation } = order.facts
        // It was settled before it got here: `replay`.
        if (order.account.settled && generation !== null) return Effect.succeed(usageInfo(generation))
        return Effect.flatMap(meter.durable(order), () =>
          told(order, settle(order, wholeOutcome(order, order.log.record, answer, reply), reply.usage))
        )
      }

      const replay = (order: Order, candidate: Candidate, reply: ChatReply) =>
        meter.replay(order, wholeOutcome(order, noAttempts, { candidate, fallbackUsed: false, source: "cache" }, reply))

      const metered = Effect.fnUntraced(function* (
        order: Order,
        from: Pick<Answer, "candidate" | "fallbackUsed">,
        reported: TokenUsage | null
      ) {
        yield* meter.durable(order)
        const ending = outcomeOf(order, order.log.record, { ...from, source: "upstream" }, reported, () => 0)
        return yield* told(order, settle(order, ending, reported))
      })

      const stream = Effect.fnUntraced(function* (
        order: Order,
        answer: Answer,
        events: Stream.Stream<ChatEvent, ProviderError | GatewayError>
      ) {
        // Nothing may reach the client before its generation can be found again.
        yield* meter.durable(order)
        const firstTokenAtMs = yield* Clock.currentTimeMillis
        const seen = new Seen()
        const progress = { answer, seen, timeToFirstTokenMs: firstTokenAtMs - order.startedAtMs }
        underWay.set(order, progress)
        let broken: ProviderError | GatewayError | null = null

        /** What of it goes to the client. */
        const observe = (chunk: ReadonlyArray<ChatEvent>): ReadonlyArray<CompletionEvent> => {
          const deltas: Array<CompletionEvent> = []
          for (const event of chunk) {
            seen.add(event)
            if (event._tag === "Choices") deltas.push(event)
          }
          return deltas
        }

        const finish = Effect.gen(function* () {
          const nowMs = yield* Clock.currentTimeMillis
          const { record: called } = order.log
          const record = broken?._tag === "ProviderError" ? brokenOff(called, broken) : called
          const ending = {
            ...outcomeOf(order, record, answer, seen.usage, () => seen.output.count()),
            timeToFirstTokenMs: progress.timeToFirstTokenMs,
            finishReason: broken === null ? seen.finishReason : "error"
          }
          const candidate = record.continuation?.candidate ?? answer.candidate
          if (broken?._tag === "ProviderError") {
            stats.broke(candidate.provider.slug, candidate.offer.id)
            yield* circuits.broke(candidate, broken)
          } else if (broken === null && answer.source === "upstream") {
            yield* circuits.completed(candidate)
            const isTimed = record.continuation === null && nowMs > firstTokenAtMs && ending.usage.completionTokens > 1
            const speed = (ending.usage.completionTokens * 1000) / (nowMs - firstTokenAtMs)
            if (isTimed) stats.recordSpeed(candidate.provider.slug, candidate.offer.id, speed)
          }
          const error = broken === null ? null : streamError(record.attempts, broken)
          const errorType = error === null ? null : errorTypeOf(error)
          const usage = yield* told(order, settle(order, { ...ending, errorType }, seen.usage))
          const last: CompletionEvent = { _tag: "Usage", usage }
          return error === null
            ? Arr.of(last)
            : Arr.make<Arr.NonEmptyArray<CompletionEvent>>({ _tag: "Failed", error }, last)
        })

        let rest: Pull.Pull<Arr.NonEmptyReadonlyArray<ChatEvent>, ProviderError | GatewayError> | null = null
        // It is added after the call was opened, and runs before the call is aborted.
        yield* onClose(
          Effect.suspend(() => {
            if (order.account.settled || rest === null || answer.source === "cache") return Effect.void
            if (seen.finishReason === null && showsItsOutput(order)) return Effect.void
            const heard = listen(Stream.fromPull(Effect.succeed(rest)), seen)
            const left = Effect.suspend(() => {
              const { record } = order.log
              return settleLeft(order, record, record.continuation?.candidate ?? answer.candidate, progress)
            })
            return Effect.andThen(heard, left)
          })
        )

        // One step for what would be five of `Stream`: every token takes them.
        return Stream.transformPull(events, (pull) => {
          let isOver = false
          rest = pull
          const next: Pull.Pull<Arr.NonEmptyReadonlyArray<CompletionEvent>> = Effect.matchEffect(pull, {
            onSuccess: (chunk) => {
              const deltas = observe(chunk)
              return Arr.isReadonlyArrayNonEmpty(deltas) ? Effect.succeed(deltas) : next
            },
            onFailure: (error) => {
              if (!Cause.isDone(error)) broken = error
              isOver = true
              return finish
            }
          })
          return Effect.succeed(Effect.suspend(() => (isOver ? Cause.done() : next)))
        })
      })

      return Settlement.of({
        outlive,
        onScopeClose: (order) =>
          Effect.andThen(
            meter.follow(order, () => endingSoFar(order, underWay.get(order))),
            onClose(Effect.suspend(() => (order.account.settled ? Effect.void : abandoned(order))))
          ),
        onFailure: (order) => (self) =>
          self.pipe(
            Effect.tapError((error) => {
              if (order.log.record.attempts.length === 0) return meter.void(order)
              order.facts.generationId = order.generationId
              return Effect.ignore(failed(order, errorTypeOf(error)))
            }),
            // A bug of ours is no client that left: it is recorded as what it is, and nobody pays for it.
            Effect.tapDefect(() => {
              if (order.log.record.attempts.length === 0) return meter.void(order)
              order.facts.generationId = order.generationId
              return Effect.ignore(failed(order, "internal_error"))
            })
          ),
        whole,
        replay,
        metered,
        stream
      })
    })
  )
}

/** Whether more than one provider or model was called; trying the same one again is no fallback. */
const fellBack = ({ attempts }: AttemptRecord): boolean =>
  new Set(attempts.map(({ model, provider }) => `${provider}|${model}`)).size > 1

/** What a client is told of a stream that broke. */
const streamError = (attempts: ReadonlyArray<Attempt>, error: ProviderError | GatewayError): GatewayError => {
  if (error._tag === "GatewayError") return error
  return gatewayError(
    error.reason._tag === "TimedOut"
      ? new ProvidersTimedOut({ attempts })
      : new ProvidersFailed({ attempts, retryAfterMs: null })
  )
}
