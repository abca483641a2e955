/** The error of a request that no provider can answer. */
import { type Candidate, type Exclusion } from "../../domain/Catalog.ts"
import { type ProviderPreferences } from "../../domain/Chat.ts"
import { ContextLengthExceeded, gatewayError, type GatewayError, NoEligibleProvider } from "../../domain/Errors.ts"
import { type PromptTokens } from "../../domain/PromptTokens.ts"
import { type Model } from "../routing/Catalog.ts"

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

/**
 * Names in `order` and `only` that no provider has. They are shown to the client and not recorded.
 */
export const unknownProviders = (
  models: ReadonlyArray<Model>,
  preferences: ProviderPreferences | null,
  model: string
): ReadonlyArray<Exclusion> => {
  const known = new Set(models.flatMap(({ candidates }) => candidates.map(({ provider }) => provider.slug)))
  const named = [
    ...(preferences?.allow_fallbacks === false ? (preferences.order ?? []) : []),
    ...(preferences?.only ?? [])
  ]
  return [...new Set(named)]
    .filter((slug) => !known.has(slug))
    .map((slug) => ({ slug, model, reason: "unknown_provider" }))
}
