/** The router's input: the plan, the output budget, and the log of calls. */
import { type ChatRequest } from "../../domain/Chat.ts"
import { type EmbeddingRequest } from "../../domain/Embedding.ts"
import { type OutputBudget } from "../request/OutputBudget.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { type AttemptLog } from "./AttemptLog.ts"

export interface RoutedRequest<Request = ChatRequest | EmbeddingRequest> {
  readonly plan: RequestPlan<Request>
  readonly budget: OutputBudget
  readonly log: AttemptLog
}
