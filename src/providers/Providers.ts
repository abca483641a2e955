/**
 * The providers of this deployment, by slug. The layer builds each with its dialect, and loads a
 * dialect's module only if a provider uses it. A model with time limits of its own has a provider
 * of its own, which shares connections where it may.
 */
import { Context, Effect, Layer } from "effect"
import { type DialectName, limitsOf, type ModelOffer, type ProviderConfig } from "../domain/Catalog.ts"
import { type Provider } from "./Provider.ts"
import { Transport } from "./transport/Transport.ts"

export class Providers extends Context.Service<
  Providers,
  {
    /** The provider that serves the model. */
    readonly get: (slug: string, offer: ModelOffer) => Provider | undefined
    /** In the order of the settings. */
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
        const providers = yield* Effect.forEach(configs, (config) =>
          Effect.map(
            Effect.promise(() => dialects[dialectOf(config)]()),
            (make) => {
              for (const offer of config.models) {
                const timeouts = limitsOf({ provider: config, offer })
                if (offer.timeouts !== undefined)
                  own.set(nameOf(config.slug, offer), make({ ...config, timeouts }, transport))
              }
              return make(config, transport)
            }
          )
        )
        const shared = bySlug(providers)
        return {
          all: shared.all,
          get: (slug, offer) => (offer.timeouts === undefined ? shared.get(slug, offer) : own.get(nameOf(slug, offer)))
        }
      })
    )
}

/** The service over existing providers, in their order. */
export const bySlug = (all: ReadonlyArray<Provider>): Providers["Service"] => {
  const slugs = new Map(all.map((provider) => [provider.config.slug, provider]))
  return { get: (slug) => slugs.get(slug), all }
}

const nameOf = (slug: string, { id }: ModelOffer): string => `${slug}|${id}`

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
