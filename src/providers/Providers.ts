/**
 * The providers of this deployment, by slug. Each is built by its dialect when the layer is; a dialect that is not
 * implemented stops the start with a message that names the provider.
 */
import { Context, Data, Effect, Layer } from "effect"
import { type DialectName, type ProviderConfig } from "../domain/Catalog.ts"
import { makeAnthropic } from "./dialects/Anthropic.ts"
import { makeGemini } from "./dialects/Gemini.ts"
import { makeOpenAi } from "./dialects/OpenAi.ts"
import { makeMock } from "./Mock.ts"
import { type Provider } from "./Provider.ts"
import { makeScripted, type ScriptedProvider } from "./Scripted.ts"
import { Transport } from "./Transport.ts"

export class DialectMissing extends Data.TaggedError("DialectMissing")<{
  readonly slug: string
  readonly dialect: DialectName
}> {
  override get message(): string {
    return `provider ${this.slug}: the dialect ${this.dialect} is not available; use one of ${Object.keys(dialects).join(", ")}`
  }
}

export class Providers extends Context.Service<
  Providers,
  {
    readonly get: (slug: string) => Provider | undefined
    /** In the order of the settings. */
    readonly all: ReadonlyArray<Provider>
  }
>()("tollgate/providers/Providers") {
  /** One provider a config. Fails with `DialectMissing`. */
  static readonly layer = (configs: ReadonlyArray<ProviderConfig>): Layer.Layer<Providers, DialectMissing, Transport> =>
    Layer.effect(
      Providers,
      Effect.gen(function* () {
        const transport = yield* Transport
        return bySlug(yield* Effect.forEach(configs, (config) => build(config, transport)))
      })
    )

  /** Providers that say what `scripts` tell them to. */
  static readonly layerScripted = (scripts: ReadonlyArray<ScriptedProvider>): Layer.Layer<Providers> =>
    Layer.sync(Providers, () => bySlug(scripts.map(makeScripted)))
}

const bySlug = (all: ReadonlyArray<Provider>): Providers["Service"] => {
  const slugs = new Map(all.map((provider) => [provider.config.slug, provider]))
  return { get: (slug) => slugs.get(slug), all }
}

const dialects: {
  readonly [Name in DialectName]?: (config: ProviderConfig, transport: Transport["Service"]) => Provider
} = {
  openai: makeOpenAi,
  anthropic: makeAnthropic,
  gemini: makeGemini,
  mock: makeMock
}

const build = (config: ProviderConfig, transport: Transport["Service"]): Effect.Effect<Provider, DialectMissing> => {
  const make = dialects[config.dialect]
  return make === undefined
    ? Effect.fail(new DialectMissing({ slug: config.slug, dialect: config.dialect }))
    : Effect.succeed(make(config, transport))
}
