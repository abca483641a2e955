/**
 * Every setting of the gateway. Only this module reads the environment and the settings file. Wrong
 * or unknown settings stop the start with one message that lists all faults. Secrets are `Redacted`
 * and never printed.
 */
import { Context, Effect, Layer, type Redacted, Result } from "effect"
import { type ProviderConfig, type SortAxis } from "./domain/Catalog.ts"
import { defaultBudgets, defaultTiers, type RateLimits, type Tier } from "./domain/Key.ts"
import { type NanoUsd } from "./domain/pricing/Money.ts"
import { type PrivacyRules } from "./domain/Privacy.ts"
import { mockProvider } from "./providers/presets/Mock.ts"
import { type AliasSettings, unservedAliases } from "./settings/providers/AliasesSection.ts"
import { type ConfigFile, mergeBudgets, mergeTiers } from "./settings/ConfigFile.ts"
import { defaultDataDir } from "./settings/DataDir.ts"
import { decodeEnvironment, type Environment, presentVariables, unknownVariables } from "./settings/Environment.ts"
import { type Faults } from "./settings/Faults.ts"
import { type GenerationsSettings, keptForEver } from "./settings/sections/GenerationsSection.ts"
import { changed, presetProviders, unknownModels } from "./settings/providers/PresetsSection.ts"
import { type PricesSettings, withPrices } from "./settings/sections/PricesSection.ts"
import { noPrivacy, unusablePatterns } from "./settings/sections/PrivacySection.ts"
import { originOf, type SettingsOrigin } from "./settings/Origin.ts"
import { readConfig } from "./settings/ReadConfig.ts"
import { SettingsError } from "./settings/SettingsError.ts"
import { readFile, type SettingsSource } from "./settings/SettingsSource.ts"
import { defaultServer, type ServerSettings } from "./settings/sections/ServerSection.ts"
import { inProduction, noSignIn, type SignInSettings } from "./settings/sections/SignIn.ts"
import { unsafe } from "./settings/Unsafe.ts"
import { unservedFallbacks } from "./settings/providers/UnservedFallbacks.ts"
import { decodeTelemetry, noTelemetry, type TelemetrySettings } from "./settings/sections/Telemetry.ts"
import { vendorProviders } from "./settings/providers/VendorKeys.ts"
import { withMock } from "./settings/providers/WithMock.ts"
import { type WebhookSettings } from "./settings/sections/Webhooks.ts"

