/**
 * Settles a streamed answer: at its end, where it breaks off, or where its client leaves an answer
 * that lacks only its usage.
 */
import * as Arr from "effect/Array"
import { Cause, type Clock, Effect, type Scope } from "effect"
import { type Batch, Batches } from "../../domain/runtime/Batches.ts"
import { type Candidate } from "../../domain/Catalog.ts"
import { type ChatEvent, type Members } from "../../domain/Chat.ts"
import { gatewayError, type GatewayError, ProvidersFailed, ProvidersTimedOut } from "../../domain/Errors.ts"
import { type Attempt, type Generation } from "../../domain/Generation.ts"
import { type TokenUsage } from "../../domain/pricing/Money.ts"
import { addFinalizer } from "../../domain/runtime/OnClose.ts"
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
  readonly clock: Clock.Clock
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

export const makeStreamSettlement = ({
  circuits,
  clock,
  settle,
  settleAbandoned,
  settledUsage,
  stats
}: StreamSettling) => {
  const begin = (
    request: MeteredRequest,
    answer: Answer,
    events: Batches<ChatEvent, ProviderError | GatewayError>,
    scope: Scope.Scope
  ): Effect.Effect<Batches<CompletionEvent>> => {
    const { log, plan, reservation } = request
    const firstTokenAtMs = clock.currentTimeMillisUnsafe()
    const seen = new ReceivedAnswer()
    const shown = { answer, seen, timeToFirstTokenMs: firstTokenAtMs - plan.startedAtMs }
    reservation.shown = shown
    let broken: ProviderError | GatewayError | null = null
    let ending: ReadonlyArray<Members> | undefined

    /** The events that go to the client. */
    const observe = (batch: Batch<ChatEvent>): Batch<CompletionEvent> | null => {
      const deltas: Array<CompletionEvent> = []
      for (const event of batch) {
        seen.add(event)
        if (event._tag === "Choices") deltas.push(event)
        else ending = event.native
      }
      return Arr.isReadonlyArrayNonEmpty(deltas) ? deltas : null
    }

    const recordAtEnd = (): AttemptRecord =>
      broken?._tag === "ProviderError" ? withBrokenStream(log.record, broken) : log.record

    /** Tells the provider's circuit and figures of the end. */
    const noteEnd = (candidate: Candidate, { continuation }: AttemptRecord, nowMs: number, tokens: number) => {
      const { offer, provider } = candidate
      if (broken?._tag === "ProviderError") {
        stats.recordBreak(provider.slug, offer.id)
        return circuits.recordBreak(candidate, broken, plan.caller.key.id)
      }
      if (broken !== null || answer.source !== "upstream") return Effect.void
      const isTimed = continuation === null && nowMs > firstTokenAtMs && tokens > 1
      if (isTimed) stats.recordSpeed(provider.slug, offer.id, (tokens * 1000) / (nowMs - firstTokenAtMs))
      return circuits.recordEnd(candidate)
    }

    /** The last events, once the request is settled. */
    const finish = (): Effect.Effect<Arr.NonEmptyArray<CompletionEvent>> => {
      const nowMs = clock.currentTimeMillisUnsafe()
      const record = recordAtEnd()
      return Effect.flatMapEager(countPrompt(request, record, answer, seen.usage), () => {
        const outcome = {
          ...outcomeOf(request, record, answer, seen.usage, () => seen.output.count()),
          timeToFirstTokenMs: shown.timeToFirstTokenMs,
          finishReason: broken === null ? seen.finishReason : "error"
        }
        const candidate = record.continuation?.candidate ?? answer.candidate
        return Effect.flatMapEager(noteEnd(candidate, record, nowMs, outcome.usage.completionTokens), () => {
          const error = broken === null ? null : streamError(record.attempts, broken)
          const errorType = error === null ? null : errorTypeOf(error)
          const settled = settle(request, { ...outcome, errorType }, seen.usage)
          return Effect.map(settledUsage(request, settled, seen.usageExtra), (usage) => {
            const native = error === null ? ending : undefined
            const told = { _tag: "Usage", usage, endedAtMs: nowMs } as const
            const last: CompletionEvent = native === undefined ? told : { ...told, native }
            return error === null
              ? Arr.of(last)
              : Arr.make<Arr.NonEmptyArray<CompletionEvent>>({ _tag: "Failed", error }, last)
          })
        })
      })
    }

    let isBegun = false
    // Finalizers run in reverse order: this one runs before the call is aborted.
    const added = addFinalizer(scope, () => {
      if (reservation.isSettled || !isBegun || answer.source === "cache") return Effect.void
      if (seen.finishReason === null && hasVisibleOutput(plan)) return Effect.void
      const left = Effect.suspend(() => {
        const { record } = log
        return settleAbandoned(request, record, record.continuation?.candidate ?? answer.candidate, shown)
      })
      return Effect.andThen(readToEnd(events, seen), left)
    })

    const observed = events.through<CompletionEvent, never, never>(observe, (end) => {
      if (!Cause.isDone(end)) broken = end
      return finish()
    })
    const settling = new Batches(() => {
      isBegun = true
      return observed.ready()
    }, observed.read)
    return Effect.mapEager(added, () => settling)
  }

  return (...[request, answer, events, scope]: Parameters<typeof begin>) =>
    // The generation must be findable before anything reaches the client.
    Effect.flatMapEager(request.reservation.durable, () => begin(request, answer, events, scope))
}

/** The error that a client gets for a stream that broke off. */
const streamError = (attempts: ReadonlyArray<Attempt>, error: ProviderError | GatewayError): GatewayError => {
  if (error._tag === "GatewayError") return error
  return gatewayError(
    error.reason._tag === "TimedOut"
      ? new ProvidersTimedOut({ attempts })
      : new ProvidersFailed({ attempts, retryAfterMs: null })
  )
}
