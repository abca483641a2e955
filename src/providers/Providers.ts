/**
 * The providers of this deployment, by slug. The layer builds each with its dialect, and loads a
 * dialect's module only if a provider uses it. A model with time limits of its own has a provider
 * of its own, which shares connections where it may. So has each further key of a provider.
 */
import { Context, Effect, Layer } from "effect"
import { type Candidate, type DialectName, keyName, limitsOf, type ProviderConfig } from "../domain/Catalog.ts"
import { type Provider } from "./Provider.ts"
import { Transport } from "./transport/Transport.ts"

export class Providers extends Context.Service<
  Providers,
  {
    /** The provider that serves the candidate's model, with the candidate's key. */
    readonly get: (candidate: Candidate) => Provider | undefined
    /** In the order of the settings, each with its first key. */
    readonly all: ReadonlyArray<Provider>
  }
>()("tollgate/providers/Providers") {
  /** Builds one provider per config. */
  static readonly layer = (configs: ReadonlyArray<ProviderConfig>): Layer.Layer<Providers, never, Transport> =>
    Layer.effect(
      Providers,
      Effect.gen(function* () {
        const transport = yield* Transport
        const own = new Map<string, Provider>()
        const keyed = new Map<string, Provider>()
        const providers = yield* Effect.forEach(configs, (config) =>
          Effect.map(
            Effect.promise(() => dialects[dialectOf(config)]()),
            (make) => {
              const build = (one: ProviderConfig, name: string): Provider => {
                for (const offer of one.models) {
                  const timeouts = limitsOf({ provider: one, offer })
                  if (offer.timeouts !== undefined)
                    own.set(`${name}|${offer.id}`, make({ ...one, timeouts }, transport))
                }
                return make(one, transport)
              }
              for (const [index, apiKey] of (config.apiKeys ?? []).entries()) {
                const name = keyName({ provider: config, key: index + 1 })
                keyed.set(name, build({ ...config, apiKey }, name))
              }
              return build(config, config.slug)
            }
          )
        )
        const shared = bySlug(providers, keyed)
        return {
          all: shared.all,
          get: (candidate) =>
            candidate.offer.timeouts === undefined
              ? shared.get(candidate)
              : own.get(`${keyName(candidate)}|${candidate.offer.id}`)
        }
      })
    )
}

/**
 * The service over existing providers, in their order. `keyed`: those of single keys, by `keyName`.
 */
export const bySlug = (
  all: ReadonlyArray<Provider>,
  keyed: ReadonlyMap<string, Provider> = new Map()
): Providers["Service"] => {
  const slugs = new Map(all.map((provider) => [provider.config.slug, provider]))
  return {
    get: (candidate) =>
      candidate.key === undefined ? slugs.get(candidate.provider.slug) : keyed.get(keyName(candidate)),
    all
  }
}

type Make = (config: ProviderConfig, transport: Transport["Service"]) => Provider

/** The OpenAI dialect loads the Responses API only for a provider that offers a model by it. */
const dialectOf = ({ dialect, models }: ProviderConfig): DialectName | "responses" =>
  dialect === "openai" && models.some(({ api }) => api === "responses") ? "responses" : dialect

const dialects: Readonly<Record<DialectName | "responses", () => Promise<Make>>> = {
  responses: () => import("./responses/Responses.ts").then(({ makeResponses }) => makeResponses),
  openai: () => import("./openai/OpenAi.ts").then(({ makeOpenAi }) => makeOpenAi),
  anthropic: () => import("./anthropic/Anthropic.ts").then(({ makeAnthropic }) => makeAnthropic),
  gemini: () => import("./gemini/Gemini.ts").then(({ makeGemini }) => makeGemini),
  bedrock: () => import("./bedrock/Bedrock.ts").then(({ makeBedrock }) => makeBedrock),
  mock: () => import("./mock/Mock.ts").then(({ makeMock }) => makeMock)
}
