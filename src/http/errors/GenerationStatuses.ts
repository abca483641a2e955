/** The status that each API has for each error of a generation, from the tables of the errors. */
import {
  BudgetExceeded,
  ContextLengthExceeded,
  DependencyUnavailable,
  InvalidRequest,
  ProviderLacksModel,
  ProviderRateLimited,
  ProvidersFailed,
  ProvidersTimedOut,
  ProviderUnavailable,
  type Reason
} from "../../domain/Errors.ts"
import { type GenerationError } from "../../domain/Generation.ts"
import { messagesForm } from "./MessagesErrors.ts"
import { type Surface } from "./Surface.ts"
import { wireOf } from "./WireErrors.ts"

type Statuses = Readonly<Record<GenerationError, number>>

const attempts = { attempts: [], retryAfterMs: null }

/** A reason of each kind; null: a defect. */
const reasons: Readonly<Record<GenerationError, Reason | null>> = {
  provider_error: new ProvidersFailed(attempts),
  provider_timeout: new ProvidersTimedOut(attempts),
  provider_unavailable: new ProviderUnavailable(attempts),
  provider_rate_limited: new ProviderRateLimited({ provider: "", ...attempts }),
  model_not_found: new ProviderLacksModel({ model: "", attempts: [] }),
  invalid_request: new InvalidRequest({ message: "", param: null, code: null, provider: null }),
  context_length_exceeded: new ContextLengthExceeded({
    message: null,
    promptTokens: 0,
    contextLength: 0,
    param: "messages"
  }),
  dependency_unavailable: new DependencyUnavailable({ dependency: "database" }),
  budget_exceeded: new BudgetExceeded({ capNano: 0, spentNano: 0, reservedNano: 0, neededNano: 0, resetsAtMs: 0 }),
  internal_error: null
}

const DEFECT = 500

const statusesOf = (surface: Surface): Statuses => {
  const statusOf = (reason: Reason | null): number =>
    (surface === "messages" ? messagesForm(reason).status : undefined) ??
    (reason === null ? DEFECT : wireOf(reason).status)
  return {
    provider_error: statusOf(reasons.provider_error),
    provider_timeout: statusOf(reasons.provider_timeout),
    provider_unavailable: statusOf(reasons.provider_unavailable),
    provider_rate_limited: statusOf(reasons.provider_rate_limited),
    model_not_found: statusOf(reasons.model_not_found),
    invalid_request: statusOf(reasons.invalid_request),
    context_length_exceeded: statusOf(reasons.context_length_exceeded),
    dependency_unavailable: statusOf(reasons.dependency_unavailable),
    budget_exceeded: statusOf(reasons.budget_exceeded),
    internal_error: statusOf(reasons.internal_error)
  }
}

const openai = statusesOf("openai")
const messages = statusesOf("messages")

export const generationStatuses = (surface: Surface): Statuses => (surface === "messages" ? messages : openai)
