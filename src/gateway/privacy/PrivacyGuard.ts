/**
 * The privacy guard. It masks a request before the budget counts it, the cache looks it up and a
 * provider sees it, and restores the values in the reply. Or it refuses a request that contains
 * any. The stricter of the deployment's and the key's mode applies.
 *
 * It fails closed: a request that could not be searched completely within its time is refused. When
 * it is off, it adds no work to a request.
 */
import { Clock, Context, Effect, Layer, type Scope, type Stream } from "effect"
import { hash } from "node:crypto"
import { type ChatMessage, type ChatReply, type ChatRequest } from "../../domain/Chat.ts"
import { type EmbeddingRequest } from "../../domain/Embedding.ts"
import { gatewayError, type GatewayError, PrivacyBlocked } from "../../domain/Errors.ts"
import { Ids } from "../../domain/Ids.ts"
import { allEntities, type KeyPrivacy, type PrivacyMode, type PrivacyRules, stricter } from "../../domain/Privacy.ts"
import { chatTexts } from "../chat/ChatPlanInput.ts"
import { type CompletionEvent } from "../request/Answer.ts"
import { type Caller, type ResponseMetadata, type Order } from "../request/Order.ts"
import { Policy, type Step } from "../chat/Policy.ts"
import { makeInTurns } from "./TimeBudget.ts"
import { countsOf, type Finding, mask, type Masked } from "./Masking.ts"
import { restoredReply } from "./RestoredReply.ts"
import { restoredStream } from "./RestoredStream.ts"
import { makeRestorer } from "./Restoring.ts"
import { makeScanner } from "./Scanner.ts"
import { type Members } from "./TextWalker.ts"
import { type PlaceholderMap } from "./PlaceholderMap.ts"
import { type PromptTexts, TokenCounter, textsOf } from "../tokens/TokenCounter.ts"
import { countInputs } from "../tokens/Tokens.ts"

/** Changes with the search, so that a client can tell whether a stored preview is outdated. */
const ENGINE = "1"

/**
 * The privacy steps of one request. Masking and refusing are separate: a request is masked before
 * its tokens are counted, and refused after the other policies.
 */
export interface PrivacyFilter {
  readonly mask: Step
  /** Fails with `PrivacyBlocked` when the mode requires it, or when the search was not finished. */
  readonly refuse: Step
  /** Whether `refuse` would fail, once the request is masked. */
  readonly isRefused: () => boolean
  /** Whether the request was searched for all entities and contains none in its current form. */
  readonly isClear: () => boolean
  readonly reply: (reply: ChatReply) => ChatReply
  readonly events: (events: Stream.Stream<CompletionEvent>) => Stream.Stream<CompletionEvent>
}

export interface PreviewQuery {
  readonly text: string | null
  readonly messages: ReadonlyArray<ChatMessage> | null
  /** Names of entities and of the operator's patterns; null: those of the deployment. */
  readonly entities: ReadonlyArray<string> | null
  /** Null: the mode that applies to the key. */
  readonly mode: KeyPrivacy | null
  readonly caller: Caller
  readonly facts: ResponseMetadata
}

export interface Preview {
  readonly maskedText: string | null
  readonly messages: ReadonlyArray<ChatMessage> | null
  readonly findings: ReadonlyArray<Finding>
  readonly counts: Readonly<Record<string, number>>
  readonly wouldBlock: boolean
  readonly policyVersion: string
}

export class PrivacyGuard extends Context.Service<
  PrivacyGuard,
  {
    readonly chat: (order: Order<ChatRequest>) => PrivacyFilter
    /** Vectors cannot be restored, so nothing is restored here. */
    readonly embedding: (order: Order<EmbeddingRequest>) => PrivacyFilter
    /**
     * Shows what masking would do, with the same code. Counts as a request under the key's rate
     * limit.
     */
    readonly preview: (query: PreviewQuery) => Effect.Effect<Preview, GatewayError, Scope.Scope>
    /** The names that `entities` of a preview may contain. */
    readonly types: ReadonlyArray<string>
  }
