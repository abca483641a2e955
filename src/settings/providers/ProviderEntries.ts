/**
 * Decodes the `providers` section of the settings file. Defaults are conservative: an unknown data
 * policy counts as training and retaining. Credentials are allowed only in `api_key` and
 * `api_keys`. Headers and query reject them, because these are printed with the provider.
 */
import { Predicate, Redacted, Result, Schema } from "effect"
import {
  type DataPolicy,
  defaultTimeouts,
  type DialectName,
  type ModelOffer,
  type ProviderConfig,
  unknownPolicy
} from "../../domain/Catalog.ts"
import { decodeAt, type Faults, member, type Place, renderPath } from "../Faults.ts"
import {
  boolean,
  choice,
  httpUrl,
  integer,
  orNull,
  privateTexts,
  secret,
  text,
  withoutTrailingSlash
} from "../Forms.ts"
import { keyFaults, keysOf } from "./KeyLists.ts"
import { collect, duplicates, entriesOf } from "../Lists.ts"
import { apiOf, servesResponses } from "../../providers/presets/Api.ts"
import { api, decodeModel } from "./ModelEntry.ts"
import { ParametersEntry, parametersOf } from "./ParametersEntry.ts"
import { TimeoutsEntry, timeoutsOf } from "./TimeoutsEntry.ts"

const dialects = ["openai", "anthropic", "gemini", "bedrock", "mock"] as const satisfies ReadonlyArray<DialectName>

const slug = text("lower-case letters, digits, dots, dashes and underscores, such as alpha", (value) =>
  /^[a-z0-9][a-z0-9._-]*$/.test(value)
)

