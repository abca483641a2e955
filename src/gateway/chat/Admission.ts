/**
 * The gate: what comes before a request becomes an order. The limits of requests a minute and of requests at once are asked before
 * the prompt is counted, so that a key that is over them costs next to nothing. Only a short prompt is counted first, because that
 * costs less than asking twice.
 */
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { type GatewayError } from "../../domain/Errors.ts"
import { Ids } from "../../domain/Ids.ts"
import { type Caller, type ResponseMetadata } from "../request/Order.ts"
import { type Arrival, mostTokens, Policy } from "./Policy.ts"
import { type PromptTexts, TokenCounter } from "../tokens/TokenCounter.ts"

/** A request that was let in, with its prompt counted. */
export interface Admitted extends Arrival {
  readonly startedAtMs: number
  readonly promptTokens: number
}

export interface Asking {
  readonly kind: "chat" | "embeddings"
  readonly caller: Caller
  readonly facts: ResponseMetadata
  readonly prompt: PromptTexts
}

export class Admission extends Context.Service<
  Admission,
  {
    /** The scope holds the request's concurrency slot. */
    readonly admit: (
      asking: Asking
    ) => <A, R>(
      next: (admitted: Admitted) => Effect.Effect<A, GatewayError, R>
    ) => Effect.Effect<A, GatewayError, R | Scope.Scope>
    /** The same for a question about a request, which takes a request and no tokens of the minute. Answers the prompt's tokens. */
    readonly preview: (asking: Omit<Asking, "kind">) => Effect.Effect<number, GatewayError, Scope.Scope>
  }
>()("tollgate/gateway/chat/Admission") {
  static readonly layer = Layer.effect(
    Admission,
    Effect.gen(function* () {
      const policy = yield* Policy
      const tokenCounter = yield* TokenCounter
      const ids = yield* Ids
      const clock = yield* Clock.Clock

      const counted = (arrival: Arrival, prompt: PromptTexts): Effect.Effect<number, GatewayError> =>
        Effect.flatMap(policy.tokensToCount(arrival, prompt.characters), (most) =>
          tokenCounter.count(arrival.caller.key.id, prompt, most)
        )

      return Admission.of({
        admit:
          ({ caller, facts, kind, prompt }) =>
          (next) =>
            Effect.suspend(() => {
              const startedAtMs = clock.currentTimeMillisUnsafe()
              facts.operation = kind
              facts.tier = caller.key.tier
              const short = tokenCounter.atOnce(caller.key.id, prompt)
              const tokens = short !== null && short <= mostTokens(caller) ? short : 0
              const arrival: Arrival = { generationId: ids.next("gen", startedAtMs), caller, facts, tokens }
              return policy.rateLimit(arrival)(
                short !== null
                  ? Effect.suspend(() => next({ ...arrival, startedAtMs, promptTokens: short }))
                  : Effect.flatMap(counted(arrival, prompt), (promptTokens) =>
                      next({ ...arrival, startedAtMs, promptTokens })
                    )
              )
            }),

        preview: ({ caller, facts, prompt }) =>
          Effect.suspend(() => {
            const generationId = ids.next("prv", clock.currentTimeMillisUnsafe())
            const arrival: Arrival = { generationId, caller, facts, tokens: 0 }
            return policy.rateLimit(arrival)(counted(arrival, prompt))
          })
      })
    })
  )
}