>()("tollgate/gateway/privacy/PrivacyGuard") {
  static readonly layer = (rules: PrivacyRules) =>
    Layer.effect(
      PrivacyGuard,
      Effect.gen(function* () {
        const policy = yield* Policy
        const tokenCounter = yield* TokenCounter
        const ids = yield* Ids
        const own = rules.patterns.map(({ name }) => name)
        const wanted: ReadonlySet<string> = new Set([...rules.entities, ...own])
        const searchesAll = allEntities.every((entity) => wanted.has(entity))
        // The libraries are large. They load at the first request that needs them, or in the
        // background of the start when every request will.
        const scanner = yield* Effect.cached(Effect.uninterruptible(makeScanner(rules.patterns)))
        if (rules.mode !== "off") yield* Effect.forkScoped(scanner)

        const inTurns = yield* makeInTurns

        const masked = <A extends Members>(target: A, types: ReadonlySet<string>) =>
          Effect.flatMap(scanner, (scan) => inTurns((budget) => mask(target, scan, types, budget)))

        const filterFor = <Request extends Members>(
          order: Order<Request>,
          textsIn: (request: Request) => PromptTexts
        ): PrivacyFilter => {
          const mode = stricter(rules.mode, order.caller.key.privacy)
          if (mode === "off") return noFilter
          let refusal: GatewayError | null = null
          let placeholders: PlaceholderMap | null = null
          let isMasked = false

          const take = (result: Masked<Request> | null): Effect.Effect<void> => {
            isMasked = true
            if (result === null) refusal = unsearched
            else if (mode === "block") refusal = refusalOf(result.findings)
            else if (!result.placeholders.isEmpty) {
              placeholders = result.placeholders
              order.request = result.value
              return Effect.map(tokenCounter.count(order.caller.key.id, textsIn(result.value)), (tokens) => {
                order.promptTokens = tokens
              })
            }
            return Effect.void
          }

          return {
            mask: (next) =>
              Effect.flatMap(
                Effect.suspend(() => masked(order.request, wanted)),
                (result) => Effect.andThen(take(result), next)
              ),
            refuse: (next) => Effect.suspend(() => (refusal === null ? next : Effect.fail(refusal))),
            isRefused: () => refusal !== null,
            isClear: () => searchesAll && isMasked && refusal === null,
            reply: (reply) => (placeholders === null ? reply : restoredReply(reply, makeRestorer(placeholders))),
            events: (events) => (placeholders === null ? events : restoredStream(events, makeRestorer(placeholders)))
          }
        }

        const policyVersion = `${ENGINE}-${hash("sha256", JSON.stringify([rules.entities, rules.patterns]), "hex").slice(0, 12)}`

        const preview = Effect.fnUntraced(function* ({ caller, entities, facts, messages, mode, text }: PreviewQuery) {
          const nowMs = yield* Clock.currentTimeMillis
          const limited = {
            generationId: ids.next("prv", nowMs),
            caller,
            tokens: 0,
            facts
          }
          const searched = masked({ text, messages }, entities === null ? wanted : new Set(entities))
          const result = yield* policy.rateLimit(limited)(searched)
          if (result === null) return yield* unsearched
          const asked: PrivacyMode = mode ?? stricter(rules.mode, caller.key.privacy)
          return {
            maskedText: result.value.text,
            messages: result.value.messages,
            findings: result.findings,
            counts: countsOf(result.findings),
            wouldBlock: asked === "block" && result.findings.length > 0,
            policyVersion
          } satisfies Preview
        })

        return PrivacyGuard.of({
          chat: (order) => filterFor(order, chatTexts),
          embedding: (order) => filterFor(order, ({ input }) => textsOf((count) => countInputs(input, count))),
          preview,
          types: [...allEntities, ...own]
        })
      })
    )
}

const noFilter: PrivacyFilter = {
  mask: (next) => next,
  refuse: (next) => next,
  isRefused: () => false,
  isClear: () => false,
  reply: (reply) => reply,
  events: (events) => events
}

const unsearched = gatewayError(new PrivacyBlocked({ counts: {}, cause: "unsearched" }))

const refusalOf = (findings: ReadonlyArray<Finding>): GatewayError | null =>
  findings.length === 0 ? null : gatewayError(new PrivacyBlocked({ counts: countsOf(findings), cause: "found" }))
