/**
 * Turns an answer into what the client gets: settled before its last part, with the values that the
 * guard masked back in, and without reasoning that the client does not want.
 */
import { type Clock, Effect, type Scope } from "effect"
import { type ChatReply, type ChatRequest, type UsageInfo } from "../../domain/Chat.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { type Ids } from "../../domain/Ids.ts"
import { type Settlement } from "../billing/Settlement.ts"
import { type Guarded } from "../privacy/PrivacyGuard.ts"
import { eventsWithoutReasoning, excludesReasoning, withoutReasoning } from "../reply/ExcludedReasoning.ts"
import { type Answer, type Completed, type Head } from "../request/Answer.ts"
import { type RequestTrace } from "../telemetry/RequestTrace.ts"
import { type TraceContent } from "../telemetry/TraceContent.ts"
import { type ChatMetered } from "./ChatMetered.ts"
import { headOf } from "./CompletionHead.ts"

export type Completing = Effect.Effect<Completed, GatewayError, Scope.Scope>

interface SettledAnswerOptions {
  readonly settlement: Settlement["Service"]
  readonly ids: Ids["Service"]
  readonly clock: Clock.Clock
  /** Null: the content of traced requests is not recorded. */
  readonly content: ((trace: RequestTrace) => TraceContent) | null
}

/** An answer on its way to the client. */
interface Ending {
  readonly answer: Answer
  readonly head: Head
  /** Null: the content is not recorded. */
  readonly recording: TraceContent | null
}

export const makeCompleted = ({ clock, content, ids, settlement }: SettledAnswerOptions) => {
  const whole = (
    request: ChatMetered,
    guard: Guarded<ChatRequest>,
    { answer, head, recording, settled }: Ending & { readonly settled: UsageInfo | null },
    reply: ChatReply
  ): Completing =>
    Effect.flatMapEager(
      settled === null ? settlement.whole(request, answer, reply) : Effect.succeed(settled),
      (usage) => {
        const shown = guard.reply(excludesReasoning(request.plan.request) ? withoutReasoning(reply) : reply)
        return Effect.mapEager(recording === null ? Effect.void : recording.reply(reply), (): Completed => ({
          _tag: "Reply",
          head,
          reply: shown,
          usage,
          endedAtMs: clock.currentTimeMillisUnsafe()
        }))
      }
    )

  const streamed = (
    request: ChatMetered,
    guard: Guarded<ChatRequest>,
    { answer, head, recording }: Ending,
    events: Extract<Answer["body"], { readonly _tag: "Stream" }>["events"]
  ): Completing =>
    Effect.mapEager(settlement.stream(request, answer, events, request.scope), (settling): Completed => {
      const recorded = recording === null ? settling : recording.events(settling)
      const shown = excludesReasoning(request.plan.request) ? eventsWithoutReasoning(recorded) : recorded
      return { _tag: "Stream", head, events: guard.events(shown) }
    })

  /** `settled`: the usage of an answer that is settled already. */
  return (request: ChatMetered, guard: Guarded<ChatRequest>, answer: Answer, settled: UsageInfo | null): Completing => {
    const { note, plan } = request
    note({ generationId: plan.generationId })
    const recording = content !== null && plan.trace !== null ? content(plan.trace) : null
    return Effect.flatMapEager(headOf(request, answer, ids.next("chatcmpl", plan.startedAtMs)), (head) => {
      const recorded = recording === null ? Effect.void : recording.prompt(plan.request.messages, guard.isClear)
      const { body } = answer
      return Effect.flatMapEager(recorded, () =>
        body._tag === "Whole"
          ? whole(request, guard, { answer, head, recording, settled }, body.reply)
          : streamed(request, guard, { answer, head, recording }, body.events)
      )
    })
  }
}
