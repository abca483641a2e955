/**
 * Every setting of the gateway (contract §13), and the only place that reads the environment or the settings file. Everything is
 * decoded when the process starts; a wrong or unknown setting stops the start with a message that names it, what is wrong with
 * its value and the accepted form. Secrets are `Redacted` and never print.
 */
import { Context, type Redacted } from "effect"
import { type ProviderConfig, type SortAxis } from "./domain/Catalog.ts"
import { type RateLimits, type Tier } from "./domain/Key.ts"

export interface SettingsShape {
  readonly host: string
  readonly port: number
  /** `null`: made at first start and kept in the data directory. */
  readonly adminKey: Redacted.Redacted | null
  readonly dataDir: string
  /** `null`: the embedded database in `dataDir`. */
  readonly databaseUrl: Redacted.Redacted | null
  /** `null`: limits and cache in memory. */
  readonly redisUrl: Redacted.Redacted | null
  readonly workers: number
  readonly logLevel: "trace" | "debug" | "info" | "warn" | "error" | "none"
  readonly logFormat: "pretty" | "json"
  readonly maxBodyBytes: number
  /** How long a client may take to send its body. */
  readonly bodyTimeoutMs: number
  /** How long a drain waits for running requests. */
  readonly drainTimeoutMs: number
  readonly providers: ReadonlyArray<ProviderConfig>
  readonly routing: {
    readonly defaultSort: SortAxis
    /** Further tries at the same provider. */
    readonly retries: number
    readonly hedgeAfterMs: number | null
    readonly continueStreams: boolean
    readonly modelsFallback: ReadonlyArray<string>
  }
  readonly tiers: Readonly<Record<Tier, RateLimits>>
  readonly cache: {
    readonly enabled: boolean
    readonly ttlSeconds: number
    readonly scope: "key" | "owner"
    readonly maxEntries: number
  }
  /** A fraction: 0.05 adds five per cent. */
  readonly markup: number
  readonly privacy: { readonly mode: "off" | "mask" | "block" }
}

export class Settings extends Context.Service<Settings, SettingsShape>()("tollgate/Settings") {}
