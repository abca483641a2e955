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
import { type ChatRequest, type UsageInfo } from "../../domain/Chat.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { Ids } from "../../domain/Ids.ts"
import { allowsModel } from "../../domain/Key.ts"
import { Meter } from "../billing/Meter.ts"
import { Reservation } from "../billing/Reservation.ts"
import { Settlement } from "../billing/Settlement.ts"
import { Cache, type CacheEntry } from "../cache/Cache.ts"
import { Idempotency } from "../idempotency/Idempotency.ts"
import { type Guarded, PrivacyGuard } from "../privacy/PrivacyGuard.ts"
import { eventsWithoutReasoning, excludesReasoning, withoutReasoning } from "../reply/ExcludedReasoning.ts"
import { type Answer, type Completed, type Head } from "../request/Answer.ts"
import { leftOutBy } from "../request/AttemptRecord.ts"
import { wantsNewAnswer } from "../request/CacheControl.ts"
import { sessionIdOf } from "../request/Conversation.ts"
import { findCandidate, withOrigin } from "../request/RequestPlan.ts"
import { AttemptLog } from "../routing/AttemptLog.ts"
import { Router } from "../routing/Router.ts"
import { BUDGET, ROUTE, staged } from "../telemetry/RequestTrace.ts"
import { makeTraceContent } from "../telemetry/TraceContent.ts"
import { chatTexts } from "../tokens/RequestTexts.ts"
import { Admission, type Admitted } from "./Admission.ts"
import { cacheHit, storeAnswer, tracedLookup } from "./CachedAnswer.ts"
import { headOf, showsPrompt } from "./CompletionHead.ts"
import { chatPlanInput } from "./ChatPlanInput.ts"
import { type ChatMetered } from "./ChatMetered.ts"
import { type ChatQuery } from "./ChatQuery.ts"
import { completionReplay } from "./CompletionReplay.ts"
import { Planner } from "./Planner.ts"
import { Policy } from "./Policy.ts"

