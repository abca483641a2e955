/**
 * Admits a request before it is planned. The limits of requests a minute and of concurrent requests
 * are checked before the prompt is counted, so that a key over its limits costs almost nothing. A
 * short prompt is counted first, because counting it costs less than a second check.
 */
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { type GatewayError } from "../../domain/Errors.ts"
import { Ids } from "../../domain/Ids.ts"
import { type Caller } from "../request/Caller.ts"
import { type LimitsLeft, type Note } from "../request/ResponseMetadata.ts"
import { type RequestTrace } from "../telemetry/RequestTrace.ts"
import { type Arrival, mostTokens, Policy } from "./Policy.ts"
import { type PromptTexts, TokenCounter } from "../tokens/TokenCounter.ts"

/** An admitted request, with the tokens of its prompt. */
export interface Admitted extends Arrival {
  readonly startedAtMs: number
  readonly promptTokens: number
}

export interface AdmissionQuery {
  readonly caller: Caller
  readonly trace: RequestTrace | null
  /** Receives what remains of the limits. */
  readonly note: Note
  readonly prompt: PromptTexts
}

export class Admission extends Context.Service<
  Admission,
  {
    /** The scope holds the request's concurrency slot. */
    readonly admit: (
      asking: AdmissionQuery
    ) => <A, R>(
      next: (admitted: Admitted) => Effect.Effect<A, GatewayError, R>
    ) => Effect.Effect<A, GatewayError, R | Scope.Scope>
    /** The same for a request that is read once it is admitted. `next` counts its prompt. */
    readonly admitUnread: (
      asking: Omit<AdmissionQuery, "prompt">
    ) => <A, R>(
      next: (count: (prompt: PromptTexts) => Effect.Effect<Admitted, GatewayError>) => Effect.Effect<A, GatewayError, R>
    ) => Effect.Effect<A, GatewayError, R | Scope.Scope>
    /**
     * The same for a preview, which takes a request but no tokens of the minute's limit. Returns
     * the prompt's tokens.
     */
    readonly preview: (asking: Omit<AdmissionQuery, "trace">) => Effect.Effect<number, GatewayError, Scope.Scope>
  }
>()("tollgate/gateway/chat/Admission") {
  static readonly layer = Layer.effect(
    Admission,
    Effect.gen(function* () {
      const policy = yield* Policy
      const tokenCounter = yield* TokenCounter
      const ids = yield* Ids
      const clock = yield* Clock.Clock

      const counted = (caller: Caller, prompt: PromptTexts, left: LimitsLeft): Effect.Effect<number, GatewayError> =>
        Effect.flatMap(policy.tokensToCount(caller, prompt.characters, left), (most) =>
          tokenCounter.count(caller.key.id, prompt, most)
        )

      return Admission.of({
        admit:
          ({ caller, note, prompt, trace }) =>
          (next) =>
            Effect.suspend(() => {
              const startedAtMs = clock.currentTimeMillisUnsafe()
              const short = tokenCounter.atOnce(caller.key.id, prompt)
              const tokens = short !== null && short <= mostTokens(caller) ? short : 0
              const arrival: Arrival = { generationId: ids.next("gen", startedAtMs), caller, trace, note, tokens }
              return policy.rateLimit(arrival)((left) =>
                short !== null
                  ? next({ ...arrival, startedAtMs, promptTokens: short })
                  : Effect.flatMap(counted(caller, prompt, left), (promptTokens) =>
                      next({ ...arrival, startedAtMs, promptTokens })
                    )
              )
            }),

        admitUnread: (asking) => (next) =>
          Effect.suspend(() => {
            const startedAtMs = clock.currentTimeMillisUnsafe()
            const arrival: Arrival = { ...asking, generationId: ids.next("gen", startedAtMs), tokens: 0 }
            return policy.rateLimit(arrival)((left) =>
              next((prompt) =>
                Effect.map(counted(asking.caller, prompt, left), (promptTokens) => ({
                  ...arrival,
                  startedAtMs,
                  promptTokens
                }))
              )
            )
          }),

        preview: ({ caller, note, prompt }) =>
          Effect.suspend(() => {
            const generationId = ids.next("prv", clock.currentTimeMillisUnsafe())
            const arrival: Arrival = { generationId, caller, trace: null, note, tokens: 0 }
            return policy.rateLimit(arrival)((left) => counted(caller, prompt, left))
          })
      })
    })
  )
}
