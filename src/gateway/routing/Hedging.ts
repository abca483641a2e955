/**
 * Makes a second call for a request whose first token is late. The call that has a token first
 * answers, and the other is aborted. The request pays for both prompts, and both calls are on the
 * receipt. The request fails only if both calls fail. On interruption the caller decides what is
 * billed.
 */
import { Duration, Effect, Exit, Fiber, Option } from "effect"
import { type Candidate } from "../../domain/Catalog.ts"
import { ProviderError } from "../../providers/Provider.ts"
import { type Attempted } from "./Attempt.ts"
import { abortedCharge, chargedPrompt } from "../request/AttemptRecord.ts"
import { type Failure, errorOf } from "./FailurePolicy.ts"
import { type AttemptLog } from "./AttemptLog.ts"
import { type PromptTokens } from "../../domain/PromptTokens.ts"

/** The error type on the receipt of a call that lost against a faster one. */
const HEDGE_LOST = "hedge_lost"

interface Call<A, R> {
  readonly candidate: Candidate
  readonly run: Effect.Effect<Attempted<A>, Failure, R>
}

export interface Hedge<A, R> {
  readonly log: AttemptLog
  readonly prompt: PromptTokens
  readonly afterMs: number
  readonly first: Call<A, R>
  readonly second: Call<A, R>
  /** Reserves the cost of the second prompt; false: the second call is not made. */
  readonly hold: Effect.Effect<boolean>
  /** Called when the second call begins. */
  readonly onSecond: () => void
  /**
   * Called for a call that was aborted before its first token, with the time that it was waited
   * for.
   */
  readonly onLost: (candidate: Candidate, waitedMs: number) => void
  /** Aborts an answer that arrived at the same moment as the other. */
  readonly discard: (answer: A) => Effect.Effect<void>
}

type Running<A> = Fiber.Fiber<Attempted<A>, Failure>

/**
 * Fails if both calls fail: with the client's error if one call found it, otherwise with the second
 * call's error.
 */
export const hedged = Effect.fnUntraced(function* <A, R>(hedge: Hedge<A, R>) {
  const { first, second } = hedge
  const one = yield* Effect.forkChild(first.run, { startImmediately: true })
  const early = yield* Effect.timeoutOption(Fiber.await(one), Duration.millis(hedge.afterMs)).pipe(
    Effect.onInterrupt(() => Fiber.interrupt(one))
  )
  if (Option.isSome(early)) return yield* early.value
  const mayCall = yield* Effect.onInterrupt(hedge.hold, () => Fiber.interrupt(one))
  if (!mayCall) return yield* Effect.onInterrupt(Fiber.join(one), () => Fiber.interrupt(one))
  hedge.onSecond()
  const other = yield* Effect.forkChild(second.run, { startImmediately: true })

  return yield* Effect.race(Fiber.join(one), Fiber.join(other)).pipe(
    Effect.tap(({ candidate }) =>
      candidate === first.candidate ? lose(hedge, other, second.candidate) : lose(hedge, one, first.candidate)
    ),
    Effect.tapCause(() => Effect.andThen(Fiber.interrupt(one), Fiber.interrupt(other))),
    Effect.catch(() => Effect.flatMap(Effect.all([Fiber.await(one), Fiber.await(other)]), ([a, b]) => worse(a, b))),
    Effect.onInterrupt(() => Effect.andThen(Fiber.interrupt(one), Fiber.interrupt(other)))
  )
})

/**
 * Aborts the slower call. A call that failed before stays on the receipt with its own failure and
 * costs nothing.
 */
const lose = Effect.fnUntraced(function* <A, R>(hedge: Hedge<A, R>, slower: Running<A>, candidate: Candidate) {
  const { log, prompt } = hedge
  yield* Fiber.interrupt(slower)
  const exit = yield* Fiber.await(slower)
  if (Exit.isFailure(exit) && errorOf(exit.cause) !== undefined) return
  const { attempts } = log.record
  const at = attempts.findLastIndex(
    ({ model, provider }) => provider === candidate.provider.slug && model === candidate.offer.id
  )
  const attempt = attempts[at]
  if (attempt === undefined) return
  if (Exit.isSuccess(exit)) yield* hedge.discard(exit.value.answer)
  else hedge.onLost(candidate, attempt.latencyMs)
  log.change(at, { status: "cancelled", errorType: HEDGE_LOST, httpStatus: null })
  log.charge(abortedCharge(log.record, candidate, yield* chargedPrompt(log.record, candidate, prompt), 0), at)
})

const worse = <A>(
  a: Exit.Exit<Attempted<A>, Failure>,
  b: Exit.Exit<Attempted<A>, Failure>
): Exit.Exit<Attempted<A>, Failure> => (isRequestsFault(a) ? a : b)

const isRequestsFault = (exit: Exit.Exit<unknown, Failure>): boolean => {
  const fault = Exit.isFailure(exit) ? errorOf(exit.cause) : undefined
  return fault instanceof ProviderError && fault.isRequestsFault
}