export interface SettingsShape {
  /** `TOLLGATE_HOST`: the listening address. */
  readonly host: string
  /** `TOLLGATE_PORT`; 0: the system chooses. */
  readonly port: number
  /** `TOLLGATE_ADMIN_PORT`: serves metrics without a key. `null`: off. */
  readonly adminPort: number | null
  /** `TOLLGATE_ADMIN_KEY`. `null`: generated at the first start and kept in the data directory. */
  readonly adminKey: Redacted.Redacted | null
  /** `TOLLGATE_DATA_DIR`: the embedded database and generated secrets. */
  readonly dataDir: string
  /** `DATABASE_URL`. `null`: the embedded database in `dataDir`. */
  readonly databaseUrl: Redacted.Redacted | null
  /** `TOLLGATE_DATABASE_POOL`: connections to `databaseUrl`, per process. */
  readonly databasePool: number
  /** `REDIS_URL`. `null`: limits and cache are in memory. */
  readonly redisUrl: Redacted.Redacted | null
  /** `TOLLGATE_WORKERS`: processes. More than one needs `databaseUrl` and `redisUrl`. */
  readonly workers: number
  /** `TOLLGATE_ENV`: production rejects development settings, such as showing codes. */
  readonly environment: "development" | "production"
  /** `TOLLGATE_LOG_LEVEL` */
  readonly logLevel: "trace" | "debug" | "info" | "warn" | "error" | "none"
  /** `TOLLGATE_LOG_FORMAT`: by default pretty on a terminal, otherwise JSON. */
  readonly logFormat: "pretty" | "json"
  /** `TOLLGATE_MAX_BODY_BYTES`: size limit of request bodies. */
  readonly maxBodyBytes: number
  /** `TOLLGATE_BODY_TIMEOUT_MS`: time limit for receiving a body. */
  readonly bodyTimeoutMs: number
  /** `TOLLGATE_DRAIN_TIMEOUT_MS`: how long a drain waits for running requests. */
  readonly drainTimeoutMs: number
  /** `TOLLGATE_SHUTDOWN_GRACE_MS`: how long requests are accepted after the stop signal. */
  readonly shutdownGraceMs: number
  /**
   * The file's `providers`, and presets of vendors whose key is in the environment. In development
   * also the mock provider. Never empty.
   */
  readonly providers: ReadonlyArray<ProviderConfig>
  /** `routing` in the file. */
  readonly routing: {
    readonly defaultSort: SortAxis
    /** Further attempts at the same provider. */
    readonly retries: number
    /** `null`: no hedging. */
    readonly hedgeAfterMs: number | null
    /** True if an interrupted stream continues at another provider. */
    readonly continueStreams: boolean
    /** `aliases` in the file: the operator's names for models. */
    readonly aliases?: AliasSettings
    /** Models tried in order when the requested model has no provider left. */
    readonly modelsFallback: ReadonlyArray<string>
  }
  /** `tiers` in the file, with defaults for the rest. */
  readonly tiers: Readonly<Record<Tier, RateLimits>>
  /** Monthly budget of a key that an admin issues without one. */
  readonly tierBudgets: Readonly<Record<Tier, NanoUsd | null>>
  /** `cache` in the file. */
  readonly cache: {
    readonly enabled: boolean
    /** Requests that use the cache: `deterministic` means a temperature of 0 or a seed. */
    readonly when: "deterministic" | "always" | "never"
    readonly ttlSeconds: number
    readonly scope: "key" | "owner"
    readonly maxEntries: number
  }
  /** `idempotency` in the file. */
  readonly idempotency: {
    readonly enabled: boolean
    /** How long a reply is stored for repeated requests. */
    readonly ttlSeconds: number
  }
  /**
   * `responses` in the file, or `TOLLGATE_RESPONSES_RETENTION_DAYS`: how long responses are kept
   * for clients that continue them. `null`: they are not kept.
   */
  readonly responses: { readonly retentionDays: number | null }
  /** `audit` in the file: how long the rows of the audit trail are kept. */
  readonly audit: { readonly retentionDays: number }
  /** `generations` in the file. */
  readonly generations: GenerationsSettings
  /** `markup` in the file. A fraction: 0.05 adds five per cent. */
  readonly markup: number
  /** `ledger` in the file. `leaseMs`: how long reservations last without a heartbeat. */
  readonly ledger: { readonly leaseMs: number }
  /** `privacy` in the file. */
  readonly privacy: PrivacyRules
  /** `prices` in the file; absent: no signed list. */
  readonly prices?: PricesSettings
  /** `webhooks` in the file. */
  readonly webhooks: ReadonlyArray<WebhookSettings>
  /** `OTEL_*`: export of traces and metrics. */
  readonly telemetry: TelemetrySettings
  /** `auth` in the file. */
  readonly auth: SignInSettings
  /** `server` in the file. */
  readonly server: ServerSettings
  /** What was set, and where; absent: nothing, or unknown. */
  readonly origin?: SettingsOrigin
}

/** The settings if nothing is configured. */
export const defaultSettings: SettingsShape = {
  host: "127.0.0.1",
  port: 8787,
  adminPort: null,
  adminKey: null,
  dataDir: defaultDataDir,
  databaseUrl: null,
  databasePool: 10,
  redisUrl: null,
  workers: 1,
  environment: "development",
  logLevel: "info",
  logFormat: "json",
  maxBodyBytes: 33_554_432,
  bodyTimeoutMs: 30_000,
  drainTimeoutMs: 30_000,
  shutdownGraceMs: 5_000,
  providers: [mockProvider],
  routing: { defaultSort: "price", retries: 1, hedgeAfterMs: null, continueStreams: true, modelsFallback: [] },
  tiers: defaultTiers,
  tierBudgets: defaultBudgets,
  cache: { enabled: true, when: "deterministic", ttlSeconds: 300, scope: "key", maxEntries: 10_000 },
  idempotency: { enabled: true, ttlSeconds: 86_400 },
  responses: { retentionDays: null },
  audit: { retentionDays: 365 },
  generations: keptForEver,
  markup: 0,
  ledger: { leaseMs: 150_000 },
  privacy: noPrivacy,
  webhooks: [],
  telemetry: noTelemetry,
  auth: noSignIn,
  server: defaultServer
}

