/**
 * Counts the tokens of a prompt. A provider of the client's own API counts exactly, and is asked if
 * the model has one that is up: with what the privacy guard leaves of the request, for a short time
 * and without a charge. Else, and where it does not answer, the gateway's own count is told.
 */
import { Clock, Context, Duration, Effect, Layer, type Scope } from "effect"
import { type Candidate, withEachKey } from "../../domain/Catalog.ts"
import { type ChatRequest } from "../../domain/Chat.ts"
import { gatewayError, type GatewayError, ModelNotAllowed } from "../../domain/Errors.ts"
import { allowsModel } from "../../domain/Key.ts"
import { nativeFor, type NativeRequest } from "../../domain/Native.ts"
import { Providers } from "../../providers/Providers.ts"
import { Circuits } from "../health/Circuits.ts"
import { PrivacyGuard } from "../privacy/PrivacyGuard.ts"
import { type Caller } from "../request/Caller.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { type Note } from "../request/ResponseMetadata.ts"
import { chatTexts } from "../tokens/RequestTexts.ts"
import { Admission } from "./Admission.ts"
import { chatPlanInput } from "./ChatPlanInput.ts"
import { Planner } from "./Planner.ts"

/** How long a provider may count. A client waits for the count before it sends the request. */
const LIMIT_MS = 3_000

export interface CountQuery {
  readonly request: ChatRequest
  readonly native: NativeRequest
  readonly caller: Caller
  readonly note: Note
}

export class TokenCount extends Context.Service<
  TokenCount,
  {
    /** Takes one request of the rate limit. The model has to exist and to be allowed. */
    readonly of: (query: CountQuery) => Effect.Effect<number, GatewayError, Scope.Scope>
  }
>()("tollgate/gateway/chat/TokenCount") {
  static readonly layer = Layer.effect(
    TokenCount,
    Effect.gen(function* () {
      const admission = yield* Admission
      const planner = yield* Planner
      const privacyGuard = yield* PrivacyGuard
      const providers = yield* Providers
      const circuits = yield* Circuits

      /** Null: the provider does not count, is down or does not answer. */
      const countBy = Effect.fnUntraced(function* (plan: RequestPlan<ChatRequest>, ranked: Candidate) {
        const keyId = plan.caller.key.id
        const candidate = withEachKey(ranked).find((each) => circuits.lockedMs(each, keyId) === 0)
        const native = nativeFor(plan, ranked)
        const count = candidate === undefined ? undefined : providers.get(candidate)?.countTokens
        if (candidate === undefined || native === undefined || count === undefined) return null
        if ((yield* circuits.stateHere(candidate)).state === "open") return null
        // A server without this endpoint is no failing one, so its circuit is not told.
        return yield* count({ native, offer: candidate.offer, limitMs: LIMIT_MS }).pipe(
          Effect.timeoutOrElse({ duration: Duration.millis(LIMIT_MS), orElse: () => Effect.succeed(null) }),
          Effect.orElseSucceed(() => null)
        )
      })

      const of = Effect.fnUntraced(function* ({ caller, native, note, request }: CountQuery) {
        const prompt = yield* admission.preview({ caller, note, prompt: (isRough) => chatTexts(request, isRough) })
        const own = prompt.most
        const input = chatPlanInput({ request, caller, native }, [], prompt)
        const startedAtMs = yield* Clock.currentTimeMillis
        const plan = yield* planner.begin(input, { generationId: "", startedAtMs })
        const { model, unroutable } = plan
        if (unroutable?.reason._tag === "ModelNotFound") return yield* unroutable
        if (!allowsModel(caller.key.allowedModels, model)) return yield* gatewayError(new ModelNotAllowed({ model }))
        if (unroutable?.reason._tag === "InvalidRequest" && native.accountObjects !== null) return yield* unroutable
        const guarded = yield* privacyGuard.chat(plan)
        // Nothing leaves the gateway that it may not.
        if (guarded.refusal !== null) return own
        const speaking = plan.ranked.find((candidate) => nativeFor(plan, candidate) !== undefined)
        return speaking === undefined ? own : ((yield* countBy(guarded.plan, speaking)) ?? own)
      })

      return TokenCount.of({ of })
    })
  )
}
