/** One call to one provider: guarded by its circuit, on the receipt, in the statistics. */
import { Clock, Effect, Exit } from "effect"
import { type Candidate } from "../domain/Catalog.ts"
import { ProviderError } from "../providers/Provider.ts"
import { type Circuits } from "./Circuits.ts"
import { attemptOf, faultOf, type Failure } from "./Failures.ts"
import { type Order } from "./Order.ts"
import { type ProviderStats } from "./ProviderStats.ts"

/** What a call answered, and who. */
export interface Attempted<A> {
  readonly candidate: Candidate
  readonly answer: A
  /** Since the call began. */
  readonly latencyMs: number
}

export type Attempt = <A, R>(
  order: Order<unknown>,
  candidate: Candidate,
  call: Effect.Effect<A, ProviderError, R>
) => Effect.Effect<Attempted<A>, Failure, R>

export const attempting = (circuits: Circuits["Service"], stats: ProviderStats["Service"]): Attempt =>
  Effect.fnUntraced(function* <A, R>(
    order: Order<unknown>,
    candidate: Candidate,
    call: Effect.Effect<A, ProviderError, R>
  ) {
    const startedAtMs = yield* Clock.currentTimeMillis
    let latencyMs = 0
    const answer = yield* circuits
      .guard(candidate)(call)
      .pipe(
        Effect.onExit((exit) =>
          Effect.map(Clock.currentTimeMillis, (nowMs) => {
            latencyMs = nowMs - startedAtMs
            const answered = exit._tag === "Success"
            const error = Exit.isFailure(exit) ? faultOf(exit.cause) : undefined
            order.attempts.push(attemptOf(candidate, latencyMs, answered, error))
            if (!answered && !(error instanceof ProviderError)) return
            const rejected = error instanceof ProviderError && error.reason._tag === "Rejected"
            stats.record(candidate.provider.slug, candidate.offer.id, {
              ok: answered || rejected,
              latencyMs: answered ? latencyMs : null,
              streamed: order.streamed
            })
          })
        )
      )
    return { candidate, answer, latencyMs }
  })