export class Settings extends Context.Service<Settings, SettingsShape>()("tollgate/Settings") {
  /** Loads settings from a source, and reads nothing else. Fails with all faults. */
  static readonly load = Effect.fn("Settings.load")(function* (
    source: SettingsSource
  ): Effect.fn.Return<SettingsShape, SettingsError> {
    const env = presentVariables(source.env)
    const config = yield* readConfig(source)
    const parts = {
      environment: decodeEnvironment(env),
      telemetry: decodeTelemetry(env),
      known: failing(unknownVariables(env, config.referred)),
      vendors: vendorProviders(env, config.slugs),
      file: config.decoded
    }
    const decoded = Result.all(parts)
    if (Result.isFailure(decoded)) {
      const all: ReadonlyArray<Result.Result<unknown, Faults>> = Object.values(parts)
      return yield* new SettingsError({ faults: all.flatMap((part) => (Result.isFailure(part) ? part.failure : [])) })
    }
    const { environment, telemetry, vendors, file } = decoded.success
    const keyed = presetProviders(file.presets, new Set(file.providers.map(({ slug }) => slug)))
    const listed = [...Result.getOrElse(keyed, () => []), ...vendors]
    const enabled = yield* withPrices(listed, file.prices, source.readFile)
    const composed = compose(environment, telemetry, enabled, file, source.isTerminal)
    const settings: SettingsShape = { ...composed, ...originOf(config, env) }
    const unusable = yield* unusablePatterns(settings.privacy.patterns)
    const unknown = enabled.flatMap((vendor) => unknownModels(vendor, file.presets))
    const refused = [
      ...(Result.isFailure(keyed) ? keyed.failure : []),
      ...unservedFallbacks(settings),
      ...unservedAliases(file.aliases, settings.providers),
      ...unknown,
      ...unusable,
      ...unsafe(settings)
    ]
    return refused.length === 0 ? settings : yield* new SettingsError({ faults: refused })
  })

  /** This process's environment and files. */
  static readonly own = Effect.sync((): SettingsSource => ({
    env: process.env,
    readFile,
    isTerminal: process.stdout.isTTY
  }))

  /** This process's settings, read on each run: for start, reload and check. */
  static readonly reload: Effect.Effect<SettingsShape, SettingsError> = Effect.flatMap(Settings.own, Settings.load)

  /** This process's settings if the settings file had this text. `file`: its path. */
  static readonly loadText = (file: string, text: string): Effect.Effect<SettingsShape, SettingsError> =>
    Effect.flatMap(Settings.own, (own) =>
      Settings.load({ ...own, readFile: (path) => (path === file ? Effect.succeed(text) : own.readFile(path)) })
    )

  static readonly layer: Layer.Layer<Settings, SettingsError> = Layer.effect(Settings, Settings.reload)

  /** The defaults with the mock provider, and `overrides`. Reads nothing. */
  static readonly layerTest = (overrides: Partial<SettingsShape> = {}): Layer.Layer<Settings> =>
    Layer.succeed(Settings, { ...defaultSettings, ...overrides })
}

const failing = (faults: Faults): Result.Result<void, Faults> =>
  faults.length === 0 ? Result.succeed(undefined) : Result.fail(faults)

