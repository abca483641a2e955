/** Converts answers to and from entries of the prompt cache. */
import { Cause, Effect } from "effect"
import { Batches } from "../../domain/runtime/Batches.ts"
import { type Candidate } from "../../domain/Catalog.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { type ChatReply, type ChatRequest, type ReplyChoice } from "../../domain/Chat.ts"
import { replayEvents } from "../../domain/Replay.ts"
import { type MeteredRequest } from "../billing/Reservation.ts"
import { type Lookup, type Miss } from "../cache/Cache.ts"
import { plausibleUsage } from "../reply/PlausibleUsage.ts"
import { ReplyAssembler } from "../reply/ReplyAssembler.ts"
import { type Answer } from "../request/Answer.ts"
import { leftOutBy } from "../request/AttemptRecord.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { stagedNow } from "../telemetry/RequestTrace.ts"

/** A cache lookup with its span. Without a trace, `look` runs at once. */
export const tracedLookup = <A, E, R>(
  { trace }: RequestPlan,
  look: () => Effect.Effect<A, E, R>,
  resultOf: (found: A) => Lookup["_tag"]
) =>
  stagedNow(trace, "tollgate.cache", look, (found) => ({
    "tollgate.cache.result": resultOf(found).toLowerCase()
  }))

/** The answer that `candidate` gave to an earlier request. */
export const cacheHit = ({ streamed }: RequestPlan<ChatRequest>, candidate: Candidate, reply: ChatReply): Answer => ({
  candidate,
  fallbackUsed: false,
  latencyMs: 0,
  source: "cache",
  body: streamed ? { _tag: "Stream", events: Batches.of(replayEvents(reply)) } : { _tag: "Whole", reply }
})

/**
 * Passes the answer on and stores a copy once it is complete. An answer that was cut short, by the
 * budget or by a filter, is not stored.
 */
export const storeAnswer = (
  { log, plan, reservation }: MeteredRequest<ChatRequest>,
  answer: Answer,
  miss: Pick<Miss, "store" | "fail">
): Effect.Effect<Answer> => {
  const dropped = leftOutBy(log.record, answer.candidate)
  const keep = (reply: ChatReply | null): Effect.Effect<void> => {
    const { isClamped } = reservation.held
    if (reply === null || isClamped || !reply.choices.every(isCacheable)) return miss.fail()
    const { provider, offer } = answer.candidate
    const usage = plausibleUsage(plan, reservation.held.affordableTokens, offer, reply.usage)
    return miss.store({
      provider: provider.slug,
      model: offer.id,
      ...(dropped.length === 0 ? {} : { dropped }),
      reply: usage === null ? withoutUsage(reply) : { ...reply, usage }
    })
  }
  if (answer.body._tag === "Whole") return Effect.mapEager(keep(answer.body.reply), () => answer)
  const builder = new ReplyAssembler()
  const events = answer.body.events.through(
    (batch) => {
      let ended = false
      for (const event of batch) {
        builder.add(event)
        ended ||= event._tag === "End"
      }
      return ended ? Effect.mapEager(keep(builder.build()), () => batch) : batch
    },
    (end) => Effect.flatMapEager(Cause.isDone(end) ? Effect.void : miss.fail(), () => Effect.fail(end))
  )
  return Effect.succeed({ ...answer, body: { _tag: "Stream", events } })
}

const withoutUsage = (reply: ChatReply): ChatReply => {
  const { usageExtra: _, ...rest } = reply
  return { ...rest, usage: null }
}

/** Ends a miss whose request got no answer. After a defect it ends with the request's scope. */
export const unanswered = (miss: Miss, cause: Cause.Cause<GatewayError>): Effect.Effect<void> | undefined => {
  // The provider may be read for longer than other requests should wait.
  if (Cause.hasInterrupts(cause)) return miss.abandon()
  return Cause.hasFails(cause) ? miss.fail() : undefined
}

const cacheable = new Set<string | null>(["stop", "length", "tool_calls", "function_call"])
const isCacheable = ({ finish_reason: reason }: ReplyChoice): boolean => cacheable.has(reason)
