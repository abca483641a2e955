/**
 * The privacy guard. Masks a request before the budget counts it, the cache names it and a provider sees it, and puts the values back into
 * the reply; or refuses a request that holds any. Which of the two is the stricter of what the deployment and the key ask. It fails
 * closed: a request that could not be searched to its end within the time is refused. Off, it is not in the way at all.
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

/** Changes when the search does, so that a stored preview can be told from a fresh one. */
const ENGINE = "1"

/** What one request's way has of the guard. The two steps stand apart: a request is masked before it is counted, and refused in its turn. */
export interface PrivacyFilter {
  readonly mask: Step
  /** Fails with `PrivacyBlocked` when the mode says so, or when the search was not finished. */
  readonly refuse: Step
  /** Whether it would, once the request is masked. */
  readonly isRefused: () => boolean
  /** Whether the request, as it is now, was searched for everything and holds nothing. */
  readonly isClear: () => boolean
  readonly reply: (reply: ChatReply) => ChatReply
  readonly events: (events: Stream.Stream<CompletionEvent>) => Stream.Stream<CompletionEvent>
}

export interface PreviewQuery {
  readonly text: string | null
  readonly messages: ReadonlyArray<ChatMessage> | null
  /** Names of entities and of the operator's patterns; null: those of the deployment. */
  readonly entities: ReadonlyArray<string> | null
  /** Null: the mode that holds for the key. */
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
    /** Vectors cannot be restored, so there is nothing to put back. */
    readonly embedding: (order: Order<EmbeddingRequest>) => PrivacyFilter
    /** What masking would do, by the very code that does it. Counts as a request under the key's rate limit. */
    readonly preview: (query: PreviewQuery) => Effect.Effect<Preview, GatewayError, Scope.Scope>
    /** The names that `entities` of a preview may have. */
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
        // The libraries are large: they load when the first request needs them, or beside the start where every request will.
        const scanner = yield* Effect.cached(Effect.uninterruptible(makeScanner(rules.patterns)))
        if (rules.mode !== "off") yield* Effect.forkScoped(scanner)

        const inTurns = yield* makeInTurns

        const masked = <A extends Members>(target: A, types: ReadonlySet<string>) =>
          Effect.flatMap(scanner, (scan) => inTurns((budget) => mask(target, scan, types, budget)))

        const veil = <Request extends Members>(
          order: Order<Request>,
          textsIn: (request: Request) => PromptTexts
        ): PrivacyFilter => {
          const mode = stricter(rules.mode, order.caller.key.privacy)
          if (mode === "off") return unveiled
          let refusal: GatewayError | null = null
          let vault: PlaceholderMap | null = null
          let isMasked = false

          const take = (result: Masked<Request> | null): Effect.Effect<void> => {
            isMasked = true
            if (result === null) refusal = unsearched
            else if (mode === "block") refusal = refusalOf(result.findings)
            else if (!result.vault.isEmpty) {
              vault = result.vault
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
            reply: (reply) => (vault === null ? reply : restoredReply(reply, makeRestorer(vault))),
            events: (events) => (vault === null ? events : restoredStream(events, makeRestorer(vault)))
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
          chat: (order) => veil(order, chatTexts),
          embedding: (order) => veil(order, ({ input }) => textsOf((count) => countInputs(input, count))),
          preview,
          types: [...allEntities, ...own]
        })
      })
    )
}

const unveiled: PrivacyFilter = {
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
