/** The error of a request that no provider can answer. */
import { type Candidate, type Exclusion } from "../../domain/Catalog.ts"
import { ContextLengthExceeded, gatewayError, type GatewayError, NoEligibleProvider } from "../../domain/Errors.ts"
import { type PromptTokens } from "../../domain/PromptTokens.ts"

/**
 * The error of a model that exists but has no candidate. A prompt too long for every provider is
 * the client's error.
 */
export const unroutable = (
  model: string,
  candidates: ReadonlyArray<Candidate>,
  excluded: ReadonlyArray<Exclusion>,
  { kind, prompt }: { readonly kind: "chat" | "embeddings"; readonly prompt: PromptTokens }
): GatewayError => {
  if (excluded.length > 0 && excluded.every(({ reason }) => reason === "context_length")) {
    const contextLength = candidates.reduce((longest, { offer }) => Math.max(longest, offer.contextLength ?? 0), 0)
    return gatewayError(
      new ContextLengthExceeded({
        message: null,
        promptTokens: prompt.most,
        contextLength,
        param: kind === "chat" ? "messages" : "input"
      })
    )
  }
  return gatewayError(new NoEligibleProvider({ model, excluded }))
}
