/**
 * Adds, changes and removes providers: tests them, writes the settings file, and has it reloaded. A
 * change is checked as a whole before anything is written, so that a file that this writes can
 * always be loaded. A key is sealed before the file names it; a change that fails takes it back.
 */
import { Effect, type Redacted, Result, Semaphore } from "effect"
import { type ProviderConfig } from "../domain/Catalog.ts"
import { type GatewayError, gatewayError, NotFound } from "../domain/Errors.ts"
import { orUnavailable } from "../gateway/StoreUnavailable.ts"
import {
  type FoundModel,
  type KeyChoice,
  type NewProvider,
  type ProviderChange,
  type ProviderSetupShape,
  type ProviderTest
} from "../gateway/admin/ProviderSetup.ts"
import { type SealedKeys } from "../gateway/admin/SealedKeys.ts"
import { SettingsReload } from "../gateway/admin/SettingsReload.ts"
import { AuditLog } from "../gateway/telemetry/Audit.ts"
import { checkAddress, type Listing, type ListingFault, listModels } from "../providers/listing/ModelList.ts"
import { presets } from "../providers/presets/Vendors.ts"
import { presetProvider } from "../providers/presets/presets.ts"
import { Outbound } from "../providers/transport/Outbound.ts"
import { literal } from "../settings/file/Rendered.ts"
import { entryIn, withKey, without, withPreset, withProvider } from "../settings/file/SettingsText.ts"
import { replace, type SettingsUnwritten, textOf } from "../settings/file/SettingsWrite.ts"
import { sealedNames } from "../settings/Sealed.ts"
import { ownSettingsFile } from "../settings/ThisProcess.ts"
import { Settings, type SettingsShape } from "../Settings.ts"
import { type StoreError } from "../store/StoreError.ts"
import { chosenModels, entryOf, foundModels } from "./FoundModels.ts"
import { type Draft, draftOf, keyOf, refused } from "./ProviderDraft.ts"

/** Only one change of the file at a time. */
const turn = Semaphore.makeUnsafe(1)

const unwritten =
  (file: string, text: string) =>
  ({ code, reason }: SettingsUnwritten): GatewayError => {
    const details = { file, text }
    if (reason === "busy") {
      return refused("settings_busy", `Another change of ${file} is being written. Try again.`, null, details)
    }
    if (reason === "changed") {
      const message = `${file} was changed by someone else meanwhile. Nothing was written. Try again.`
      return refused("settings_changed", message, null, details)
    }
    const message = `The gateway cannot write ${file} (${code}). Send write: false: the key is sealed, and the answer has the text to put into the file yourself.`
    return refused("settings_unwritable", message, null, details)
  }

/** The text that an edit of an empty file makes. */
const alone = (edit: (text: string) => Result.Result<string, string>): string => Result.getOrElse(edit(""), () => "")

