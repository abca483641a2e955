/** How much a call may produce: the client's own limit, or what the reservation affords where that is less. */
import { type Candidate } from "../../domain/Catalog.ts"
import { type ChatRequest, outputLimit } from "../../domain/Chat.ts"
import { type RoutedRequest } from "./RoutedRequest.ts"

/** In tokens; the limit of a model that does not tell its own is guessed. */
export const maxOutputTokens = ({ budget, plan }: RoutedRequest<ChatRequest>, { offer }: Candidate): number =>
  budget.affordableTokens ?? plan.outputTokens ?? offer.maxCompletionTokens ?? 4_096

/**
 * `request` with its output bounded to `tokens` a choice, where that is less than it asks for; `null`: no bound. The limit that is set
 * is the only one that goes out.
 */
export const boundedTo = (request: ChatRequest, { offer }: Candidate, tokens: number | null): ChatRequest => {
  if (tokens === null) return request
  const asked = outputLimit(request) ?? offer.maxCompletionTokens
  if (asked !== null && asked <= tokens) return request
  const { max_completion_tokens: _one, max_tokens: _other, ...rest } = request
  return { ...rest, max_tokens: tokens }
}
