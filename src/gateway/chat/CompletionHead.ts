/** The common part of a completion's chunks. */
import { Effect } from "effect"
import { type ChatRequest } from "../../domain/Chat.ts"
import { type Answer, type Head } from "../request/Answer.ts"
import { chargedPrompt, leftOutBy } from "../request/AttemptRecord.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { type ChatMetered } from "./ChatMetered.ts"

/** A stream of the Messages API tells the prompt's tokens before the provider tells its usage. */
export const showsPrompt = ({ native, streamed }: RequestPlan<ChatRequest>): boolean =>
  streamed && native?.dialect === "anthropic"

export const headOf = (
  { log, plan, reservation }: ChatMetered,
  { candidate, source }: Answer,
  completionId: string
): Effect.Effect<Head> => {
  const dropped = leftOutBy(log.record, candidate)
  const head: Head = {
    completionId,
    generationId: plan.generationId,
    createdAtMs: plan.startedAtMs,
    model: candidate.offer.id,
    provider: candidate.provider.slug,
    cacheHit: source === "cache",
    ...(dropped.length === 0 ? {} : { dropped }),
    ...(reservation.held.isClamped ? { isClamped: true } : {})
  }
  return showsPrompt(plan)
    ? Effect.map(chargedPrompt(log.record, candidate, plan.prompt), (promptTokens) => ({ ...head, promptTokens }))
    : Effect.succeed(head)
}
