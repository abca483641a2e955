/**
 * What happens to a chat request: the policies in spec.md's order, the privacy guard, the prompt cache, the router, and the settlement
 * that every ending leaves. A cache hit and a provider's answer are one type here, and a stream is the same answer in pieces.
 *
 * The state of a request is passed and returned. The plan never changes: the guard returns another one. The reservation is
 * changed by billing, the log of calls by the router, and what the edge shows is recorded here and nowhere else.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import { type Candidate } from "../../domain/Catalog.ts"
import { type ChatReply, type ChatRequest, type UsageInfo } from "../../domain/Chat.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { Ids } from "../../domain/Ids.ts"
import { allowsModel } from "../../domain/Key.ts"
import { Meter } from "../billing/Meter.ts"
import { type MeteredRequest, Reservation } from "../billing/Reservation.ts"
import { Settlement } from "../billing/Settlement.ts"
import { Cache } from "../cache/Cache.ts"
import { Idempotency, type KeptReply, type SentKey } from "../idempotency/Idempotency.ts"
import { type Guarded, PrivacyGuard } from "../privacy/PrivacyGuard.ts"
import { type Answer, type Completed, type Head } from "../request/Answer.ts"
import { asksAfresh, type CacheControl } from "../request/CacheControl.ts"
import { type Caller } from "../request/Caller.ts"
import { type ClientDeadline } from "../request/ClientDeadline.ts"
import { rankedAs } from "../request/RequestPlan.ts"
import { type Note } from "../request/ResponseMetadata.ts"
import { AttemptLog } from "../routing/AttemptLog.ts"
import { Router } from "../routing/Router.ts"
import { BUDGET, type RequestTrace, ROUTE, staged } from "../telemetry/RequestTrace.ts"
import { makeTraceContent } from "../telemetry/TraceContent.ts"
import { chatTexts } from "../tokens/RequestTexts.ts"
import { Admission, type Admitted } from "./Admission.ts"
import { cacheHit, kept, looked } from "./CachedAnswer.ts"
import { chatPlanInput } from "./ChatPlanInput.ts"
import { completionReplay } from "./CompletionReplay.ts"
import { Planner } from "./Planner.ts"
import { Policy } from "./Policy.ts"

export interface ChatQuery {
  readonly request: ChatRequest
  readonly caller: Caller
  readonly cacheControl: CacheControl
  readonly idempotencyKey?: SentKey | null
  readonly deadline?: ClientDeadline | null
  readonly trace?: RequestTrace | null
  /** Records what the edge shows of the request. */
  readonly note: Note
}

/** A request on its way, whose log the router writes. */
interface ChatMetered extends MeteredRequest<ChatRequest> {
  readonly log: AttemptLog
  readonly control: CacheControl
  readonly note: Note
}

type Answering = Effect.Effect<Answer, GatewayError, Scope.Scope>
type Completing = Effect.Effect<Completed, GatewayError, Scope.Scope>

export class Completion extends Context.Service<
  Completion,
  {
    /** The scope is the request's: it stays open until the reply was sent, and closing it early aborts and settles everything. */
    readonly run: (query: ChatQuery) => Completing
  }
