/**
 * Serves an embedding request: the same policies as for chat, the router, and a settlement.
 * Embeddings are neither cached nor streamed.
 */
import { Context, Effect, Layer, Predicate, type Scope } from "effect"
import { type EmbeddingReply, type EmbeddingRequest } from "../../domain/Embedding.ts"
import { type UsageInfo } from "../../domain/Chat.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { withScope } from "../../domain/runtime/OnClose.ts"
import { makeTurns, type Turns } from "../../domain/runtime/Turns.ts"
import { Admission, type Admitted } from "./Admission.ts"
import { Meter } from "../billing/Meter.ts"
import { type MeteredRequest, Reservation } from "../billing/Reservation.ts"
import { Settlement } from "../billing/Settlement.ts"
import {
  Idempotency,
  type KeptReply,
  MAX_KEPT_CHARACTERS,
  type ReplyForm,
  type SentKey
} from "../idempotency/Idempotency.ts"
import { Planner } from "./Planner.ts"
import { type Caller } from "../request/Caller.ts"
import { type ClientDeadline } from "../request/ClientDeadline.ts"
import { type Note } from "../request/ResponseMetadata.ts"
import { type RequestOrigin } from "../request/RequestOrigin.ts"
import { Policy } from "./Policy.ts"
import { type Guarded, PrivacyGuard } from "../privacy/PrivacyGuard.ts"
import { ROUTE, type RequestTrace, staged } from "../telemetry/RequestTrace.ts"
import { AttemptLog } from "../routing/AttemptLog.ts"
import { type Routed, Router } from "../routing/Router.ts"
import { embeddingTexts } from "../tokens/RequestTexts.ts"

export interface EmbeddingQuery {
  readonly request: EmbeddingRequest
  readonly caller: Caller
  readonly idempotencyKey?: SentKey | null
  readonly trace?: RequestTrace | null
  readonly note: Note
  readonly deadline?: ClientDeadline | null
  readonly origin?: RequestOrigin
}

export interface Embedded {
  readonly model: string
  readonly provider: string
  readonly vectors: EmbeddingReply["vectors"]
  readonly usage: UsageInfo
}

export class Embeddings extends Context.Service<
  Embeddings,
  { readonly run: (query: EmbeddingQuery) => Effect.Effect<Embedded, GatewayError, Scope.Scope> }
>()("tollgate/gateway/chat/Embeddings") {
  static readonly layer = Layer.effect(
    Embeddings,
    Effect.gen(function* () {
      const admission = yield* Admission
      const planner = yield* Planner
      const policy = yield* Policy
      const privacyGuard = yield* PrivacyGuard
      const router = yield* Router
      const meter = yield* Meter
      const settlement = yield* Settlement
      const idempotency = yield* Idempotency
      const turns = yield* makeTurns

      /** The settled answer to a request that has passed the guard and the policies. */
      const embedded = Effect.fnUntraced(function* (
        request: MeteredRequest<EmbeddingRequest>,
        note: Note,
        { answer, ...routed }: Routed<EmbeddingReply>
      ) {
        note({ generationId: request.plan.generationId, provider: routed.candidate.provider.slug })
        const usage = yield* settlement.metered(request, routed, answer.usage)
        return {
          model: routed.candidate.offer.id,
          provider: routed.candidate.provider.slug,
          vectors: answer.vectors,
          usage
        } satisfies Embedded
      })

      const guarded = Effect.fnUntraced(function* (
        { plan, refusal }: Guarded<EmbeddingRequest>,
        { log, reservation }: { readonly log: AttemptLog; readonly reservation: Reservation },
        { note, scope }: Admitted
      ) {
        const request = { plan, reservation, log }
        yield* settlement.onScopeClose(request, scope)
        yield* policy.budget(request)
        yield* policy.whitelist(plan)
        if (refusal !== null) return yield* refusal
        const asked = router.embed({ plan, log, budget: meter.outputBudget(request) })
        return yield* embedded(request, note, yield* staged(plan.trace, ROUTE, asked))
      })

      const admitted = Effect.fnUntraced(function* (
        { caller, deadline, idempotencyKey, note, origin, request, trace }: EmbeddingQuery,
        arrived: Admitted
      ) {
        const plan = yield* planner.begin(
          {
            kind: "embeddings",
            request,
            model: request.model,
            fallbackModels: [],
            preferences: null,
            prompt: arrived.prompt,
            outputTokens: null,
            choices: 1,
            streamed: false,
            caller,
            deadline: deadline ?? null,
            trace: trace ?? null,
            origin,
            conversation: null
          },
          arrived
        )
        const log = new AttemptLog()
        const reservation = new Reservation(arrived.tokens, note)
        const sent: MeteredRequest = { plan, reservation, log }
        const again = ({ generationId, provider }: KeptReply) => {
          note({ generationId, provider, replayed: true })
          return settlement.void(sent)
        }
        const form = () => keptEmbedding(plan.generationId, turns, again)
        const once = idempotency.once(plan, idempotencyKey ?? null, arrived.scope, form)
        const first = () =>
          Effect.flatMap(privacyGuard.embedding(plan), (seen) => guarded(seen, { log, reservation }, arrived))
        return yield* settlement.onFailure(sent)(
          Effect.suspend(() => Effect.flatMap(policy.tokens(sent), () => once(first)))
        )
      })

      const run = (query: EmbeddingQuery) => {
        const { caller, note, request, trace = null } = query
        note({ operation: "embeddings", tier: caller.key.tier })
        return withScope((scope) =>
          Effect.flatMapEager(
            admission.admit({ caller, note, trace, scope, prompt: () => embeddingTexts(request) }),
            (arrived) => admitted(query, arrived)
          )
        )
      }

      return Embeddings.of({ run })
    })
  )
}

interface Kept extends KeptReply {
  readonly embedded: Embedded
}

/**
 * Stores the reply vector by vector, in turns. There may be millions of numbers; such a reply is
 * too large to store.
 */
const keptEmbedding = (
  generationId: string,
  turns: Turns,
  again: (kept: KeptReply) => Effect.Effect<void>
): ReplyForm<Embedded, Kept> => ({
  kind: "embeddings",
  keep: Effect.fnUntraced(function* (embedded, turn) {
    const { vectors, ...rest } = embedded
    const texts: Array<string> = []
    let size = 0
    turns.begin()
    for (const vector of vectors) {
      if (turns.isOver()) yield* turns.next
      const text = JSON.stringify(vector)
      size += text.length + 1
      if (size > MAX_KEPT_CHARACTERS) return yield* Effect.as(turn.free(), embedded)
      texts.push(text)
    }
    const head = JSON.stringify({ generationId, provider: embedded.provider })
    const body = JSON.stringify(rest)
    yield* turn.keep(`${head.slice(0, -1)},"embedded":${body.slice(0, -1)},"vectors":[${texts.join(",")}]}}`)
    return embedded
  }),
  isKept: (value): value is Kept => Predicate.isObject(value) && Predicate.isObject(value["embedded"]),
  replay: (kept) => Effect.as(again(kept), kept.embedded)
})
