/** Whether a request's model thinks in tokens that the stream does not show. */
import { Predicate } from "effect"
import { type RequestPlan } from "./RequestPlan.ts"

/**
 * Whether the output can be counted as it arrives, so that a part of the worst case is enough to begin with. Tokens that a model
 * thinks in and does not show are known at the end only: such a request holds its worst case from the start.
 */
export const showsItsOutput = ({ ranked, request }: Pick<RequestPlan, "ranked" | "request">): boolean =>
  !asksForReasoning(request) && !ranked.some(({ offer }) => offer.hidesReasoning)

/** Whether a member tells the model to think. What a model shows of that is often a summary. */
export const asksForReasoning = (request: Readonly<Record<string, unknown>>): boolean =>
  isAsked(request["reasoning_effort"]) || isAsked(request["reasoning"]) || isAsked(request["thinking"])

/** An effort, OpenRouter's `reasoning` or Anthropic's `thinking`. */
const isAsked = (member: unknown): boolean => {
  if (!Predicate.isObject(member)) return typeof member === "string" && member !== "none"
  return member["type"] !== "disabled" && member["enabled"] !== false && member["effort"] !== "none"
}
