/**
 * The privacy guard. It masks a request before the budget counts it, the cache looks it up and a
 * provider sees it, and restores the values in the reply. Or it refuses a request that contains
 * any. The stricter of the deployment's and the key's mode applies.
 *
 * It fails closed: a request that could not be searched completely within its time is refused. When
 * it is off, it adds no work to a request.
 */
import { Context, Effect, Layer } from "effect"
import { type Batches } from "../../domain/runtime/Batches.ts"
import { hash } from "node:crypto"
import { type ChatReply, type ChatRequest } from "../../domain/Chat.ts"
import { type EmbeddingRequest } from "../../domain/Embedding.ts"
import { gatewayError, type GatewayError, PrivacyBlocked } from "../../domain/Errors.ts"
import { type Candidate } from "../../domain/Catalog.ts"
import { type KeyRecord } from "../../domain/Key.ts"
import { type NativeRequest, speaks } from "../../domain/Native.ts"
import { allEntities, type PrivacyMode, type PrivacyRules, stricter } from "../../domain/Privacy.ts"
import { type CompletionEvent } from "../request/Answer.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { makeInTurns } from "./TimeBudget.ts"
import { countsOf, type Finding, mask, type Masked } from "./Masking.ts"
import { restoredReply } from "./restoring/RestoredReply.ts"
import { restoredStream } from "./restoring/RestoredStream.ts"
import { makeRestorer } from "./restoring/Restoring.ts"
import { makeScanner, type Scanner } from "./Scanner.ts"
import { type Members } from "./TextWalker.ts"
import { chatTexts, embeddingTexts } from "../tokens/RequestTexts.ts"
import { type PromptTexts, TokenCounter } from "../tokens/TokenCounter.ts"
import { withTexts } from "../tokens/TokenText.ts"

/** Changes with the search, so that a client can tell whether a stored preview is outdated. */
const ENGINE = "1"

/** A request that the guard has looked at. */
export interface Guarded<Request> {
  /** With the masked request and its tokens, where something was masked. */
  readonly plan: RequestPlan<Request>
  /**
   * `PrivacyBlocked`, if the mode says so or the search did not finish; null: the request may go
   * on.
   */
  readonly refusal: GatewayError | null
  /** Whether the plan's request was searched for everything and holds nothing. */
  readonly isClear: boolean
  /** The reply with the values back in. */
  readonly reply: (reply: ChatReply) => ChatReply
  readonly events: (events: Batches<CompletionEvent>) => Batches<CompletionEvent>
}

export class PrivacyGuard extends Context.Service<
  PrivacyGuard,
  {
    /** Masks the request as its key asks. It does not refuse: the policies come first. */
    readonly chat: (plan: RequestPlan<ChatRequest>) => Effect.Effect<Guarded<ChatRequest>>
    /** Vectors cannot be restored, so there is nothing to put back. */
    readonly embedding: (plan: RequestPlan<EmbeddingRequest>) => Effect.Effect<Guarded<EmbeddingRequest>>
    /**
     * Masks any texts as those of a request. `types`: what is searched for; null: as configured.
     * Returns null if the time did not suffice.
     */
    readonly search: <A extends Members>(
      target: A,
      types: ReadonlyArray<string> | null
    ) => Effect.Effect<Masked<A> | null>
    /** The mode that holds for a key. */
    readonly modeFor: (key: Pick<KeyRecord, "privacy">) => PrivacyMode
    /** Changes when what is found may change. */
    readonly policyVersion: string
    /** The names of all that can be searched for. */
    readonly types: ReadonlyArray<string>
  }