const compose = (
  env: Environment,
  telemetry: TelemetrySettings,
  vendors: ReadonlyArray<ProviderConfig>,
  file: ConfigFile,
  isTerminal: boolean
): SettingsShape => {
  const { cache, idempotency, routing } = defaultSettings
  const providers = [...file.providers, ...vendors.map((vendor) => changed(vendor, file.presets))]
  return {
    host: env.TOLLGATE_HOST ?? defaultSettings.host,
    port: env.TOLLGATE_PORT ?? defaultSettings.port,
    adminPort: env.TOLLGATE_ADMIN_PORT ?? defaultSettings.adminPort,
    adminKey: env.TOLLGATE_ADMIN_KEY ?? defaultSettings.adminKey,
    dataDir: env.TOLLGATE_DATA_DIR ?? defaultSettings.dataDir,
    databaseUrl: env.DATABASE_URL ?? defaultSettings.databaseUrl,
    databasePool: env.TOLLGATE_DATABASE_POOL ?? defaultSettings.databasePool,
    redisUrl: env.REDIS_URL ?? defaultSettings.redisUrl,
    workers: env.TOLLGATE_WORKERS ?? defaultSettings.workers,
    environment: env.TOLLGATE_ENV ?? defaultSettings.environment,
    logLevel: env.TOLLGATE_LOG_LEVEL ?? defaultSettings.logLevel,
    logFormat: env.TOLLGATE_LOG_FORMAT ?? (isTerminal ? "pretty" : "json"),
    maxBodyBytes: env.TOLLGATE_MAX_BODY_BYTES ?? defaultSettings.maxBodyBytes,
    bodyTimeoutMs: env.TOLLGATE_BODY_TIMEOUT_MS ?? defaultSettings.bodyTimeoutMs,
    drainTimeoutMs: env.TOLLGATE_DRAIN_TIMEOUT_MS ?? defaultSettings.drainTimeoutMs,
    shutdownGraceMs: env.TOLLGATE_SHUTDOWN_GRACE_MS ?? defaultSettings.shutdownGraceMs,
    providers: env.TOLLGATE_ENV === "production" ? providers : withMock(providers),
    routing: {
      defaultSort: file.routing.default_sort ?? routing.defaultSort,
      retries: file.routing.retries ?? routing.retries,
      hedgeAfterMs: file.routing.hedge_after_ms ?? routing.hedgeAfterMs,
      ...(Object.keys(file.aliases).length === 0 ? {} : { aliases: file.aliases }),
      continueStreams: file.routing.continue_streams ?? routing.continueStreams,
      modelsFallback: file.routing.models_fallback ?? routing.modelsFallback
    },
    tiers: mergeTiers(file.tiers, defaultSettings.tiers),
    tierBudgets: mergeBudgets(file.tiers, defaultSettings.tierBudgets),
    cache: {
      enabled: file.cache.enabled ?? cache.enabled,
      when: file.cache.when ?? cache.when,
      ttlSeconds: file.cache.ttl_seconds ?? cache.ttlSeconds,
      scope: file.cache.scope ?? cache.scope,
      maxEntries: file.cache.max_entries ?? cache.maxEntries
    },
    idempotency: {
      enabled: file.idempotency.enabled ?? idempotency.enabled,
      ttlSeconds: file.idempotency.ttl_seconds ?? idempotency.ttlSeconds
    },
    responses: {
      retentionDays: env.TOLLGATE_RESPONSES_RETENTION_DAYS ?? file.responses.retention_days ?? null
    },
    audit: { retentionDays: file.audit.retention_days ?? defaultSettings.audit.retentionDays },
    generations: file.generations,
    markup: file.markup ?? defaultSettings.markup,
    ledger: {
      leaseMs:
        file.ledger.lease_seconds === undefined ? defaultSettings.ledger.leaseMs : file.ledger.lease_seconds * 1000
    },
    privacy: file.privacy,
    ...(file.prices === null ? {} : { prices: file.prices }),
    webhooks: file.webhooks,
    telemetry,
    auth: env.TOLLGATE_ENV === "production" ? inProduction(file.auth ?? noSignIn) : (file.auth ?? noSignIn),
    server: file.cors.length === 0 ? file.server : { ...file.server, corsOrigins: file.cors }
  }
}
