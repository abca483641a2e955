/**
 * Checks that a provider can be reached and, if it lists models, that it accepts our key. It
 * generates nothing and costs nothing. Redirects are not followed, so a key is sent only to the
 * address in the settings.
 */
import { Effect, Redacted, Result } from "effect"
import { FetchHttpClient, HttpClient, HttpClientError } from "effect/http"
import { type ProviderConfig } from "../../domain/Catalog.ts"
import { failed, type Finding, ok, warning } from "./Finding.ts"

const LIMIT = "5 seconds"

/** The OpenAI dialect lists models at a fixed path, with the same key as for generations. */
const listsModels = ({ dialect }: ProviderConfig): boolean => dialect === "openai"

const headersOf = (provider: ProviderConfig): Readonly<Record<string, string>> => {
  const { apiKey, auth, headers } = provider
  if (!listsModels(provider) || apiKey === null || auth.type === "none") return {}
  const key = Redacted.value(apiKey)
  return { ...headers, ...(auth.type === "bearer" ? { authorization: `Bearer ${key}` } : { [auth.name]: key }) }
}

const addressOf = (provider: ProviderConfig): string => {
  const query = new URLSearchParams(provider.query).toString()
  return `${provider.baseUrl}${listsModels(provider) ? "/models" : ""}${query === "" ? "" : `?${query}`}`
}

const reasonOf = (error: unknown): string => {
  let at: unknown = HttpClientError.isHttpClientError(error) ? error.cause : error
  while (at instanceof Error && at.cause instanceof Error) at = at.cause
  if (at instanceof AggregateError && at.errors.length > 0) at = at.errors[0]
  return at instanceof Error ? at.message : "no answer in time"
}

/** One finding for each key of the provider. */
export const checkProvider = (
  provider: ProviderConfig
): Effect.Effect<ReadonlyArray<Finding>, never, HttpClient.HttpClient> => {
  const part = `provider ${provider.slug}`
  const { apiKeys } = provider
  return apiKeys === undefined || !listsModels(provider)
    ? Effect.map(checkKey(provider, part), (finding) => [finding])
    : Effect.forEach(apiKeys, (apiKey, index) => checkKey({ ...provider, apiKey }, `${part}, key ${index + 1}`))
}

const checkKey = Effect.fnUntraced(function* (
  provider: ProviderConfig,
  part: string
): Effect.fn.Return<Finding, never, HttpClient.HttpClient> {
  if (provider.dialect === "mock") {
    return warning(
      part,
      "the mock answers instead of a model",
      "To use a real model, set a vendor's key or list providers in the settings file."
    )
  }
  const answered = yield* HttpClient.get(addressOf(provider), { headers: headersOf(provider) }).pipe(
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
    Effect.timeout(LIMIT),
    Effect.result
  )
  const { host } = new URL(provider.baseUrl)
  if (Result.isFailure(answered)) {
    return failed(
      part,
      `${host}: ${reasonOf(answered.failure)}`,
      "Check its base URL, and whether this machine can reach it (DNS, firewall, proxy)."
    )
  }
  const { status } = answered.success
  if (listsModels(provider) && (status === 401 || status === 403)) {
    return failed(
      part,
      `${host} rejects the key (status ${status})`,
      "Check that its API key is correct and still valid."
    )
  }
  if (status >= 500) {
    return warning(
      part,
      `${host} answers with status ${status}`,
      "See the vendor's status page. Requests go to other providers meanwhile."
    )
  }
  const models = provider.models.length
  return ok(part, `${host} answers; ${models === 1 ? "1 model" : `${models} models`}`)
})
