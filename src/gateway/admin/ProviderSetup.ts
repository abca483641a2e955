/**
 * Adds, tests and removes providers while the gateway runs. It writes the settings file and has it
 * reloaded; keys go into the database, sealed, or stay in the environment.
 */
import { Context, Effect, type Redacted } from "effect"
import { type DialectName } from "../../domain/Catalog.ts"
import { type GatewayError, gatewayError, ProviderSetupRefused } from "../../domain/Errors.ts"

/** Where the key is: given, in a variable of the gateway's environment, or there is none. */
export interface KeyChoice {
  readonly apiKey: Redacted.Redacted | null
  readonly keyEnv: string | null
}

/** A preset, or a server of one of the dialects. */
export interface ProviderChoice extends KeyChoice {
  readonly preset: string | null
  readonly slug: string | null
  readonly name: string | null
  readonly dialect: Exclude<DialectName, "bedrock" | "mock"> | null
  readonly baseUrl: string | null
}

/** USD per million tokens. */
export interface ListPrices {
  readonly prompt: number
  readonly completion: number
  readonly cachedPrompt: number | null
}

export interface FoundModel {
  readonly id: string
  /** The provider's name of it. */
  readonly upstream: string
  readonly contextLength: number | null
  readonly maxCompletionTokens: number | null
  readonly embeddings: boolean
  /** Null: unknown. */
  readonly pricing: ListPrices | null
  /** Whether the provider lists it for this key. Null: it has no list. */
  readonly isListed: boolean | null
}

export interface AddedModel {
  readonly upstream: string
  readonly id: string | null
  /** Null: as the provider lists it. */
  readonly pricing: ListPrices | null
}

export interface ProviderTest {
  readonly slug: string
  readonly host: string
  readonly fault: { readonly reason: string; readonly message: string } | null
  readonly isKeyChecked: boolean
  readonly latencyMs: number | null
  readonly models: ReadonlyArray<FoundModel>
}

export interface NewProvider extends ProviderChoice {
  /** Null: all models whose prices are known. */
  readonly models: ReadonlyArray<AddedModel> | null
  readonly isTested: boolean
  /** False: the text is returned, for an operator who puts it into the file. */
  readonly isWritten: boolean
}

export interface ProviderChange {
  readonly slug: string
  readonly file: string
  readonly isWritten: boolean
  /** The copy of the file as it was. Null: there was none, or the file is as it was. */
  readonly backup: string | null
  /** What the settings file says of the provider. */
  readonly text: string
  readonly models: number
}

export interface OfferedPreset {
  readonly slug: string
  readonly name: string
  readonly dialect: DialectName
  /** Null: the operator names it. */
  readonly baseUrl: string | null
  readonly takesKey: boolean
  readonly variable: string
  /** Number of models with prices. */
  readonly models: number
  readonly isInUse: boolean
}

export interface ProviderSetupShape {
  readonly presets: Effect.Effect<ReadonlyArray<OfferedPreset>>
  /** One call, which is free. It changes nothing. */
  readonly test: (choice: ProviderChoice) => Effect.Effect<ProviderTest, GatewayError>
  readonly add: (provider: NewProvider) => Effect.Effect<ProviderChange, GatewayError>
  readonly replaceKey: (
    slug: string,
    choice: KeyChoice,
    isTested: boolean
  ) => Effect.Effect<ProviderChange, GatewayError>
  readonly remove: (slug: string) => Effect.Effect<ProviderChange, GatewayError>
}

const unavailable = Effect.fail(
  gatewayError(
    new ProviderSetupRefused({
      fault: "settings_unwritable",
      message: "This process has no settings file.",
      param: null,
      details: {}
    })
  )
)

/** By default there is no settings file to write. */
export const ProviderSetup = Context.Reference<ProviderSetupShape>("tollgate/gateway/admin/ProviderSetup", {
  defaultValue: () => ({
    presets: Effect.succeed([]),
    test: () => unavailable,
    add: () => unavailable,
    replaceKey: () => unavailable,
    remove: () => unavailable
  })
})