>()("tollgate/gateway/privacy/PrivacyGuard") {
  static readonly layer = (rules: PrivacyRules) =>
    Layer.effect(
      PrivacyGuard,
      Effect.gen(function* () {
        const tokenCounter = yield* TokenCounter
        const own = rules.patterns.map(({ name }) => name)
        const wanted: ReadonlySet<string> = new Set([...rules.entities, ...own])
        const searchesAll = allEntities.every((entity) => wanted.has(entity))
        // The libraries are large. They load at the first request that needs them, or in the
        // background of the start when every request will.
        const scanner = yield* Effect.cached(Effect.uninterruptible(makeScanner(rules.patterns)))
        if (rules.mode !== "off") yield* Effect.forkScoped(scanner)

        const inTurns = yield* makeInTurns

        /** The scanner, once it is loaded. */
        let loaded: Scanner | null = null
        const masked = <A extends Members>(target: A, types: ReadonlySet<string>, native?: NativeRequest) => {
          const search = (scan: Scanner) => inTurns((budget) => mask(target, scan, types, budget, native))
          return loaded === null ? Effect.flatMap(scanner, (scan) => search((loaded = scan))) : search(loaded)
        }

        const modeFor = ({ privacy }: Pick<KeyRecord, "privacy">) => stricter(rules.mode, privacy)

        const guarded = <Request extends Members>(
          plan: RequestPlan<Request>,
          textsIn: (request: Request, isRough?: boolean) => PromptTexts
        ): Effect.Effect<Guarded<Request>> => {
          const mode = modeFor(plan.caller.key)
          if (mode === "off") return Effect.succeed({ ...untouched, plan })
          const native = spokenNative(plan)
          return Effect.flatMapEager(masked(plan.request, wanted, native), (result) => {
            if (result === null) return Effect.succeed({ ...untouched, plan, refusal: unsearched })
            if (mode === "block") {
              const refusal = refusalOf(result.findings)
              return Effect.succeed({ ...untouched, plan, refusal, isClear: searchesAll && refusal === null })
            }
            if (result.placeholders.isEmpty) return Effect.succeed({ ...untouched, plan, isClear: searchesAll })
            const request = result.value
            const { placeholders } = result
            const prompt = tokenCounter.promptOf(plan.caller.key.id, (isRough) => textsIn(request, isRough))
            // What needed the count of the request needs that of the masked one.
            return Effect.mapEager(plan.prompt.isCounted ? prompt.count() : Effect.void, () => ({
              plan: {
                ...plan,
                request,
                prompt,
                masked: countsOf(result.findings),
                ...maskedNative(plan.native, result.native)
              },
              refusal: null,
              isClear: searchesAll,
              reply: (reply: ChatReply) => restoredReply(reply, makeRestorer(placeholders), plan.keepsReasoning),
              events: (events: Batches<CompletionEvent>) =>
                restoredStream(events, makeRestorer(placeholders), plan.keepsReasoning)
            }))
          })
        }

        return PrivacyGuard.of({
          chat: (plan) => guarded(plan, chatTexts),
          embedding: (plan) =>
            Effect.suspend(() => {
              const request = modeFor(plan.caller.key) === "off" ? plan.request : searchable(plan)
              return request === null
                ? Effect.succeed({ ...untouched, plan, refusal: unreadable })
                : guarded({ ...plan, request }, embeddingTexts)
            }),
          search: (target, types) => Effect.suspend(() => masked(target, types === null ? wanted : new Set(types))),
          modeFor,
          policyVersion: `${ENGINE}-${hash("sha256", JSON.stringify([rules.entities, rules.patterns]), "hex").slice(0, 12)}`,
          types: [...allEntities, ...own]
        })
      })
    )
}

/** The request in its own form, if some candidate speaks its API. */
const spokenNative = ({ native, ranked }: RequestPlan<unknown>): NativeRequest | undefined =>
  native !== undefined && ranked.some((candidate) => speaks(candidate, native.dialect)) ? native : undefined

/** `masked`: undefined where no candidate speaks the API; then nothing of the body is kept. */
const maskedNative = (native: NativeRequest | undefined, masked: Members | undefined) =>
  native === undefined ? {} : { native: { ...native, body: masked ?? {} } }

/** The result for a request that the guard does not apply to. */
const untouched = {
  refusal: null,
  isClear: false,
  reply: (reply: ChatReply) => reply,
  events: (events: Batches<CompletionEvent>) => events
}

export const unsearched = gatewayError(new PrivacyBlocked({ counts: {}, cause: "unsearched" }))

const unreadable = gatewayError(new PrivacyBlocked({ counts: {}, cause: "token_ids" }))

/** Models of the OpenAI dialect whose encoding is known. */
const readableModel = /text-embedding-(?:ada-002|3-)/

/**
 * The request with texts for token ids: the texts that are searched are the ones that are sent.
 * Null where a provider may read the ids in another encoding.
 */
const searchable = ({ ranked, request }: RequestPlan<EmbeddingRequest>): EmbeddingRequest | null => {
  const texts = withTexts(request)
  const isKnown = ({ offer, provider }: Candidate) =>
    provider.dialect !== "openai" || readableModel.test(offer.upstream)
  return texts === request || ranked.every(isKnown) ? texts : null
}

const refusalOf = (findings: ReadonlyArray<Finding>): GatewayError | null =>
  findings.length === 0 ? null : gatewayError(new PrivacyBlocked({ counts: countsOf(findings), cause: "found" }))
