/** The output limit of a call: the client's own limit, or less if the reservation affords less. */
import { type Candidate } from "../../domain/Catalog.ts"
import { type ChatRequest, outputLimit } from "../../domain/Chat.ts"
import { nativeFor } from "../../domain/Native.ts"
import { type ChatCall } from "../../providers/Provider.ts"
import { type RoutedRequest } from "./RoutedRequest.ts"

/** In tokens. A model that does not state its limit gets a default. */
export const maxOutputTokens = ({ budget, plan }: RoutedRequest<ChatRequest>, { offer }: Candidate): number =>
  budget.affordableTokens ?? plan.outputTokens ?? offer.maxCompletionTokens ?? 4_096

/**
 * `request` with its output limited to `tokens` a choice, if that is less than it asks for; null:
 * no limit. Only one of the two limit members is sent.
 */
export const limitOutput = (request: ChatRequest, { offer }: Candidate, tokens: number | null): ChatRequest => {
  if (tokens === null) return request
  const asked = outputLimit(request) ?? offer.maxCompletionTokens
  if (asked !== null && asked <= tokens) return request
  const { max_completion_tokens: _one, max_tokens: _other, ...rest } = request
  return { ...rest, max_tokens: tokens }
}

/**
 * The request as the candidate is sent it: in its own form too, if the candidate speaks its API.
 */
export const contentOf = (
  { budget, plan }: Pick<RoutedRequest<ChatRequest>, "budget" | "plan">,
  candidate: Candidate
): Pick<ChatCall, "native" | "request"> => ({
  request: limitOutput(plan.request, candidate, budget.affordableTokens),
  native: nativeFor(plan, candidate)
})
