/**
 * What happens to an embedding request: the same policies as a chat request, the router, and a record in the ledger. Embeddings
 * are neither cached nor streamed.
 */
import { Context, Effect, Layer, Predicate, type Scope } from "effect"
import { type EmbeddingReply, type EmbeddingRequest } from "../../domain/Embedding.ts"
import { type UsageInfo } from "../../domain/Chat.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { makeTurns, type Turns } from "../../domain/Turns.ts"
import { Admission, type Admitted } from "./Admission.ts"
import { Settlement } from "../billing/Settlement.ts"
import {
  Idempotency,
  type KeptReply,
  MAX_KEPT_CHARACTERS,
  type ReplyForm,
  type SentKey
} from "../idempotency/Idempotency.ts"
import { Planner } from "./Planner.ts"
import { type Caller, type ResponseMetadata, type Order, type ClientDeadline } from "../request/Order.ts"
import { Policy } from "./Policy.ts"
import { PrivacyGuard } from "../privacy/PrivacyGuard.ts"
import { ROUTE, staged } from "../telemetry/RequestTrace.ts"
import { type Routed, Router } from "../routing/Router.ts"
import { textsOf } from "../tokens/TokenCounter.ts"
import { countInputs } from "../tokens/Tokens.ts"

export interface EmbeddingQuery {
  readonly request: EmbeddingRequest
  readonly caller: Caller
  readonly idempotencyKey?: SentKey | null
  readonly facts: ResponseMetadata
  readonly patience?: ClientDeadline | null
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
      const settlement = yield* Settlement
      const idempotency = yield* Idempotency
      const turns = yield* makeTurns

      const admitted = Effect.fnUntraced(function* (
        { caller, facts, idempotencyKey, patience, request }: EmbeddingQuery,
        arrived: Admitted
      ) {
        const order = yield* planner.begin(
          {
            kind: "embeddings",
            request,
            model: request.model,
            fallbackModels: [],
            preferences: null,
            promptTokens: arrived.promptTokens,
            outputTokens: null,
            choices: 1,
            streamed: false,
            caller,
            facts,
            patience: patience ?? null
          },
          arrived
        )
        const veil = privacyGuard.embedding(order)
        yield* settlement.onScopeClose(order)
        const embedded = Effect.fnUntraced(function* (routed: Routed<EmbeddingReply>) {
          facts.generationId = order.generationId
          const usage = yield* settlement.metered(order, routed, routed.answer.usage)
          return {
            model: routed.candidate.offer.id,
            provider: routed.candidate.provider.slug,
            vectors: routed.answer.vectors,
            usage
          } satisfies Embedded as Embedded
        })
        return yield* staged(facts.trace, ROUTE, router.embed(order)).pipe(
          veil.refuse,
          policy.whitelist(order),
          policy.budget(order),
          veil.mask,
          Effect.flatMap(embedded),
          idempotency.once(order, idempotencyKey ?? null, keptEmbedding(order, turns)),
          policy.tokens(order),
          settlement.onFailure(order)
        )
      })

      const run = (query: EmbeddingQuery) => {
        const { caller, facts, request } = query
        const prompt = textsOf((count) => countInputs(request.input, count))
        return admission.admit({ kind: "embeddings", caller, facts, prompt })((arrived) => admitted(query, arrived))
      }

      return Embeddings.of({ run })
    })
  )
}

interface Kept extends KeptReply {
  readonly embedded: Embedded
}

/** Vector by vector, in turns: there may be millions of numbers, which are then too much to be kept. */
const keptEmbedding = ({ generationId }: Order, turns: Turns): ReplyForm<Embedded, Kept> => ({
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
      if (size > MAX_KEPT_CHARACTERS) return yield* Effect.as(turn.free, embedded)
      texts.push(text)
    }
    const head = JSON.stringify({ generationId, provider: embedded.provider })
    const body = JSON.stringify(rest)
    yield* turn.keep(`${head.slice(0, -1)},"embedded":${body.slice(0, -1)},"vectors":[${texts.join(",")}]}}`)
    return embedded
  }),
  isKept: (value): value is Kept => Predicate.isObject(value) && Predicate.isObject(value["embedded"]),
  replay: ({ embedded }) => embedded
})
