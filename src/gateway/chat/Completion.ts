/**
 * What happens to a chat request: the policies in spec.md's order, the privacy guard, the prompt cache, the router, and the record that
 * every ending leaves. A cache hit and a provider's answer are one type here, and a stream is the same answer in pieces.
 */
import { Cause, Context, Effect, Layer, type Scope, Stream } from "effect"
import { type Candidate } from "../../domain/Catalog.ts"
import { type ChatReply, type ChatRequest, type UsageInfo } from "../../domain/Chat.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { Ids } from "../../domain/Ids.ts"
import { allowsModel } from "../../domain/Key.ts"
import { replayEvents } from "../../domain/Replay.ts"
import { Admission, type Admitted } from "./Admission.ts"
import { plausibleUsage } from "../billing/PlausibleUsage.ts"
import { Cache, type Lookup } from "../cache/Cache.ts"
import { chatPlanInput, chatTexts } from "./ChatPlanInput.ts"
import { Settlement } from "../billing/Settlement.ts"
import { type Answer, type CompletionEvent } from "../request/Answer.ts"
import { Idempotency, type SentKey } from "../idempotency/Idempotency.ts"
import { Planner } from "./Planner.ts"
import { completionReplay } from "../idempotency/CompletionReplay.ts"
import { Meter } from "../billing/Meter.ts"
import {
  asksAfresh,
  type CacheControl,
  type Caller,
  type ResponseMetadata,
  type Order,
  type ClientDeadline,
  rankedAs
} from "../request/Order.ts"
import { Policy } from "./Policy.ts"
import { PrivacyGuard, type PrivacyFilter } from "../privacy/PrivacyGuard.ts"
import { ReplyAssembler } from "../reply/ReplyAssembler.ts"
import { BUDGET, ROUTE, staged } from "../telemetry/RequestTrace.ts"
import { Router } from "../routing/Router.ts"
import { makeTraceContent } from "../telemetry/TraceContent.ts"

export interface ChatQuery {
  readonly request: ChatRequest
  readonly caller: Caller
  readonly cacheControl: CacheControl
  readonly idempotencyKey?: SentKey | null
  readonly facts: ResponseMetadata
  readonly patience?: ClientDeadline | null
}

/** What JSON and every chunk of a stream have in common. `createdAtMs`: Unix milliseconds. */
export interface Head {
  readonly completionId: string
  readonly generationId: string
  readonly createdAtMs: number
  readonly model: string
  readonly provider: string
  readonly cacheHit: boolean
}

export type Completed =
  | { readonly _tag: "Reply"; readonly head: Head; readonly reply: ChatReply; readonly usage: UsageInfo }
  | { readonly _tag: "Stream"; readonly head: Head; readonly events: Stream.Stream<CompletionEvent> }

