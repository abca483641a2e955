/**
 * Admits a request before it is planned. The limits of requests a minute and of concurrent requests
 * are checked before the prompt is counted, so that a key over its limits costs almost nothing. The
 * limit of tokens is checked with the prompt's bound, and the prompt is counted only if the limit
 * may have room for the count and has none for the bound.
 */
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { type GatewayError } from "../../domain/Errors.ts"
import { Ids } from "../../domain/Ids.ts"
import { withScope } from "../../domain/runtime/OnClose.ts"
import { type Caller } from "../request/Caller.ts"
import { type LimitsLeft, type Note } from "../request/ResponseMetadata.ts"
import { type RequestTrace } from "../telemetry/RequestTrace.ts"
import { type Arrival, isAmple, mostTokens, Policy } from "./Policy.ts"
import { type PromptTokens } from "../../domain/PromptTokens.ts"
import { type PromptSource, TokenCounter } from "../tokens/TokenCounter.ts"

/** An admitted request, with its prompt. `tokens`: those that the rate limit took for it. */
export interface Admitted extends Arrival {
  readonly startedAtMs: number
  readonly prompt: PromptTokens
}

export interface AdmissionQuery {
  readonly caller: Caller
  readonly trace: RequestTrace | null
  /** Receives what remains of the limits. */
  readonly note: Note
  /** Called again if the prompt has to be counted. */
  readonly prompt: PromptSource
  /** The request's. It holds the concurrency slot. */
  readonly scope: Scope.Scope
}

export class Admission extends Context.Service<
  Admission,
  {
    /** If nothing has to be waited for, the request is admitted as this is called. */
    readonly admit: (asking: AdmissionQuery) => Effect.Effect<Admitted, GatewayError>
    /**
     * The same for a request that is read once it is admitted. The function that it returns bounds
     * or counts its prompt.
     */
    readonly admitUnread: (
      asking: Omit<AdmissionQuery, "prompt">
    ) => Effect.Effect<(prompt: PromptSource) => Effect.Effect<Admitted, GatewayError>, GatewayError>
    /**
     * The same for a preview, which takes a request but no tokens of the minute's limit. The prompt
     * is counted, because the count is shown.
     */
    readonly preview: (
      asking: Omit<AdmissionQuery, "trace" | "scope">
    ) => Effect.Effect<PromptTokens, GatewayError, Scope.Scope>
  }
>()("tollgate/gateway/chat/Admission") {
  static readonly layer = Layer.effect(
    Admission,
    Effect.gen(function* () {
      const policy = yield* Policy
      const tokenCounter = yield* TokenCounter
      const ids = yield* Ids
      const clock = yield* Clock.Clock

      /** Counts a prompt whose bound the limit has no room for. */
      const counted = (caller: Caller, prompt: PromptTokens, left: LimitsLeft): Effect.Effect<void, GatewayError> =>
        prompt.isCounted
          ? Effect.void
          : Effect.flatMap(policy.tokensToCount(caller, prompt.characters, left), (most) =>
              Effect.asVoid(prompt.count(most))
            )

      return Admission.of({
        admit: ({ caller, note, prompt: texts, scope, trace }) => {
          const startedAtMs = clock.currentTimeMillisUnsafe()
          const prompt = tokenCounter.promptOf(caller.key.id, texts)
          const allowed = mostTokens(caller)
          const most = prompt.mostOf(allowed)
          const tokens = most <= allowed ? most : 0
          const isBound = !prompt.isCounted
          const generationId = ids.next("gen", startedAtMs)
          const arrival: Arrival = { generationId, caller, trace, note, tokens, isBound, scope }
          return Effect.flatMapEager(policy.rateLimit(arrival), ({ left, taken }) => {
            const admitted: Admitted = { ...arrival, tokens: taken, startedAtMs, prompt }
            if (prompt.isCounted || (taken > 0 && isAmple(left.tokens))) return Effect.succeed(admitted)
            // The limit has room for the bound, or perhaps for the count.
            const counting = taken > 0 ? prompt.count() : counted(caller, prompt, left)
            return Effect.as(counting, admitted)
          })
        },

        admitUnread: (asking) => {
          const startedAtMs = clock.currentTimeMillisUnsafe()
          const arrival: Arrival = { ...asking, generationId: ids.next("gen", startedAtMs), tokens: 0 }
          return Effect.mapEager(policy.rateLimit(arrival), ({ left }) => (texts: PromptSource) => {
            const prompt = tokenCounter.promptOf(asking.caller.key.id, texts)
            const admitted: Admitted = { ...arrival, startedAtMs, prompt }
            return prompt.mostOf(left.tokens.remaining) <= left.tokens.remaining
              ? Effect.succeed(admitted)
              : Effect.as(counted(asking.caller, prompt, left), admitted)
          })
        },

        preview: ({ caller, note, prompt: texts }) =>
          withScope((scope) => {
            const generationId = ids.next("prv", clock.currentTimeMillisUnsafe())
            const arrival: Arrival = { generationId, caller, trace: null, note, tokens: 0, scope }
            return Effect.flatMapEager(policy.rateLimit(arrival), ({ left }) => {
              const prompt = tokenCounter.promptOf(caller.key.id, texts)
              return Effect.as(counted(caller, prompt, left), prompt)
            })
          })
      })
    })
  )
}
