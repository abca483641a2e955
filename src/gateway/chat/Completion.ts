/**
 * Serves a chat request: the policies in their order, the privacy guard, the prompt cache, the
 * router, and the settlement of every outcome. A cache hit and a provider's answer have one type,
 * and so have whole replies and streams.
 *
 * The state of a request is passed and returned. The plan is immutable: the guard returns another
 * one. Billing changes the reservation, the router writes the log of calls, and this module records
 * what the edge shows.
 */
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { type Candidate } from "../../domain/Catalog.ts"
import { type ChatRequest } from "../../domain/Chat.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { Ids } from "../../domain/Ids.ts"
import { allowsModel } from "../../domain/Key.ts"
import { withScope } from "../../domain/runtime/OnClose.ts"
import { Meter } from "../billing/Meter.ts"
import { Reservation } from "../billing/Reservation.ts"
import { Settlement } from "../billing/Settlement.ts"
import { Cache, type CacheEntry } from "../cache/Cache.ts"
import { Idempotency, type SentKey } from "../idempotency/Idempotency.ts"
import { type Guarded, PrivacyGuard } from "../privacy/PrivacyGuard.ts"
import { type Answer, type Completed, type Head } from "../request/Answer.ts"
import { leftOutBy } from "../request/AttemptRecord.ts"
import { wantsNewAnswer } from "../request/CacheControl.ts"
import { sessionIdOf } from "../request/Conversation.ts"
import { findCandidate } from "../request/RequestPlan.ts"
import { AttemptLog } from "../routing/AttemptLog.ts"
import { type Routed, Router } from "../routing/Router.ts"
import { BUDGET, ROUTE, staged, stagedNow } from "../telemetry/RequestTrace.ts"
import { makeTraceContent } from "../telemetry/TraceContent.ts"
import { chatTexts } from "../tokens/RequestTexts.ts"
import { Admission, type Admitted } from "./Admission.ts"
import { cacheHit, storeAnswer, tracedLookup, unanswered } from "./CachedAnswer.ts"
import { showsPrompt } from "./CompletionHead.ts"
import { chatPlanInput } from "./ChatPlanInput.ts"
import { type ChatMetered } from "./ChatMetered.ts"
import { type ChatQuery } from "./ChatQuery.ts"
import { completionReplay } from "./CompletionReplay.ts"
import { Planner } from "./Planner.ts"
import { Policy } from "./Policy.ts"
import { type Completing, makeCompleted } from "./SettledAnswer.ts"

type Answering = Effect.Effect<Answer, GatewayError, Scope.Scope>