type Answering = Effect.Effect<Answer, GatewayError, Scope.Scope>
type Completing = Effect.Effect<Completed, GatewayError, Scope.Scope>

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
        const ids = yield* Ids
        const content = yield* makeTraceContent

        /** The router's answer, whole or streamed as the client asked. */
        const routed = (request: ChatMetered): Answering =>
          settlement.surviveDisconnect(
            request,
            Effect.map(called(request), (answer) => {
              const { candidate } = answer
              request.note({ provider: candidate.provider.slug, dropped: leftOutBy(request.log.record, candidate) })
              return answer
            }),
            () => request.log.clientLeft()
          )

        /** Counts a prompt that is shown while the provider works. */
        const called = (request: ChatMetered): Answering =>
          showsPrompt(request.plan) && request.plan.ranked[0]?.provider.dialect === "openai"
            ? Effect.andThen(Effect.forkChild(request.plan.prompt.count()), asked(request))
            : asked(request)

        const asked = (request: ChatMetered): Answering =>
          Effect.suspend(() => {
            const { log, note, plan } = request
            // The head of a stream may leave before the first token.
            note({ generationId: plan.generationId })
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

        const hit = ({ note, plan }: ChatMetered, candidate: Candidate, { dropped = [], reply }: CacheEntry) =>
          Effect.sync(() => {
            note({ cache: "hit", provider: candidate.provider.slug, dropped })
            return cacheHit(plan, candidate, reply)
          })

        /** Records what the stored answer was given without. */
        const recordDropped = ({ log }: ChatMetered, candidate: Candidate, { dropped = [] }: CacheEntry) => {
          if (dropped.length > 0) log.leftOut(candidate, dropped)
        }

        /**
         * Answers from the prompt cache, or stores the answer of `next`. `name`: the cache key; a
         * stream's is computed here.
         */
        const cached =
          (request: ChatMetered, name: string | null) =>
          (next: Answering): Answering => {
            const { control, note, plan } = request
            // A plan without candidates skips the cache: an old answer is not allowed either.
            if (plan.unroutable !== null) return next
            const asked = plan.streamed
              ? Effect.suspend(() =>
                  Effect.flatMap(cache.keyOf(plan, control), (own) => cache.lookup(own, control, plan))
                )
              : cache.lookup(name, control, plan)
            const lookup = tracedLookup(plan, asked, ({ _tag }) => _tag)
            return Effect.flatMap(lookup, (found) => {
              note({ cache: found._tag === "Bypass" || wantsNewAnswer(control) ? "bypass" : "miss" })
              switch (found._tag) {
                case "Bypass":
                  return next
                case "Hit": {
                  const candidate = findCandidate(plan, found.entry.provider, found.entry.model)
                  // Without a candidate, the provider of the stored answer is no longer allowed.
                  if (candidate === undefined) return next
                  recordDropped(request, candidate, found.entry)
                  return hit(request, candidate, found.entry)
                }
                case "Miss":
                  return next.pipe(
                    Effect.tapError(() => found.fail),
                    // The provider may be read for longer than other requests should wait.
                    Effect.onInterrupt(() => found.abandon),
                    Effect.flatMap((answer) => storeAnswer(request, answer, found))
                  )
              }
            })
          }

        /**
         * Fast path: serves an in-memory hit of a whole reply, and settles it in the one ledger
         * write that checks the budget. Falls through to `next` if a policy would refuse the
         * request or the budget has no room, and for streams, whose client may leave before the
         * end.
         */
        const serveFromMemory =
          (request: ChatMetered, guarded: Guarded<ChatRequest>, name: string | null) =>
          (next: Completing): Completing =>
            Effect.suspend(() => {
              const { control, plan } = request
              if (name === null) return next
              if (!allowsModel(plan.caller.key.allowedModels, plan.model)) return next
              const entry = cache.peek(name, control)
              const candidate = entry === null ? undefined : findCandidate(plan, entry.provider, entry.model)
              if (entry === null || candidate === undefined) return next
              recordDropped(request, candidate, entry)
              const written = staged(plan.trace, BUDGET, settlement.replay(request, candidate, entry.reply))
              return Effect.flatMap(written, (usage) => {
                if (usage === null) return next
                // Both have passed already; they run for their spans.
                return policy
                  .whitelist(plan)(tracedLookup(plan, hit(request, candidate, entry), () => "Hit"))
                  .pipe(Effect.flatMap((answer) => completed(request, guarded, answer, usage)))
              })
            })

        /**
         * The answer for the client, settled before its last part. `settled`: the usage of an
         * answer that is settled already.
         */
        const completed = Effect.fnUntraced(function* (
          request: ChatMetered,
          guarded: Guarded<ChatRequest>,
          answer: Answer,
          settled: UsageInfo | null
        ) {
          const { note, plan } = request
          note({ generationId: plan.generationId })
          const head = yield* headOf(request, answer, ids.next("chatcmpl", plan.startedAtMs))
          const recording = content !== null && plan.trace !== null ? content(plan.trace) : null
          if (recording !== null) yield* recording.prompt(plan.request.messages, guarded.isClear)
          const isExcluded = excludesReasoning(plan.request)
          if (answer.body._tag === "Whole") {
            const { reply } = answer.body
            const usage = settled ?? (yield* settlement.whole(request, answer, reply))
            if (recording !== null) yield* recording.reply(reply)
            const shown = guarded.reply(isExcluded ? withoutReasoning(reply) : reply)
            const endedAtMs = yield* Clock.currentTimeMillis
            return { _tag: "Reply", head, reply: shown, usage, endedAtMs } satisfies Completed
          }
          const events = yield* settlement.stream(request, answer, answer.body.events)
          const recorded = recording === null ? events : recording.events(events)
          return {
            _tag: "Stream",
            head,
            events: guarded.events(isExcluded ? eventsWithoutReasoning(recorded) : recorded)
          } satisfies Completed
        })

        /** Runs the request as the guard left it: this is what is counted, cached and sent. */
        const guardedRequest = Effect.fnUntraced(function* (guarded: Guarded<ChatRequest>, sent: ChatMetered) {
          const { plan, refusal } = guarded
          const request: ChatMetered = { ...sent, plan }
          // A stream does not take the fast path, so its cache key is computed only after the
          // policies have passed.
          const isAnswerable = !plan.streamed && plan.unroutable === null && refusal === null
          const name = isAnswerable ? yield* cache.keyOf(plan, request.control) : null
          yield* settlement.onScopeClose(request)
          // The pipe runs from the inside out: the budget is checked first, the router runs last.
          return yield* (refusal === null ? cached(request, name)(routed(request)) : Effect.fail(refusal)).pipe(
            policy.whitelist(plan),
            policy.budget(request),
            Effect.flatMap((answer) => completed(request, guarded, answer, null)),
            serveFromMemory(request, guarded, name)
          )
        })

        const admitted = Effect.fnUntraced(function* (query: ChatQuery, arrived: Admitted) {
          const { cacheControl, idempotencyKey, note, origin } = query
          const input = chatPlanInput(query, options.modelsFallback, arrived.prompt)
          const plan = withOrigin(yield* planner.begin(input, arrived), origin)
          const reservation = new Reservation(arrived.tokens, note)
          const sent: ChatMetered = {
            plan,
            reservation,
            log: new AttemptLog(query.dropped, query.native),
            control: cacheControl,
            note
          }
          const again = ({ dropped = [], generationId, provider }: Head) => {
            note({ generationId, provider, dropped, replayed: true })
            // A replayed reply is paid for.
            return settlement.void(sent)
          }
          // The pipe runs from the inside out: the minute's tokens are checked first.
          return yield* Effect.flatMap(privacyGuard.chat(plan), (guarded) => guardedRequest(guarded, sent)).pipe(
            idempotency.once(plan, idempotencyKey ?? null, completionReplay(again)),
            policy.tokens(sent),
            settlement.onFailure(sent)
          )
        })

        // The limits of requests come before the prompt is counted.
        const run = (query: ChatQuery) => {
          const { caller, note, request, trace = null } = query
          note({ operation: "chat", tier: caller.key.tier })
          trace?.belongsTo(sessionIdOf({ request, sessionId: query.sessionId ?? null }))
          return admission.admit({ caller, note, trace, prompt: () => chatTexts(request) })((arrived) =>
            admitted(query, arrived)
          )
        }

        const runUnread: Completion["Service"]["runUnread"] = ({ caller, note, trace = null }, read) => {
          note({ operation: "chat", tier: caller.key.tier })
          return admission.admitUnread({ caller, note, trace })((bound) =>
            Effect.flatMap(read, (query) => {
              trace?.belongsTo(sessionIdOf({ request: query.request, sessionId: query.sessionId ?? null }))
              return Effect.flatMap(
                bound(() => chatTexts(query.request)),
                (arrived) => admitted(query, arrived)
              )
            })
          )
        }

        return Completion.of({ run, runUnread })
      })
    )
}