const headerToken = /^[\w!#$%&'*+.^`|~-]+$/

/** A key of a list, which cannot be empty. */
const isOneLine = (key: string): boolean => key.trim() !== "" && !/[\r\n]/.test(key)

export const DataPolicyEntry = Schema.Struct({
  training: Schema.optionalKey(boolean()),
  retains_prompts: Schema.optionalKey(boolean()),
  retention_days: Schema.optionalKey(
    orNull(integer("a whole number of days from 0 to 36500", 0, 36_500), "a whole number of days from 0 to 36500")
  ),
  zdr: Schema.optionalKey(boolean())
})

/** Whether requests may refer to objects in our account at the provider. */
export const accountObjects = () => choice(["allow", "deny"] as const)

/** The entry's policy, with `base` for the rest. */
export const dataPolicyOf = (entry: typeof DataPolicyEntry.Type, base: DataPolicy): DataPolicy => ({
  training: entry.training ?? base.training,
  retainsPrompts: entry.retains_prompts ?? base.retainsPrompts,
  retentionDays: entry.retention_days === undefined ? base.retentionDays : entry.retention_days,
  zdr: entry.zdr ?? base.zdr
})

const ProviderEntry = Schema.Struct({
  slug,
  name: Schema.optionalKey(text("a name for people")),
  dialect: choice(dialects),
  /** Default: by the model's name at OpenAI's and Azure's servers, else `chat`. */
  api: Schema.optionalKey(api()),
  base_url: Schema.optionalKey(httpUrl("https://api.example.com/v1")),
  /** Empty: the provider needs no key. */
  api_key: Schema.optionalKey(
    secret("the provider's key on one line, such as ${ALPHA_KEY}", (key) => !/[\r\n]/.test(key))
  ),
  api_keys: Schema.optionalKey(
    Schema.Array(secret("one of the provider's keys on one line, such as ${ALPHA_KEY_2}", isOneLine))
  ),
  auth_header: Schema.optionalKey(text("a header's name, such as api-key", (value) => headerToken.test(value))),
  headers: Schema.optionalKey(privateTexts("text on one line", (value) => !/[\r\n\0]/.test(value))),
  query: Schema.optionalKey(privateTexts("text", () => true)),
  http2: Schema.optionalKey(boolean()),
  parameters: Schema.optionalKey(ParametersEntry),
  account_objects: Schema.optionalKey(accountObjects()),
  data_policy: Schema.optionalKey(DataPolicyEntry),
  timeouts: Schema.optionalKey(TimeoutsEntry),
  /** Decoded one by one, so that the faults of every model are reported. */
  models: Schema.Array(Schema.Unknown)
})

/** Decodes the list at `place`. Fails with the faults of every provider and every model. */
export const decodeProviders = (place: Place): Result.Result<ReadonlyArray<ProviderConfig>, Faults> =>
  Result.flatMap(decodeAt(Schema.Array(Schema.Unknown), place), () =>
    collect(entriesOf(place).map(decodeProvider), duplicates(place, "slug", "a slug that no other provider has"))
  )

const decodeProvider = (place: Place): Result.Result<ProviderConfig, Faults> => {
  const entry = decodeAt(ProviderEntry, place)
  const list = member(place, "models")
  const models = collect(
    entriesOf(list).map(decodeModel),
    duplicates(list, "id", "an id that no other model of this provider has")
  )
  const faults = [
    ...(Result.isFailure(entry) ? entry.failure : entryFaults(entry.success, place)),
    ...(Result.isFailure(models) ? models.failure : [])
  ]
  return faults.length > 0 || Result.isFailure(entry) || Result.isFailure(models)
    ? Result.fail(faults)
    : Result.succeed(providerOf(entry.success, models.success))
}

const providerOf = (entry: typeof ProviderEntry.Type, models: ReadonlyArray<ModelOffer>): ProviderConfig => {
  const single = entry.api_key === undefined || Redacted.value(entry.api_key) === "" ? null : entry.api_key
  const keys = keysOf(entry.api_keys ?? [])
  const apiKey = keys.apiKey ?? single
  return {
    slug: entry.slug,
    name: entry.name ?? entry.slug,
    dialect: entry.dialect,
    baseUrl: withoutTrailingSlash(entry.base_url ?? ""),
    ...keys,
    apiKey,
    auth:
      apiKey === null
        ? { type: "none" }
        : entry.auth_header === undefined
          ? { type: "bearer" }
          : { type: "header", name: entry.auth_header },
    headers: entry.headers ?? {},
    query: entry.query ?? {},
    ...(entry.http2 === true ? { http2: true } : {}),
    ...parametersOf(entry.parameters),
    ...(entry.account_objects === "allow" ? { accountObjects: true } : {}),
    dataPolicy: dataPolicyOf(entry.data_policy ?? {}, unknownPolicy),
    timeouts: { ...defaultTimeouts, ...timeoutsOf(entry.timeouts ?? {}) },
    models: models.map((offer) => withApi(offer, entry))
  }
}

const withApi = (offer: ModelOffer, entry: typeof ProviderEntry.Type): ModelOffer => {
  const chosen = entry.api ?? (servesResponses(entry.base_url ?? "") ? apiOf(offer.upstream) : "chat")
  return offer.api !== undefined || entry.dialect !== "openai" || chosen === "chat" ? offer : { ...offer, api: chosen }
}

/**
 * Faults that involve several members: a missing address, a list without models, credentials in
 * members that are printed.
 */
const entryFaults = (entry: typeof ProviderEntry.Type, place: Place): Faults => {
  const at = (...path: ReadonlyArray<string>) => renderPath([...place.path, ...path])
  const credentials = [
    ...Object.keys(entry.headers ?? {})
      .filter((name) => /^(authorization|proxy-authorization|cookie|(x-)?(goog-)?api-key)$/i.test(name))
      .map((name) => at("headers", name)),
    ...Object.keys(entry.query ?? {})
      .filter((name) => /^(key|api[-_]?key|access_token)$/i.test(name))
      .map((name) => at("query", name))
  ]
  const isPlain = entry.http2 === true && entry.base_url?.startsWith("https:") !== true
  const nameless = Object.keys(entry.headers ?? {}).filter((name) => !headerToken.test(name))
  return [
    ...(entry.base_url === undefined && entry.dialect !== "mock"
      ? [
          {
            setting: at("base_url"),
            problem: "is missing",
            expected: "the provider's address, such as https://api.example.com/v1"
          }
        ]
      : []),
    ...(entry.models.length === 0
      ? [{ setting: at("models"), problem: "is empty", expected: "a list of at least one model" }]
      : []),
    ...(entry.api_key !== undefined && entry.api_keys !== undefined
      ? [{ setting: at("api_keys"), problem: "is set together with api_key", expected: "all keys in api_keys" }]
      : []),
    ...(entry.api_keys === undefined
      ? []
      : keyFaults(at("api_keys"), entry.api_keys, (index) => `${at("api_keys")}[${index}]`)),
    ...(entry.auth_header !== undefined && entry.api_key === undefined && entry.api_keys === undefined
      ? [{ setting: at("api_key"), problem: "is missing though auth_header is set", expected: "the provider's key" }]
      : []),
    ...(isPlain
      ? [{ setting: at("http2"), problem: "needs TLS", expected: "false, or a base_url that starts with https://" }]
      : []),
    ...(entry.dialect === "openai" ? [] : misplaced(place)),
    ...credentials.map((setting) => ({
      setting,
      problem: "would print a credential",
      expected: "the key in api_key, and its header's name in auth_header"
    })),
    ...nameless.map((name) => ({
      setting: at("headers", name),
      problem: "is not a header's name",
      expected: "letters, digits and dashes, such as anthropic-version"
    }))
  ]
}

/** Other dialects have one API, and know what their vendor takes. */
const misplaced = (place: Place): Faults =>
  [place, ...entriesOf(member(place, "models"))].flatMap(({ path, value }) =>
    ["api", "parameters"]
      .filter((name) => Predicate.hasProperty(value, name))
      .map((name) => ({
        setting: renderPath([...path, name]),
        problem: "belongs to another dialect",
        expected: `no ${name}, or dialect: openai`
      }))
  )
