/** A chat request as the intake reads it: what it asks for, and how much it allows. */
import { type ChatRequest, outputLimit } from "../../domain/Chat.ts"
import { type PlanInput } from "./Planner.ts"
import { type Caller, type ResponseMetadata, type ClientDeadline } from "../request/Order.ts"
import { type PromptTexts, textsOf } from "../tokens/TokenCounter.ts"
import { countPrompt } from "../tokens/Tokens.ts"

export const chatTexts = (request: ChatRequest): PromptTexts => textsOf((count) => countPrompt(request, count))

/** `modelsFallback`: for a request that names no fallback models of its own. */
export const chatPlanInput = (
  {
    caller,
    facts,
    patience,
    request
  }: {
    readonly request: ChatRequest
    readonly caller: Caller
    readonly facts: ResponseMetadata
    readonly patience?: ClientDeadline | null
  },
  modelsFallback: ReadonlyArray<string>,
  promptTokens: number
): PlanInput<ChatRequest> => {
  const choices = request.n ?? 1
  const limit = outputLimit(request)
  return {
    kind: "chat",
    request,
    model: request.model,
    fallbackModels: request.models ?? modelsFallback,
    preferences: request.provider ?? null,
    promptTokens,
    outputTokens: limit === null ? null : limit * choices,
    choices,
    streamed: request.stream === true,
    caller,
    facts,
    patience: patience ?? null
  }
}
