/**
 * The providers of this deployment, by slug. Each is built by its dialect when the layer is.
 */
import { Context, Effect, Layer } from "effect"
import { type DialectName, type ProviderConfig } from "../domain/Catalog.ts"
import { makeAnthropic } from "./dialects/Anthropic.ts"
import { makeBedrock } from "./dialects/Bedrock.ts"
import { makeGemini } from "./dialects/Gemini.ts"
import { makeOpenAi } from "./dialects/OpenAi.ts"
import { makeMock } from "./Mock.ts"
import { type Provider } from "./Provider.ts"
import { makeScripted, type ScriptedProvider } from "./Scripted.ts"
import { Transport } from "./Transport.ts"

export class Providers extends Context.Service<
  Providers,
  {
    readonly get: (slug: string) => Provider | undefined
    /** In the order of the settings. */
    readonly all: ReadonlyArray<Provider>
  }
>()("tollgate/providers/Providers") {
  /** One provider a config. */
  static readonly layer = (configs: ReadonlyArray<ProviderConfig>): Layer.Layer<Providers, never, Transport> =>
    Layer.effect(
      Providers,
      Effect.map(Transport, (transport) => bySlug(configs.map((config) => dialects[config.dialect](config, transport))))
    )

  /** Providers that say what `scripts` tell them to. */
  static readonly layerScripted = (scripts: ReadonlyArray<ScriptedProvider>): Layer.Layer<Providers> =>
    Layer.sync(Providers, () => bySlug(scripts.map(makeScripted)))
}

const bySlug = (all: ReadonlyArray<Provider>): Providers["Service"] => {
  const slugs = new Map(all.map((provider) => [provider.config.slug, provider]))
  return { get: (slug) => slugs.get(slug), all }
}

const dialects: Readonly<Record<DialectName, (config: ProviderConfig, transport: Transport["Service"]) => Provider>> = {
  openai: makeOpenAi,
  anthropic: makeAnthropic,
  gemini: makeGemini,
  bedrock: makeBedrock,
  mock: makeMock
}