export class Completion extends Context.Service<
  Completion,
  {
    /** The scope is the request's: it stays open until the reply was sent, and closing it early aborts and settles everything. */
    readonly run: (query: ChatQuery) => Effect.Effect<Completed, GatewayError, Scope.Scope>
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

        /** The router's answer to the order, whole or in pieces as the client asked. */
        const routed = (order: Order<ChatRequest>): Effect.Effect<Answer, GatewayError, Scope.Scope> =>
          settlement.outlive(order, called(order), () => order.log.clientLeft())

        const called = (order: Order<ChatRequest>): Effect.Effect<Answer, GatewayError, Scope.Scope> =>
          order.streamed
            ? Effect.map(staged(order.facts.trace, ROUTE, router.stream(order)), ({ answer, ...from }): Answer => ({
                ...from,
                source: "upstream",
                body: { _tag: "Stream", events: meter.watch(order)(answer) }
              }))
            : Effect.map(staged(order.facts.trace, ROUTE, router.reply(order)), ({ answer, ...from }): Answer => ({
                ...from,
                source: "upstream",
                body: { _tag: "Whole", reply: answer }
              }))

        /** Answers from the prompt cache, or keeps what `next` answers. */
        const cached =
          (order: Order<ChatRequest>, control: CacheControl) =>
          (
            next: Effect.Effect<Answer, GatewayError, Scope.Scope>
          ): Effect.Effect<Answer, GatewayError, Scope.Scope> => {
            // Nobody may serve it, so nobody's old answer does either.
            if (order.unroutable !== null) return next
            const lookup = looked(order, cache.lookup(order, control), ({ _tag }) => _tag)
            return Effect.flatMap(lookup, (found) => {
              order.facts.cache = found._tag === "Bypass" || asksAfresh(control) ? "bypass" : "miss"
              switch (found._tag) {
                case "Bypass":
                  return next
                case "Hit": {
                  const candidate = rankedAs(order, found.entry.provider, found.entry.model)
                  // Else the provider that gave the answer is not allowed any more.
                  return candidate === undefined ? next : Effect.succeed(replayed(order, candidate, found.entry.reply))
                }
                case "Miss":
                  return next.pipe(
                    Effect.tapError(() => found.fail),
                    // The provider may be listened to for longer than others should wait.
                    Effect.onInterrupt(() => found.abandon),
                    Effect.flatMap((answer) => kept(order, answer, found))
                  )
              }
            })
          }

        /**
         * An answer that is at hand, and that no policy but the budget may refuse, is settled by the write that asks the budget. All else,
         * and what the budget has no room for at once, goes the way of `next`: its refusals, its waiting, its order. So does a stream,
         * whose client may leave before its end.
         */
        const atOnce =
          (order: Order<ChatRequest>, veil: PrivacyFilter, control: CacheControl) =>
          (next: Effect.Effect<Answer, GatewayError, Scope.Scope>): Effect.Effect<Answer, GatewayError, Scope.Scope> =>
            Effect.suspend(() => {
              const { key } = order.caller
              if (order.streamed || order.unroutable !== null || veil.isRefused()) return next
              if (!allowsModel(key.allowedModels, order.model)) return next
              return Effect.flatMap(cache.peek(order, control), (entry) => {
                const candidate = entry === null ? undefined : rankedAs(order, entry.provider, entry.model)
                if (entry === null || candidate === undefined) return next
                const written = staged(order.facts.trace, BUDGET, settlement.replay(order, candidate, entry.reply))
                return Effect.flatMap(written, (generation) => {
                  if (generation === null) return next
                  const answer = Effect.succeed(replayed(order, candidate, entry.reply))
                  // Neither has anything left to say, but to a trace.
                  return policy.whitelist(order)(looked(order, answer, () => "Hit"))
                })
              })
            })

        /** The answer as the client gets it; settled before the last of it. */
        const completed = Effect.fnUntraced(function* (order: Order<ChatRequest>, veil: PrivacyFilter, answer: Answer) {
          order.facts.generationId = order.generationId
          const head: Head = {
            completionId: ids.next("chatcmpl", order.startedAtMs),
            generationId: order.generationId,
            createdAtMs: order.startedAtMs,
            model: answer.candidate.offer.id,
            provider: answer.candidate.provider.slug,
            cacheHit: answer.source === "cache"
          }
          const recording = content !== null && order.facts.trace !== null ? content(order.facts.trace) : null
          if (recording !== null) yield* recording.prompt(order.request.messages, veil.isClear())
          if (answer.body._tag === "Whole") {
            const usage = yield* settlement.whole(order, answer, answer.body.reply)
            if (recording !== null) yield* recording.reply(answer.body.reply)
            return { _tag: "Reply", head, reply: veil.reply(answer.body.reply), usage } satisfies Completed as Completed
          }
          const events = yield* settlement.stream(order, answer, answer.body.events)
          return {
            _tag: "Stream",
            head,
            events: veil.events(recording === null ? events : recording.events(events))
          } satisfies Completed as Completed
        })

        const admitted = Effect.fnUntraced(function* (query: ChatQuery, arrived: Admitted) {
          const order = yield* planner.begin(
            chatPlanInput(query, options.modelsFallback, arrived.promptTokens),
            arrived
          )
          const veil = privacyGuard.chat(order)
          yield* settlement.onScopeClose(order)
          // From the inside out: the minute's tokens are the first to be asked, the router is the last to work.
          return yield* routed(order).pipe(
            cached(order, query.cacheControl),
            veil.refuse,
            policy.whitelist(order),
            policy.budget(order),
            atOnce(order, veil, query.cacheControl),
            // What is counted, named and sent is the masked request.
            veil.mask,
            Effect.flatMap((answer) => completed(order, veil, answer)),
            // What a request that is sent again gets was paid for when it came first.
            idempotency.once(order, query.idempotencyKey ?? null, completionReplay),
            policy.tokens(order),
            settlement.onFailure(order)
          )
        })

        // Requests a minute and requests at once come before everything else: before the prompt is even counted.
        const run = (query: ChatQuery) => {
          const { caller, facts, request } = query
          const prompt = chatTexts(request)
          return admission.admit({ kind: "chat", caller, facts, prompt })((arrived) => admitted(query, arrived))
        }

        return Completion.of({ run })
      })
    )
}