export class Completion extends Context.Service<
  Completion,
  {
    /**
     * The scope is the request's. It stays open until the reply is sent; closing it early aborts
     * the calls and settles the request.
     */
    readonly run: (query: ChatQuery) => Completing
    /** The same for a request that is costly to read: the limits of requests come before that. */
    readonly runUnread: (
      asking: Pick<ChatQuery, "caller" | "note" | "trace">,
      read: Effect.Effect<ChatQuery, GatewayError>
    ) => Completing
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
        const completed = makeCompleted({
          settlement,
          ids: yield* Ids,
          clock: yield* Clock.Clock,
          content: yield* makeTraceContent
        })

        // The limits of requests come before the prompt is counted.
        const run = (query: ChatQuery): Completing => {
          const { caller, note, request, trace = null } = query
          note({ operation: "chat", tier: caller.key.tier })
          trace?.belongsTo(sessionIdOf({ request, sessionId: query.sessionId ?? null }))
          return withScope((scope) =>
            Effect.flatMapEager(
              admission.admit({ caller, note, trace, scope, prompt: (isRough) => chatTexts(request, isRough) }),
              (arrived) => admitted(query, arrived)
            )
          )
        }

        const runUnread: Completion["Service"]["runUnread"] = ({ caller, note, trace = null }, read) => {
          note({ operation: "chat", tier: caller.key.tier })
          return withScope((scope) =>
            Effect.flatMapEager(admission.admitUnread({ caller, note, trace, scope }), (bound) =>
              Effect.flatMap(read, (query) => {
                trace?.belongsTo(sessionIdOf({ request: query.request, sessionId: query.sessionId ?? null }))
                return Effect.flatMap(
                  bound((isRough) => chatTexts(query.request, isRough)),
                  (arrived) => admitted(query, arrived)
                )
              })
            )
          )
        }

        const admitted = (query: ChatQuery, arrived: Admitted): Completing =>
          Effect.flatMapEager(
            planner.begin(chatPlanInput(query, options.modelsFallback, arrived.prompt), arrived),
            (plan) => {
              const request: ChatMetered = {
                plan,
                reservation: new Reservation(arrived.tokens, query.note),
                log: new AttemptLog(query.dropped, query.native),
                control: query.cacheControl,
                note: query.note,
                scope: arrived.scope
              }
              const next = Effect.suspend(() =>
                Effect.flatMapEager(policy.tokens(request), () => once(request, query.idempotencyKey ?? null))
              )
              return settlement.onFailure(request)(next)
            }
          )

        /** Answers a retry with the first reply. */
        const once = (request: ChatMetered, sent: SentKey | null): Completing => {
          const { note, plan } = request
          if (sent === null) return guarded(request)
          const again = ({ dropped = [], generationId, provider }: Head) => {
            note({ generationId, provider, dropped, replayed: true })
            // A replayed reply is paid for.
            return settlement.void(request)
          }
          return idempotency.once(plan, sent, request.scope, () => completionReplay(again))(() => guarded(request))
        }

        /** Runs the request as the guard leaves it: this is what is counted, cached and sent. */
        const guarded = (sent: ChatMetered): Completing =>
          Effect.flatMapEager(privacyGuard.chat(sent.plan), (guard) => {
            const { plan, refusal } = guard
            const request = plan === sent.plan ? sent : { ...sent, plan }
            // A stream does not take the fast path, so its cache key is computed only after the
            // policies have passed.
            const isAnswerable = !plan.streamed && plan.unroutable === null && refusal === null
            const name = isAnswerable ? cache.keyOf(plan, request.control) : noName
            return Effect.flatMapEager(name, (name) =>
              Effect.flatMapEager(settlement.onScopeClose(request, request.scope), () =>
                Effect.flatMapEager(fromMemory(request, guard, name), (hit) =>
                  hit === null ? permitted(request, guard, name) : Effect.succeed(hit)
                )
              )
            )
          })

        /** The last policies in their order, then the answer. A refusal ends the request. */
        const permitted = (request: ChatMetered, guard: Guarded<ChatRequest>, name: string | null): Completing => {
          const answered = () =>
            guard.refusal === null
              ? cached(request, name, (answer) => completed(request, guard, answer, null))
              : Effect.fail(guard.refusal)
          return Effect.flatMapEager(policy.budget(request), () =>
            Effect.flatMapEager(policy.whitelist(request.plan), answered)
          )
        }

        /**
         * Answers from the prompt cache, or stores the answer of the router. `name`: the cache key;
         * a stream's is computed here. The answer is passed to `complete`.
         */
        const cached = (
          request: ChatMetered,
          name: string | null,
          complete: (answer: Answer) => Completing
        ): Completing => {
          const { control, note, plan, scope } = request
          // A plan without candidates skips the cache: an old answer is not allowed either.
          if (plan.unroutable !== null) return Effect.flatMap(routed(request), complete)
          const look = () =>
            plan.streamed
              ? Effect.flatMapEager(cache.keyOf(plan, control), (own) => cache.lookup(own, control, plan, scope))
              : cache.lookup(name, control, plan, scope)
          return Effect.flatMapEager(
            tracedLookup(plan, look, ({ _tag }) => _tag),
            (found) => {
              note({ cache: found._tag === "Bypass" || wantsNewAnswer(control) ? "bypass" : "miss" })
              switch (found._tag) {
                case "Bypass":
                  return Effect.flatMap(routed(request), complete)
                case "Hit": {
                  const candidate = findCandidate(plan, found.entry.provider, found.entry.model)
                  // Without a candidate, the provider of the stored answer is no longer allowed.
                  if (candidate === undefined) return Effect.flatMap(routed(request), complete)
                  recordDropped(request, candidate, found.entry)
                  return complete(hit(request, candidate, found.entry))
                }
                case "Miss":
                  return Effect.flatMap(
                    Effect.onExitPrimitive(routed(request), (exit) =>
                      exit._tag === "Success" ? undefined : unanswered(found, exit.cause)
                    ),
                    (answer) => Effect.flatMapEager(storeAnswer(request, answer, found), complete)
                  )
              }
            }
          )
        }

        const hit = (
          { note, plan }: ChatMetered,
          candidate: Candidate,
          { dropped = [], reply }: CacheEntry
        ): Answer => {
          note({ cache: "hit", provider: candidate.provider.slug, dropped })
          return cacheHit(plan, candidate, reply)
        }

        /** Records what the stored answer was given without. */
        const recordDropped = ({ log }: ChatMetered, candidate: Candidate, { dropped = [] }: CacheEntry) => {
          if (dropped.length > 0) log.leftOut(candidate, dropped)
        }

        /**
         * Fast path: serves an in-memory hit of a whole reply, and settles it in the one ledger
         * write that checks the budget. Null if there is none, if a policy would refuse the request
         * or the budget has no room, and for streams, whose client may leave before the end.
         */
        const fromMemory = (
          request: ChatMetered,
          guard: Guarded<ChatRequest>,
          name: string | null
        ): Effect.Effect<Completed | null, GatewayError, Scope.Scope> => {
          const { control, plan } = request
          if (name === null || !allowsModel(plan.caller.key.allowedModels, plan.model)) return none
          const entry = cache.peek(name, control)
          const candidate = entry === null ? undefined : findCandidate(plan, entry.provider, entry.model)
          if (entry === null || candidate === undefined) return none
          recordDropped(request, candidate, entry)
          const written = stagedNow(plan.trace, BUDGET, () => settlement.replay(request, candidate, entry.reply))
          return Effect.flatMap(written, (usage) => {
            if (usage === null) return none
            // Both have passed already; they run for their spans.
            return Effect.flatMapEager(policy.whitelist(plan), () => {
              const found = () => Effect.succeed(hit(request, candidate, entry))
              return Effect.flatMapEager(
                tracedLookup(plan, found, () => "Hit"),
                (answer) => completed(request, guard, answer, usage)
              )
            })
          })
        }

        /** The router's answer, whole or streamed as the client asked. */
        const routed = (request: ChatMetered): Answering =>
          settlement.surviveDisconnect(request, called(request), () => request.log.clientLeft())

        /** Counts a prompt that is shown while the provider works. */
        const called = (request: ChatMetered): Answering =>
          showsPrompt(request.plan) && request.plan.ranked[0]?.provider.dialect === "openai"
            ? Effect.andThen(Effect.forkChild(request.plan.prompt.count()), asked(request))
            : asked(request)

        const asked = (request: ChatMetered): Answering => {
          const { log, note, plan } = request
          // The head of a stream may leave before the first token.
          note({ generationId: plan.generationId })
          const budget = meter.outputBudget(request)
          return plan.streamed
            ? Effect.map(staged(plan.trace, ROUTE, router.stream({ plan, log, budget })), (from) =>
                upstream(request, from, { _tag: "Stream", events: budget.watch(from.answer) })
              )
            : Effect.map(staged(plan.trace, ROUTE, router.reply({ plan, log, budget })), (from) =>
                upstream(request, from, { _tag: "Whole", reply: from.answer })
              )
        }

        const upstream = (
          { log, note }: ChatMetered,
          { candidate, fallbackUsed, latencyMs }: Omit<Routed<unknown>, "answer">,
          body: Answer["body"]
        ): Answer => {
          note({ provider: candidate.provider.slug, dropped: leftOutBy(log.record, candidate) })
          return { candidate, fallbackUsed, latencyMs, source: "upstream", body }
        }

        return Completion.of({ run, runUnread })
      })
    )
}

const noName = Effect.succeed(null)
const none = Effect.succeed(null)
