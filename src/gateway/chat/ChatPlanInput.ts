/** The planner's input for a chat request: what it asks for, and its limits. */
import { type ChatRequest, outputLimit } from "../../domain/Chat.ts"
import { type NativeRequest } from "../../domain/Native.ts"
import { type PlanInput } from "./Planner.ts"
import { type Caller } from "../request/Caller.ts"
import { type ClientDeadline } from "../request/ClientDeadline.ts"
import { type RequestOrigin } from "../request/RequestOrigin.ts"
import { type RequestTrace } from "../telemetry/RequestTrace.ts"
import { type PromptTokens } from "../../domain/PromptTokens.ts"

/** `modelsFallback`: the fallback models of a request that names none. */
export const chatPlanInput = (
  {
    caller,
    deadline,
    keepsReasoning = false,
    native,
    origin,
    request,
    sessionId,
    trace
  }: {
    readonly request: ChatRequest
    readonly caller: Caller
    readonly deadline?: ClientDeadline | null
    readonly keepsReasoning?: boolean
    readonly native?: NativeRequest | undefined
    readonly origin?: RequestOrigin | undefined
    readonly sessionId?: string | null
    readonly trace?: RequestTrace | null
  },
  modelsFallback: ReadonlyArray<string>,
  prompt: PromptTokens
): PlanInput<ChatRequest> => {
  const choices = request.n ?? 1
  const limit = outputLimit(request)
  return {
    kind: "chat",
    request,
    model: request.model,
    fallbackModels: request.models ?? modelsFallback,
    preferences: request.provider ?? null,
    prompt,
    outputTokens: limit === null ? null : limit * choices,
    choices,
    streamed: request.stream === true,
    caller,
    deadline: deadline ?? null,
    keepsReasoning,
    ...(native === undefined ? {} : { native }),
    trace: trace ?? null,
    origin,
    conversation: { request, sessionId: sessionId ?? null }
  }
}
