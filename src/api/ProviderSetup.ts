/**
 * Adding, testing and removing providers. Bodies carry a provider's key, which no answer repeats.
 */
import { Effect, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AdminAuthorization } from "./Authorization.ts"
import { errors, Validation } from "./Failure.ts"
import { refusesUnknownQuery } from "./schemas/Strictness.ts"
import { name, text } from "./schemas/Texts.ts"

const described = <S extends Schema.Top>(schema: S, description: string) => schema.annotate({ description })
const byDefaultTrue = (description: string) =>
  described(Schema.Boolean, description)
    .annotate({ default: true })
    .pipe(Schema.withDecodingDefaultKey(Effect.succeed(true)))

const usd = (description: string) =>
  described(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 })), description)

const key = {
  /** Its form is checked by the gateway, so that no fault of validation repeats it. */
  api_key: Schema.optionalKey(
    described(Schema.String, "The provider's key. The gateway keeps it sealed in its database and never shows it.")
  ),
  key_env: Schema.optionalKey(text(200).check(Schema.isPattern(/^[A-Za-z_][A-Za-z0-9_]*$/u)))
}

const choice = {
  preset: Schema.optionalKey(name(64)),
  slug: Schema.optionalKey(name(64)),
  name: Schema.optionalKey(name(200)),
  dialect: Schema.optionalKey(
    described(Schema.Literals(["openai", "anthropic", "gemini"]), "The API of a server that is no preset.")
  ),
  base_url: Schema.optionalKey(name(2_048)),
  ...key
}

const Prices = Schema.Struct({
  prompt: usd("USD per million tokens of the prompt."),
  completion: usd("USD per million tokens of the completion."),
  cached_prompt: Schema.optionalKey(
    Schema.NullOr(usd("USD per million tokens of the prompt that the provider had in its cache."))
  )
})

export const TestProviderRequest = Schema.Struct(choice).annotate({ identifier: "TestProviderRequest" })

export const AddProviderRequest = Schema.Struct({
  ...choice,
  models: Schema.optionalKey(
    described(
      Schema.Array(
        Schema.Struct({
          upstream: name(200),
          id: Schema.optionalKey(text(200).check(Schema.isPattern(/^[A-Za-z0-9][\w.-]*\/[\w.:@+-]+$/u))),
          pricing: Schema.optionalKey(described(Prices, "Default: as the provider lists it."))
        })
      ).check(Schema.isMinLength(1), Schema.isMaxLength(500)),
      "The models of a server that is no preset. Default: all that it lists with prices."
    )
  ),
  test: byDefaultTrue("Whether the provider is asked for its models first, which is free. A failure adds nothing."),
  write: byDefaultTrue(
    "False: the key is sealed, and the answer has the text for the settings file, which is not written."
  )
}).annotate({ identifier: "AddProviderRequest" })

export const ReplaceProviderKeyRequest = Schema.Struct({
  ...key,
  test: byDefaultTrue("Whether the provider is asked with the new key first, which is free. A failure changes nothing.")
}).annotate({ identifier: "ReplaceProviderKeyRequest" })

export const ProviderPreset = Schema.Struct({
  slug: described(Schema.String, "The preset's name."),
  name: described(Schema.String, "The vendor."),
  dialect: described(Schema.String, "The API that it is called by."),
  base_url: described(Schema.NullOr(Schema.String), "Its address. Null: the operator names it."),
  takes_key: described(Schema.Boolean, "False: a server of the operator, which may do without a key."),
  variable: described(Schema.String, "The variable that switches it on too."),
  models: described(Schema.Int, "Number of its models with prices."),
  in_use: described(Schema.Boolean, "Whether the gateway has this provider already.")
}).annotate({ identifier: "ProviderPreset" })
export type ProviderPreset = typeof ProviderPreset.Type

