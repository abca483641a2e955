/**
 * One call to one provider: guarded by its circuit, recorded on the receipt and in the statistics.
 */
import { type Clock, Effect, Exit, Predicate } from "effect"
import { type Candidate } from "../../domain/Catalog.ts"
import { ProviderError } from "../../providers/Provider.ts"
import { type Circuits } from "../health/Circuits.ts"
import { attemptOf, errorOf, type Failure } from "./FailurePolicy.ts"
import { errorWithoutEcho } from "./ProviderWords.ts"
import { type InFlight } from "./InFlight.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { type AttemptLog } from "./AttemptLog.ts"
import { type ProviderStats } from "../health/ProviderStats.ts"
import { type SpanAttributes } from "../telemetry/RequestTrace.ts"

/** The answer of a call, and the candidate that gave it. */
export interface Attempted<A> {
  readonly candidate: Candidate
  readonly answer: A
  /** Measured from the start of the call. */
  readonly latencyMs: number
}

/** The attempt begins as this is called: run its effect at once, and once. */
export type Attempt = <A, R>(
  { log, plan }: { readonly log: AttemptLog; readonly plan: RequestPlan<unknown> },
  candidate: Candidate,
  call: () => Effect.Effect<A, ProviderError, R>
) => Effect.Effect<Attempted<A>, Failure, R>

export const attempting =
  (circuits: Circuits["Service"], stats: ProviderStats["Service"], inFlight: InFlight, clock: Clock.Clock): Attempt =>
  ({ log, plan }, candidate, call) => {
    const { kind, streamed, trace } = plan
    const keyId = plan.caller.key.id
    const span =
      trace === null ? null : trace.beginCall(kind, candidate, log.record.attempts.length + 1, paramsOf(plan))
    const startedAtMs = clock.currentTimeMillisUnsafe()
    const elapsedMs = () => clock.currentTimeMillisUnsafe() - startedAtMs
    const told = Effect.matchEffect(call(), {
      onFailure: (error) => Effect.fail(errorWithoutEcho(error, plan)),
      onSuccess: (answer) => Effect.succeed({ candidate, answer, latencyMs: elapsedMs() })
    })
    const traced = trace === null || span === null ? told : trace.within(span, told)
    const isQuiet = circuits.beginQuiet(candidate, keyId)
    const guarded = isQuiet ? traced : circuits.guard(candidate, streamed, keyId)(traced)

    const noteEnd = (exit: Exit.Exit<Attempted<unknown>, Failure>): void => {
      inFlight.end(candidate)
      const latencyMs = exit._tag === "Success" ? exit.value.latencyMs : elapsedMs()
      const answered = exit._tag === "Success"
      const error = Exit.isFailure(exit) ? errorOf(exit.cause) : undefined
      const startedMs = Math.max(0, startedAtMs - plan.startedAtMs)
      const outcome = attemptOf(candidate, latencyMs, answered, error)
      const attempt = {
        ...outcome,
        startedMs,
        // A stream that has begun ends later.
        ...(answered && streamed ? {} : { endedMs: startedMs + latencyMs })
      }
      const at = log.endCall(attempt)
      if (trace !== null && span !== null) trace.called(span, candidate, at, attempt, streamed)
      if (!answered && !(error instanceof ProviderError)) return
      // The provider was not called.
      if (error instanceof ProviderError && error.reason._tag === "Unsupported") return
      // Another key of the provider may answer.
      if (candidate.key !== undefined && error instanceof ProviderError && error.isKeysFault) return
      const rejected = error instanceof ProviderError && error.isRequestsFault
      stats.record(candidate.provider.slug, candidate.offer.id, {
        ok: answered || rejected,
        latencyMs: answered ? latencyMs : null,
        streamed: streamed
      })
    }

    log.startCall()
    inFlight.begin(candidate)
    return Effect.onExitPrimitive(guarded, (exit) => {
      noteEnd(exit)
      return isQuiet ? circuits.ended(candidate, exit, streamed, keyId) : undefined
    })
  }

/** The numeric parameters of the request. */
const paramsOf = ({ choices, outputTokens, request, streamed }: RequestPlan<unknown>): SpanAttributes => ({
  "gen_ai.request.stream": streamed,
  "gen_ai.request.max_tokens": outputTokens === null ? null : outputTokens / choices,
  "gen_ai.request.choice.count": choices === 1 ? null : choices,
  "gen_ai.request.temperature": numberIn(request, "temperature"),
  "gen_ai.request.top_p": numberIn(request, "top_p"),
  "gen_ai.request.top_k": numberIn(request, "top_k"),
  "gen_ai.request.frequency_penalty": numberIn(request, "frequency_penalty"),
  "gen_ai.request.presence_penalty": numberIn(request, "presence_penalty"),
  "gen_ai.request.seed": numberIn(request, "seed")
})

const numberIn = (request: unknown, member: string): number | null => {
  const value = Predicate.isObject(request) ? request[member] : null
  return typeof value === "number" ? value : null
}
