/**
 * Clients that leave before the provider said what it used. What can be counted is counted, and the call is aborted at once. Where the
 * bill shows only at the end (a model that thinks unseen, a whole reply that nobody watches, an answer that is complete but for its
 * usage) the provider is listened to for a few seconds more; where it stays silent, what it may have used is estimated.
 */
import { Duration, Effect, Fiber, type Scope, Stream } from "effect"
import { type ChatEvent } from "../../domain/Chat.ts"
import { type UsageSource } from "../../domain/Generation.ts"
import { type TokenUsage } from "../../domain/Money.ts"
import { onClose } from "../../domain/OnClose.ts"
import { countedUsage } from "./Outcome.ts"
import { estimateOf } from "./Estimate.ts"
import { type AttemptRecord } from "../request/AttemptRecord.ts"
import { showsItsOutput } from "../request/Reasoning.ts"
import { rankedAs, type RequestPlan } from "../request/RequestPlan.ts"
import { type MeteredRequest } from "./Reservation.ts"
import { OutputCounter } from "../tokens/Tokens.ts"

/** How long a provider is listened to after its client left. */
export const LISTEN_MS = 5_000
/** Output beyond this ends the listening, in tokens at most. */
const LISTEN_TOKENS = 1_000_000
/** Of a model whose speed nobody has seen yet, in tokens a second; of one that is known, how much faster it may have been. */
const UNKNOWN_SPEED = 200
const SPEED_MARGIN = 2

/** What came of an answer so far. */
export class Seen {
  readonly output = new OutputCounter()
  usage: TokenUsage | null = null
  finishReason: string | null = null
  /** The answer came to its end. */
  ended = false

  add(event: ChatEvent): void {
    if (event._tag === "End") {
      this.usage = event.usage
      this.ended = true
      return
    }
    this.output.add(event.choices)
    for (const choice of event.choices) this.finishReason = choice.finish_reason ?? this.finishReason
  }
}

/** Listens to the end of an answer whose client has left. */
export const listen = <E>(events: Stream.Stream<ChatEvent, E>, seen: Seen): Effect.Effect<void> =>
  events.pipe(
    Stream.runForEachArray((chunk) => {
      for (const event of chunk) seen.add(event)
      return seen.output.bound() > LISTEN_TOKENS ? Effect.fail("enough") : Effect.void
    }),
    Effect.timeoutOption(Duration.millis(LISTEN_MS)),
    Effect.ignoreCause
  )

/**
 * Runs `call` so that it outlives a client that leaves while nobody can tell what it uses; its answer then goes to `settle`. Else it is
 * aborted with the request's scope, as any other.
 */
export const outliving = Effect.fnUntraced(function* <A, E>(
  request: MeteredRequest,
  call: Effect.Effect<A, E, Scope.Scope>,
  settle: (answer: A) => Effect.Effect<void>,
  onLeft: () => void
) {
  const scope = yield* Effect.scope
  const fiber = yield* Effect.forkIn(call, scope, { startImmediately: true })
  const listening = Effect.suspend(() => {
    onLeft()
    if (request.log.record.calls === 0 && fiber.pollUnsafe() === undefined) return Effect.void
    return Fiber.join(fiber).pipe(
      Effect.timeoutOption(Duration.millis(LISTEN_MS)),
      Effect.flatMap((answer) => (answer._tag === "None" ? Fiber.interrupt(fiber) : settle(answer.value))),
      Effect.ignoreCause
    )
  })
  yield* onClose(
    Effect.suspend(() =>
      request.reservation.isSettled || !isUnseen(request.plan, request.log.record) ? Effect.void : listening
    )
  )
  return yield* Fiber.join(fiber)
})

/** Whether nobody can tell what the call under way has produced. */
export const isUnseen = (plan: RequestPlan, { produced }: AttemptRecord): boolean =>
  !showsItsOutput(plan) || (!plan.streamed && produced === null)

/** Whether a call costs anything at all. */
export const isPriced = ({ ranked }: RequestPlan): boolean =>
  ranked.some(({ offer: { embeddings, pricing } }) => !embeddings && (pricing.prompt > 0 || pricing.completion > 0))

/** What a call used of which nobody heard the end: the prompt, the output that came, and what may have come unseen. */
export const usedUnheard = (
  { plan, reservation }: Pick<MeteredRequest, "plan" | "reservation">,
  record: AttemptRecord,
  knownTokens: number,
  nowMs: number,
  tokensPerSecond: number | null
): { readonly usage: TokenUsage; readonly usageSource: UsageSource } => {
  if (!isUnseen(plan, record)) return { usage: countedUsage(plan, record, knownTokens), usageSource: "counted" }
  const seconds = Math.max(0, nowMs - plan.startedAtMs) / 1000
  const speed = tokensPerSecond === null ? UNKNOWN_SPEED : SPEED_MARGIN * tokensPerSecond
  const most = Math.min(
    estimateOf(plan, 0).outputTokens ?? 0,
    reservation.held.affordableTokens ?? Number.POSITIVE_INFINITY
  )
  const tokens = Math.min(most, Math.ceil(seconds * speed)) * plan.choices
  return { usage: countedUsage(plan, record, Math.max(knownTokens, tokens)), usageSource: "estimated" }
}

/** The calls that were under way when the client left. */
export const interruptedCalls = (plan: RequestPlan, { attempts }: AttemptRecord) =>
  attempts.flatMap(({ errorType, model, provider, status }, at) => {
    const candidate = rankedAs(plan, provider, model)
    return status === "cancelled" && errorType === null && candidate !== undefined ? [{ at, candidate }] : []
  })