/** A look into the cache, with its span. */
const looked = <A, E, R>(order: Order, look: Effect.Effect<A, E, R>, resultOf: (found: A) => Lookup["_tag"]) =>
  staged(order.facts.trace, "tollgate.cache", look, (found) => ({
    "tollgate.cache.result": resultOf(found).toLowerCase()
  }))

const replayed = (order: Order<ChatRequest>, candidate: Candidate, reply: ChatReply): Answer => {
  order.facts.cache = "hit"
  order.facts.provider = candidate.provider.slug
  return {
    candidate,
    fallbackUsed: false,
    latencyMs: 0,
    source: "cache",
    body: order.streamed ? { _tag: "Stream", events: Stream.fromArray(replayEvents(reply)) } : { _tag: "Whole", reply }
  }
}

interface Miss {
  readonly store: (entry: {
    readonly provider: string
    readonly model: string
    readonly reply: ChatReply
  }) => Effect.Effect<void>
  readonly fail: Effect.Effect<void>
}

/** Hands the answer on and keeps a copy, once it is whole. What was cut short, by the budget or by a filter, is not kept. */
const kept = (order: Order<ChatRequest>, answer: Answer, miss: Miss): Effect.Effect<Answer> => {
  const keep = (reply: ChatReply | null): Effect.Effect<void> =>
    reply === null ||
    order.account.clamped ||
    !reply.choices.every(({ finish_reason: reason }) => cacheable.has(reason ?? ""))
      ? miss.fail
      : miss.store({
          provider: answer.candidate.provider.slug,
          model: answer.candidate.offer.id,
          reply: { ...reply, usage: plausibleUsage(order, answer.candidate.offer, reply.usage) }
        })
  if (answer.body._tag === "Whole") return Effect.as(keep(answer.body.reply), answer)
  const builder = new ReplyAssembler()
  const events = Stream.transformPull(answer.body.events, (pull) =>
    Effect.succeed(
      Effect.matchEffect(pull, {
        onSuccess: (chunk) => {
          let ended = false
          for (const event of chunk) {
            builder.add(event)
            ended ||= event._tag === "End"
          }
          return ended ? Effect.as(keep(builder.build()), chunk) : Effect.succeed(chunk)
        },
        onFailure: (error) => Effect.andThen(Cause.isDone(error) ? Effect.void : miss.fail, Effect.fail(error))
      })
    )
  )
  return Effect.succeed({ ...answer, body: { _tag: "Stream", events } })
}

const cacheable = new Set(["stop", "length", "tool_calls", "function_call"])