export const makeProviderSetup = Effect.fnUntraced(function* (
  settings: SettingsShape,
  keys: SealedKeys
): Effect.fn.Return<ProviderSetupShape, never, Outbound> {
  const outbound = yield* Outbound
  const reload = yield* SettingsReload
  const { audited } = yield* AuditLog
  const configOf = (slug: string) => settings.providers.find((provider) => provider.slug === slug)

  const list = (config: ProviderConfig, isListNeeded: boolean): Effect.Effect<Listing, ListingFault> =>
    Effect.provideService(listModels(config, isListNeeded), Outbound, outbound)

  const needsList = ({ preset }: Draft): boolean => preset === null

  const proved = (config: ProviderConfig, isListNeeded: boolean, isTested: boolean) =>
    (isTested
      ? list(config, isListNeeded)
      : Effect.as(
          Effect.catch(checkAddress(config.baseUrl), (fault) =>
            fault.reason === "host_unknown" ? Effect.void : Effect.fail(fault)
          ),
          { models: [], isKeyChecked: false, latencyMs: 0 } as Listing
        )
    ).pipe(
      Effect.mapError(({ message, reason }) =>
        refused("provider_test_failed", message, reason === "key_refused" ? "api_key" : "base_url", { reason })
      )
    )

  /** Checks the settings that `text` makes. */
  const checked = (file: string, text: string) =>
    Settings.loadText(file, text).pipe(
      Effect.mapError(({ faults, message }) => refused("invalid_provider", message, null, { faults }))
    )

  interface Edit {
    readonly slug: string
    /** The text of the file; null: there is none. */
    readonly before: string | null
    /** To be sealed. Null: no key, or one in the environment. */
    readonly key: Redacted.Redacted | null
    readonly edit: (text: string) => Result.Result<string, string>
    readonly isWritten: boolean
    readonly models: number
  }

  /** Writes the file and reloads it. */
  const change = Effect.fnUntraced(function* ({ before, edit, isWritten, key, models, slug }: Edit) {
    const file = yield* ownSettingsFile
    const shown = alone(edit)
    const made = { slug, file, text: shown, models }
    const edited = edit(before ?? "")
    if (isWritten && Result.isFailure(edited)) {
      const message = `${file} was not changed: ${edited.failure}. Send write: false: the key is sealed, and the answer has the text to put into the file yourself.`
      return yield* refused("settings_uneditable", message, null, { file, text: shown })
    }
    const text = Result.getOrElse(edited, () => shown)
    if (isWritten) yield* checked(file, text)
    const old = key === null ? undefined : (yield* keys.open).get(slug)
    if (key !== null) yield* keys.seal(slug, key)
    if (!isWritten) return { ...made, isWritten: false, backup: null } satisfies ProviderChange
    const takeBack =
      key === null ? Effect.void : Effect.ignore(old === undefined ? keys.remove(slug) : keys.seal(slug, old))
    const backup =
      text === before
        ? null
        : yield* replace(file, before, text).pipe(
            Effect.mapError(unwritten(file, shown)),
            Effect.onError(() => takeBack)
          )
    const { faults, isReloaded } = yield* reload
    if (!isReloaded) {
      const message = `${file} was written, but could not be loaded. The log says why.`
      return yield* refused("invalid_provider", message, null, { file, faults })
    }
    return { ...made, isWritten: true, backup } satisfies ProviderChange
  })

  /** One change after the other. */
  const ours = <A>(effect: Effect.Effect<A, StoreError | GatewayError>) => turn.withPermit(orUnavailable(effect))

  return {
    presets: Effect.sync(() =>
      presets.map((preset) => ({
        slug: preset.slug,
        name: preset.name,
        dialect: preset.dialect,
        baseUrl: preset.baseUrl,
        takesKey: preset.envHolds === "api_key",
        variable: preset.env,
        models: presetProvider(preset, { apiKey: null }).models.length,
        isInUse: configOf(preset.slug) !== undefined
      }))
    ),

    test: Effect.fn("ProviderSetup.test")(function* (choice) {
      const draft = yield* draftOf(choice)
      const tested = yield* Effect.result(list(draft.config, needsList(draft)))
      const { host } = new URL(draft.config.baseUrl)
      if (Result.isFailure(tested)) {
        const { message, reason } = tested.failure
        const fault = { reason, message }
        return { slug: draft.slug, host, fault, isKeyChecked: false, latencyMs: null, models: [] } as ProviderTest
      }
      const { isKeyChecked, latencyMs } = tested.success
      const models = foundModels(draft, tested.success)
      return { slug: draft.slug, host, fault: null, isKeyChecked, latencyMs, models } as ProviderTest
    }),

    add: (provider) =>
      audited(
        "provider.add",
        ({ slug }) => slug,
        ours(
          Effect.gen(function* () {
            const draft = yield* draftOf(provider)
            const { preset, slug } = draft
            const file = yield* ownSettingsFile
            const before = yield* Effect.mapError(textOf(file), unwritten(file, ""))
            if (configOf(slug) !== undefined || entryIn(before ?? "", slug) !== null) {
              const message = `There is a provider ${slug} already. Change its key with PUT /v1/admin/providers/${slug}/key, or choose another slug.`
              return yield* refused("provider_exists", message, preset === null ? "slug" : "preset")
            }
            if (preset !== null && provider.models !== null) {
              return yield* refused("invalid_provider", "A preset brings its models.", "models")
            }
            const listing = yield* proved(draft.config, needsList(draft) && provider.models === null, provider.isTested)
            const found = foundModels(draft, listing)
            const edit = yield* editOf(draft, found, provider)
            return yield* change({
              ...edit,
              slug,
              before,
              isWritten: provider.isWritten,
              key: sealable(provider, draft)
            })
          })
        ),
        { storage: provider.keyEnv === null ? (provider.apiKey === null ? "none" : "sealed") : "environment" }
      ),

    replaceKey: (slug, choice, isTested) =>
      audited(
        "provider.change",
        () => slug,
        ours(
          Effect.gen(function* () {
            const { key, text: keyText } = yield* keyOf(choice, slug)
            if (key === null || keyText === null) {
              return yield* refused(
                "invalid_provider",
                "Send the new key as api_key, or its variable as key_env.",
                "api_key"
              )
            }
            const file = yield* ownSettingsFile
            const before = yield* Effect.mapError(textOf(file), unwritten(file, ""))
            const { providers } = yield* checked(file, before ?? "")
            const config = providers.find((provider) => provider.slug === slug)
            const entry = entryIn(before ?? "", slug)
            const preset = presets.find((each) => each.slug === slug && each.envHolds === "api_key")
            if (config === undefined || (entry === null && preset === undefined)) {
              return yield* gatewayError(new NotFound({ what: "provider", id: slug }))
            }
            if (config.apiKeys !== undefined) {
              const message = `${slug} has several keys. Change them in ${file}, or where they are set.`
              return yield* refused("settings_uneditable", message, null, { file })
            }
            yield* proved(withNewKey(config, key), false, isTested)
            const edit = (text: string) =>
              entry?.key === keyText
                ? Result.succeed(text)
                : entry?.section === "providers"
                  ? withKey(text, slug, keyText)
                  : withPreset(text, slug, { api_key: keyText })
            const sealing = choice.keyEnv === null ? key : null
            const models = config.models.length
            return yield* change({ slug, before, edit, isWritten: true, key: sealing, models })
          })
        ),
        { storage: choice.keyEnv === null ? "sealed" : "environment" }
      ),

    remove: (slug) =>
      audited(
        "provider.remove",
        () => slug,
        ours(
          Effect.gen(function* () {
            const file = yield* ownSettingsFile
            const before = yield* Effect.mapError(textOf(file), unwritten(file, ""))
            if (entryIn(before ?? "", slug) === null) {
              if (configOf(slug) === undefined) return yield* gatewayError(new NotFound({ what: "provider", id: slug }))
              const variable = presets.find((preset) => preset.slug === slug)?.env
              const message =
                variable === undefined
                  ? `${slug} is not in the settings file: the gateway has it by default.`
                  : `${slug} is there because ${variable} is set in the gateway's environment. Unset it, and restart the gateway.`
              return yield* refused("provider_of_environment", message, null)
            }
            const edit = (text: string) => without(text, slug)
            const made = yield* change({ slug, before, edit, isWritten: true, key: null, models: 0 })
            const { providers } = yield* checked(file, (yield* Effect.orElseSucceed(textOf(file), () => null)) ?? "")
            if (!sealedNames({ providers }).has(slug)) yield* keys.remove(slug)
            return made
          })
        )
      )
  } satisfies ProviderSetupShape
})

/** The key to be sealed. */
const sealable = ({ keyEnv }: KeyChoice, { config }: Draft): Redacted.Redacted | null =>
  keyEnv === null ? config.apiKey : null

const withNewKey = (config: ProviderConfig, apiKey: Redacted.Redacted): ProviderConfig => ({
  ...config,
  apiKey,
  auth: config.auth.type === "none" ? { type: "bearer" } : config.auth
})

const editOf = (draft: Draft, found: ReadonlyArray<FoundModel>, { baseUrl, models }: NewProvider) =>
  Effect.gen(function* () {
    const { config, keyText, preset, slug } = draft
    if (preset === null) {
      const chosen = yield* Effect.fromResult(chosenModels(draft, found, models))
      const entry = entryOf(draft, chosen)
      return { edit: (text: string) => withProvider(text, entry), models: chosen.length }
    }
    const members = { api_key: keyText ?? "", ...(baseUrl === null ? {} : { base_url: literal(config.baseUrl) }) }
    return { edit: (text: string) => withPreset(text, slug, members), models: config.models.length }
  })