>()("tollgate/gateway/chat/Completion") {
  static readonly layer = (options: { readonly modelsFallback: ReadonlyArray<string> }) =>
    Layer.effect(
      Completion,
      Effect.gen(function* () {
        const admission = yield* Admission
        const planner = yield* Planner
        const policy = yield* Policy
        const privacyGuard = yield* PrivacyGuard
        const cache = yield* Cache
        const router = yield* Router
        const meter = yield* Meter
        const settlement = yield* Settlement
        const idempotency = yield* Idempotency
        const ids = yield* Ids
        const content = yield* makeTraceContent

        /** The router's answer, whole or in pieces as the client asked. */
        const routed = (request: ChatMetered): Answering =>
          settlement.outlive(
            request,
            Effect.map(called(request), (answer) => {
              request.note({ provider: answer.candidate.provider.slug })
              return answer
            }),
            () => request.log.clientLeft()
          )

        const called = (request: ChatMetered): Answering =>
          Effect.suspend(() => {
            const { log, plan } = request
            const budget = meter.outputBudget(request)
            return plan.streamed
              ? Effect.map(
                  staged(plan.trace, ROUTE, router.stream({ plan, log, budget })),
                  ({ answer, ...from }): Answer => ({
                    ...from,
                    source: "upstream",
                    body: { _tag: "Stream", events: budget.watch(answer) }
                  })
                )
              : Effect.map(
                  staged(plan.trace, ROUTE, router.reply({ plan, log, budget })),
                  ({ answer, ...from }): Answer => ({
                    ...from,
                    source: "upstream",
                    body: { _tag: "Whole", reply: answer }
                  })
                )
          })

        const hit = ({ note, plan }: ChatMetered, candidate: Candidate, reply: ChatReply) =>
          Effect.sync(() => {
            note({ cache: "hit", provider: candidate.provider.slug })
            return cacheHit(plan, candidate, reply)
          })

        /** Answers from the prompt cache, or keeps what `next` answers. `name`: of the answer in the cache; a stream's is found here. */
        const cached =
          (request: ChatMetered, name: string | null) =>
          (next: Answering): Answering => {
            const { control, note, plan } = request
            // No candidate is allowed, so neither is an old answer: the cache is not asked.
            if (plan.unroutable !== null) return next
            const asked = plan.streamed
              ? Effect.suspend(() =>
                  Effect.flatMap(cache.nameOf(plan, control), (own) => cache.lookup(own, control, plan))
                )
              : cache.lookup(name, control, plan)
            const lookup = looked(plan, asked, ({ _tag }) => _tag)
            return Effect.flatMap(lookup, (found) => {
              note({ cache: found._tag === "Bypass" || asksAfresh(control) ? "bypass" : "miss" })
              switch (found._tag) {
                case "Bypass":
                  return next
                case "Hit": {
                  const candidate = rankedAs(plan, found.entry.provider, found.entry.model)
                  // Without a candidate the provider that gave the answer is not allowed any more.
                  return candidate === undefined ? next : hit(request, candidate, found.entry.reply)
                }
                case "Miss":
                  return next.pipe(
                    Effect.tapError(() => found.fail),
                    // The provider may be listened to for longer than others should wait.
                    Effect.onInterrupt(() => found.abandon),
                    Effect.flatMap((answer) => kept(request, answer, found))
                  )
              }
            })
          }

        /**
         * Fast path: an in-memory hit for a whole reply is settled in the one ledger write that asks the budget. Falls through to `next`
         * when a policy would refuse or the budget has no room, and for streams, whose client may leave before the end.
         */
        const atOnce =
          (request: ChatMetered, guarded: Guarded<ChatRequest>, name: string | null) =>
          (next: Completing): Completing =>
            Effect.suspend(() => {
              const { control, plan } = request
              if (name === null) return next
              if (!allowsModel(plan.caller.key.allowedModels, plan.model)) return next
              const entry = cache.peek(name, control)
              const candidate = entry === null ? undefined : rankedAs(plan, entry.provider, entry.model)
              if (entry === null || candidate === undefined) return next
              const { reply } = entry
              const written = staged(plan.trace, BUDGET, settlement.replay(request, candidate, reply))
              return Effect.flatMap(written, (usage) => {
                if (usage === null) return next
                // Both have passed; they run for their spans.
                return policy
                  .whitelist(plan)(looked(plan, hit(request, candidate, reply), () => "Hit"))
                  .pipe(Effect.flatMap((answer) => completed(request, guarded, answer, usage)))
              })
            })

        /** The answer as the client gets it; settled before the last of it. `settled`: what is told of one that is settled already. */
        const completed = Effect.fnUntraced(function* (
          request: ChatMetered,
          guarded: Guarded<ChatRequest>,
          answer: Answer,
          settled: UsageInfo | null
        ) {
          const { note, plan } = request
          note({ generationId: plan.generationId })
          const head: Head = {
            completionId: ids.next("chatcmpl", plan.startedAtMs),
            generationId: plan.generationId,
            createdAtMs: plan.startedAtMs,
            model: answer.candidate.offer.id,
            provider: answer.candidate.provider.slug,
            cacheHit: answer.source === "cache"
          }
          const recording = content !== null && plan.trace !== null ? content(plan.trace) : null
          if (recording !== null) yield* recording.prompt(plan.request.messages, guarded.isClear)
          if (answer.body._tag === "Whole") {
            const { reply } = answer.body
            const usage = settled ?? (yield* settlement.whole(request, answer, reply))
            if (recording !== null) yield* recording.reply(reply)
            return { _tag: "Reply", head, reply: guarded.reply(reply), usage } satisfies Completed as Completed
          }
          const events = yield* settlement.stream(request, answer, answer.body.events)
          return {
            _tag: "Stream",
            head,
            events: guarded.events(recording === null ? events : recording.events(events))
          } satisfies Completed as Completed
        })

        /** What is counted, named in the cache and sent is the request as the guard left it. */
        const guardedRequest = Effect.fnUntraced(function* (guarded: Guarded<ChatRequest>, sent: ChatMetered) {
          const { plan, refusal } = guarded
          const request: ChatMetered = { ...sent, plan }
          // A stream is not answered at once, so nothing is worked out for it before the policies have let it through.
          const isAnswerable = !plan.streamed && plan.unroutable === null && refusal === null
          const name = isAnswerable ? yield* cache.nameOf(plan, request.control) : null
          yield* settlement.onScopeClose(request)
          // From the inside out: the budget is asked first, the router works last.
          return yield* (refusal === null ? cached(request, name)(routed(request)) : Effect.fail(refusal)).pipe(
            policy.whitelist(plan),
            policy.budget(request),
            Effect.flatMap((answer) => completed(request, guarded, answer, null)),
            atOnce(request, guarded, name)
          )
        })

        const admitted = Effect.fnUntraced(function* (query: ChatQuery, arrived: Admitted) {
          const { cacheControl, idempotencyKey, note } = query
          const plan = yield* planner.begin(chatPlanInput(query, options.modelsFallback, arrived.promptTokens), arrived)
          const reservation = new Reservation(arrived.tokens, note)
          const sent: ChatMetered = { plan, reservation, log: new AttemptLog(), control: cacheControl, note }
          const again = ({ generationId, provider }: KeptReply) => {
            note({ generationId, provider, replayed: true })
            // It was paid for when it came first.
            return settlement.void(sent)
          }
          // From the inside out: the minute's tokens are asked first.
          return yield* Effect.flatMap(privacyGuard.chat(plan), (guarded) => guardedRequest(guarded, sent)).pipe(
            idempotency.once(plan, idempotencyKey ?? null, completionReplay(again)),
            policy.tokens(sent),
            settlement.onFailure(sent)
          )
        })

        // Requests a minute and requests at once come before everything else: before the prompt is even counted.
        const run = (query: ChatQuery) => {
          const { caller, note, request, trace = null } = query
          note({ operation: "chat", tier: caller.key.tier })
          return admission.admit({ caller, note, trace, prompt: chatTexts(request) })((arrived) =>
            admitted(query, arrived)
          )
        }

        return Completion.of({ run })
      })
    )
}
