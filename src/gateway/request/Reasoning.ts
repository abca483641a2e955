/**
 * Whether a request's model produces tokens that the stream does not show as text: hidden
 * reasoning, audio, images.
 */
import { Predicate } from "effect"
import { mediaOf } from "./RequestedClasses.ts"
import { type RequestPlan } from "./RequestPlan.ts"

/**
 * Whether the output can be counted as it arrives, so that a slice of the worst case is enough to
 * begin with. Hidden reasoning tokens are known only at the end: such a request reserves its worst
 * case from the start.
 */
export const hasVisibleOutput = ({ ranked, request }: Pick<RequestPlan, "ranked" | "request">): boolean =>
  !asksForReasoning(request) && mediaOf(request).length === 0 && !ranked.some(({ offer }) => offer.hidesReasoning)

/**
 * Whether a member asks for reasoning. The reasoning that a model shows is often only a summary.
 */
export const asksForReasoning = (request: Readonly<Record<string, unknown>>): boolean =>
  isAsked(request["reasoning_effort"]) || isAsked(request["reasoning"]) || isAsked(request["thinking"])

/** `member` is an effort, OpenRouter's `reasoning`, or Anthropic's `thinking`. */
const isAsked = (member: unknown): boolean => {
  if (!Predicate.isObject(member)) return typeof member === "string" && member !== "none"
  return member["type"] !== "disabled" && member["enabled"] !== false && member["effort"] !== "none"
}
