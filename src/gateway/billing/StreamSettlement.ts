/**
 * Settles a streamed answer: at its end, where it breaks off, or where its client leaves an answer
 * that lacks only its usage.
 */
import * as Arr from "effect/Array"
import { Cause, Clock, Effect, type Pull, Stream } from "effect"
import { type Candidate } from "../../domain/Catalog.ts"
import { type ChatEvent, type Members } from "../../domain/Chat.ts"
import { gatewayError, type GatewayError, ProvidersFailed, ProvidersTimedOut } from "../../domain/Errors.ts"
import { type Attempt, type Generation } from "../../domain/Generation.ts"
import { type TokenUsage } from "../../domain/pricing/Money.ts"
import { onClose } from "../../domain/OnClose.ts"
import { type ProviderError } from "../../providers/Provider.ts"
import { type UsageInfo } from "../../domain/Chat.ts"
import { type Circuits } from "../health/Circuits.ts"
import { type ProviderStats } from "../health/ProviderStats.ts"
import { type Answer, type CompletionEvent } from "../request/Answer.ts"
import { type AttemptRecord, withBrokenStream } from "../request/AttemptRecord.ts"
import { hasVisibleOutput } from "../request/Reasoning.ts"
import { readToEnd, ReceivedAnswer } from "./ClientDisconnect.ts"
import { countPrompt, errorTypeOf, type Outcome, outcomeOf } from "./Outcome.ts"
import { type MeteredRequest, type ShownAnswer } from "./Reservation.ts"

interface StreamSettling {
  readonly circuits: Circuits["Service"]
  readonly stats: ProviderStats["Service"]
  readonly settle: (request: MeteredRequest, ending: Outcome, reported: TokenUsage | null) => Effect.Effect<Generation>
  readonly settleAbandoned: (
    request: MeteredRequest,
    record: AttemptRecord,
    candidate: Candidate,
    shown: ShownAnswer
  ) => Effect.Effect<unknown>
  readonly settledUsage: (
    request: MeteredRequest,
    settled: Effect.Effect<Generation>,
    usageExtra: Members | undefined
  ) => Effect.Effect<UsageInfo>
}

export const makeStreamSettlement = ({ circuits, settle, settleAbandoned, settledUsage, stats }: StreamSettling) =>
  Effect.fnUntraced(function* (
    request: MeteredRequest,
    answer: Answer,
    events: Stream.Stream<ChatEvent, ProviderError | GatewayError>
  ) {
    const { log, plan, reservation } = request
    // The generation must be findable before anything reaches the client.
    yield* reservation.durable
    const firstTokenAtMs = yield* Clock.currentTimeMillis
    const seen = new ReceivedAnswer()
    const shown = { answer, seen, timeToFirstTokenMs: firstTokenAtMs - plan.startedAtMs }
    reservation.shown = shown
    let broken: ProviderError | GatewayError | null = null
    let ending: ReadonlyArray<Members> | undefined

    /** The events that go to the client. */
    const observe = (chunk: ReadonlyArray<ChatEvent>): ReadonlyArray<CompletionEvent> => {
      const deltas: Array<CompletionEvent> = []
      for (const event of chunk) {
        seen.add(event)
        if (event._tag === "Choices") deltas.push(event)
        else ending = event.native
      }
      return deltas
    }

    const finish = Effect.gen(function* () {
      const nowMs = yield* Clock.currentTimeMillis
      const record = broken?._tag === "ProviderError" ? withBrokenStream(log.record, broken) : log.record
      yield* countPrompt(request, record, answer, seen.usage)
      const outcome = {
        ...outcomeOf(request, record, answer, seen.usage, () => seen.output.count()),
        timeToFirstTokenMs: shown.timeToFirstTokenMs,
        finishReason: broken === null ? seen.finishReason : "error"
      }
      const candidate = record.continuation?.candidate ?? answer.candidate
      if (broken?._tag === "ProviderError") {
        stats.recordBreak(candidate.provider.slug, candidate.offer.id)
        yield* circuits.recordBreak(candidate, broken, plan.caller.key.id)
      } else if (broken === null && answer.source === "upstream") {
        yield* circuits.recordEnd(candidate)
        const isTimed = record.continuation === null && nowMs > firstTokenAtMs && outcome.usage.completionTokens > 1
        const speed = (outcome.usage.completionTokens * 1000) / (nowMs - firstTokenAtMs)
        if (isTimed) stats.recordSpeed(candidate.provider.slug, candidate.offer.id, speed)
      }
      const error = broken === null ? null : streamError(record.attempts, broken)
      const errorType = error === null ? null : errorTypeOf(error)
      const usage = yield* settledUsage(
        request,
        settle(request, { ...outcome, errorType }, seen.usage),
        seen.usageExtra
      )
      const native = error === null ? ending : undefined
      const last: CompletionEvent = {
        _tag: "Usage",
        usage,
        endedAtMs: nowMs,
        ...(native === undefined ? {} : { native })
      }
      return error === null
        ? Arr.of(last)
        : Arr.make<Arr.NonEmptyArray<CompletionEvent>>({ _tag: "Failed", error }, last)
    })

    let rest: Pull.Pull<Arr.NonEmptyReadonlyArray<ChatEvent>, ProviderError | GatewayError> | null = null
    // Finalizers run in reverse order: this one runs before the call is aborted.
    yield* onClose(
      Effect.suspend(() => {
        if (reservation.isSettled || rest === null || answer.source === "cache") return Effect.void
        if (seen.finishReason === null && hasVisibleOutput(plan)) return Effect.void
        const left = Effect.suspend(() => {
          const { record } = log
          return settleAbandoned(request, record, record.continuation?.candidate ?? answer.candidate, shown)
        })
        return Effect.andThen(readToEnd(Stream.fromPull(Effect.succeed(rest)), seen), left)
      })
    )

    // One step instead of five of `Stream`, because every token passes through it.
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

/** The error that a client gets for a stream that broke off. */
const streamError = (attempts: ReadonlyArray<Attempt>, error: ProviderError | GatewayError): GatewayError => {
  if (error._tag === "GatewayError") return error
  return gatewayError(
    error.reason._tag === "TimedOut"
      ? new ProvidersTimedOut({ attempts })
      : new ProvidersFailed({ attempts, retryAfterMs: null })
  )
}