const FoundModel = Schema.Struct({
  id: described(Schema.String, "The clients' name of the model."),
  upstream: described(Schema.String, "The provider's name of it."),
  context_length: described(Schema.NullOr(Schema.Int), "The longest prompt and completion together, in tokens."),
  embeddings: described(Schema.Boolean, "Whether it makes embeddings."),
  pricing: described(
    Schema.NullOr(
      Schema.Struct({
        prompt: described(Schema.Finite, "USD per million tokens of the prompt."),
        completion: described(Schema.Finite, "USD per million tokens of the completion."),
        cached_prompt: described(Schema.NullOr(Schema.Finite), "USD per million cached tokens of the prompt.")
      })
    ),
    "Prices in USD per million tokens. Null: unknown, so that the model needs them when it is added."
  ),
  listed: described(
    Schema.NullOr(Schema.Boolean),
    "Whether the provider lists the model for this key. Null: it has no list."
  )
})

export const ProviderTestReport = Schema.Struct({
  object: Schema.Literal("provider_test"),
  slug: described(Schema.String, "The slug that the provider would have."),
  host: described(Schema.String, "The host that was called."),
  ok: described(Schema.Boolean, "Whether it can be added as it is."),
  fault: described(
    Schema.NullOr(
      Schema.Struct({
        reason: described(
          Schema.String,
          "`key_refused`, `address_refused`, `host_unknown`, `unreachable`, `timeout`, `no_model_list`, `rate_limited`, `server_error` or `unreadable`."
        ),
        message: described(Schema.String, "What was wrong, and what to do.")
      })
    ),
    "Null: nothing was wrong."
  ),
  key_checked: described(Schema.Boolean, "Whether the provider accepted the key. False: it did not have to."),
  latency_ms: described(Schema.NullOr(Schema.Int), "Time of the call. Null: it failed."),
  models: described(Schema.Array(FoundModel), "The models: a preset's, otherwise those that the provider lists.")
}).annotate({ identifier: "ProviderTestReport" })
export type ProviderTestReport = typeof ProviderTestReport.Type

export const ProviderChangeReport = Schema.Struct({
  object: Schema.Literal("provider_change"),
  slug: described(Schema.String, "The provider."),
  written: described(Schema.Boolean, "False: the text is to be put into the file by hand."),
  file: described(Schema.String, "The settings file."),
  backup: described(
    Schema.NullOr(Schema.String),
    "A copy of the file as it was. Null: there was none, or it is as it was."
  ),
  text: described(Schema.String, "What the settings file says of the provider. Empty for one that was removed."),
  models: described(Schema.Int, "Number of its models.")
}).annotate({ identifier: "ProviderChangeReport" })
export type ProviderChangeReport = typeof ProviderChangeReport.Type

const slug = { slug: described(Schema.String, "The provider's slug.") }

export class AdminProviderSetupGroup extends HttpApiGroup.make("adminProviderSetup")
  .add(
    HttpApiEndpoint.get("presets", "/v1/admin/presets", {
      success: Schema.Struct({
        object: described(Schema.Literal("list"), "Always `list`."),
        data: described(Schema.Array(ProviderPreset), "The presets.")
      }),
      error: errors(500)
    }).annotateMerge(OpenApi.annotations({ summary: "The vendors that the gateway knows" })),
    HttpApiEndpoint.post("test", "/v1/admin/providers/test", {
      payload: TestProviderRequest,
      success: ProviderTestReport,
      error: errors(500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Test a provider and its key with one free call" })),
    HttpApiEndpoint.post("add", "/v1/admin/providers", {
      payload: AddProviderRequest,
      success: ProviderChangeReport,
      error: errors(409, 500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Add a provider" })),
    HttpApiEndpoint.put("replaceKey", "/v1/admin/providers/:slug/key", {
      params: slug,
      payload: ReplaceProviderKeyRequest,
      success: ProviderChangeReport,
      error: errors(404, 409, 500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Give a provider another key" })),
    HttpApiEndpoint.delete("remove", "/v1/admin/providers/:slug", {
      params: slug,
      success: ProviderChangeReport,
      error: errors(404, 409, 500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Remove a provider" }))
  )
  .middleware(Validation)
  .middleware(AdminAuthorization)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Administration: adding providers" })) {}
