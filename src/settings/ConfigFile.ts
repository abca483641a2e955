/**
 * The settings file, for lists and tables, which environment variables cannot hold. YAML. Each
 * section is optional and decoded separately, so that the faults of all are reported together. An
 * empty section or file counts as absent. Unknown members are faults.
 */
import { Predicate, Result, Schema } from "effect"
import { parse } from "effect/encoding/Yaml"
import { type ProviderConfig, type SortAxis } from "../domain/Catalog.ts"
import { type RateLimits, type Tier } from "../domain/Key.ts"
import { nanoFromUsd, type NanoUsd } from "../domain/pricing/Money.ts"
import { type PrivacyRules } from "../domain/Privacy.ts"
import { type AliasSettings, decodeAliases } from "./providers/AliasesSection.ts"
import { decodeCors } from "./sections/CorsSection.ts"
import { type EnvironmentVariables } from "./Environment.ts"
import { decodeAt, type Faults, member, type Place } from "./Faults.ts"
import { boolean, choice, integer, modelId, number, orNull } from "./Forms.ts"
import { decodeGenerations, type GenerationsSettings, keptForEver } from "./sections/GenerationsSection.ts"
import { entriesOf } from "./Lists.ts"
import { decodePresets, keyedPresets, type PresetChanges } from "./providers/PresetsSection.ts"
import { decodePrices, type PricesSettings } from "./sections/PricesSection.ts"
import { decodePrivacy, noPrivacy } from "./sections/PrivacySection.ts"
import { decodeProviders } from "./providers/ProviderEntries.ts"
import { fillReferences, hideReferences } from "./References.ts"
import { decodeServer, defaultServer, type ServerSettings } from "./sections/ServerSection.ts"
import { decodeSignIn, type SignInSettings } from "./sections/SignIn.ts"
import { decodeWebhooks, type WebhookSettings } from "./sections/Webhooks.ts"

const sections = [
  "providers",
  "presets",
  "aliases",
  "routing",
  "tiers",
  "cache",
  "idempotency",
  "responses",
  "audit",
  "generations",
  "markup",
  "ledger",
  "privacy",
  "webhooks",
  "auth",
  "server",
  "cors",
  "prices"
] as const

const hedge = "milliseconds, from 1 to 600000"
const Routing = Schema.Struct({
  default_sort: Schema.optionalKey(
    choice(["price", "throughput", "latency"] as const satisfies ReadonlyArray<SortAxis>)
  ),
  retries: Schema.optionalKey(integer("a whole number from 0 to 10", 0, 10)),
  hedge_after_ms: Schema.optionalKey(orNull(integer(hedge, 1, 600_000), hedge)),
  continue_streams: Schema.optionalKey(boolean()),
  models_fallback: Schema.optionalKey(Schema.Array(modelId()))
})

const limit = () => Schema.optionalKey(integer("a whole number from 1 to 1000000000", 1, 1_000_000_000))
const budget = "USD a month from 0 to 1000000"
const TierLimits = Schema.Struct({
  requests_per_minute: limit(),
  tokens_per_minute: limit(),
  concurrency: limit(),
  monthly_budget_usd: Schema.optionalKey(orNull(number(budget, 0, 1_000_000), budget))
})
const Tiers = Schema.Struct({
  free: Schema.optionalKey(TierLimits),
  pro: Schema.optionalKey(TierLimits),
  enterprise: Schema.optionalKey(TierLimits)
} satisfies Record<Tier, Schema.Top>)

const CacheSection = Schema.Struct({
  enabled: Schema.optionalKey(boolean()),
  when: Schema.optionalKey(choice(["deterministic", "always", "never"])),
  ttl_seconds: Schema.optionalKey(integer("a whole number of seconds from 1 to 31536000", 1, 31_536_000)),
  scope: Schema.optionalKey(choice(["key", "owner"])),
  max_entries: Schema.optionalKey(integer("a whole number of entries from 1 to 100000000", 1, 100_000_000))
})

const IdempotencySection = Schema.Struct({
  enabled: Schema.optionalKey(boolean()),
  ttl_seconds: Schema.optionalKey(integer("a whole number of seconds from 60 to 2592000", 60, 2_592_000))
})

const retention = "whole days, from 1 to 3650"
const ResponsesSection = Schema.Struct({
  retention_days: Schema.optionalKey(orNull(integer(retention, 1, 3_650), retention))
})

const auditRetention = "whole days, from 1 to 3650"
const AuditSection = Schema.Struct({ retention_days: Schema.optionalKey(integer(auditRetention, 1, 3_650)) })

const Markup = number("a fraction from 0 to 10 (0.05 adds five per cent)", 0, 10)
const Ledger = Schema.Struct({
  lease_seconds: Schema.optionalKey(integer("a whole number of seconds from 10 to 86400", 10, 86_400))
})

/**
 * The decoded file. `providers`, `generations`, `privacy`, `webhooks`, `auth` and `server` have
 * their final shape; the rest has the file's.
 */
export interface ConfigFile {
  readonly providers: ReadonlyArray<ProviderConfig>
  readonly presets: PresetChanges
  readonly aliases: AliasSettings
  readonly routing: typeof Routing.Type
  readonly tiers: typeof Tiers.Type
  readonly cache: typeof CacheSection.Type
  readonly idempotency: typeof IdempotencySection.Type
  readonly responses: typeof ResponsesSection.Type
  readonly audit: typeof AuditSection.Type
  readonly generations: GenerationsSettings
  readonly markup: number | null
  readonly ledger: typeof Ledger.Type
  readonly privacy: PrivacyRules
  readonly webhooks: ReadonlyArray<WebhookSettings>
  readonly auth: SignInSettings | null
  readonly server: ServerSettings
  readonly cors: ReadonlyArray<string>
  readonly prices: PricesSettings | null
}

export interface ReadConfig {
  /** The path of the file, if there is one. */
  readonly file?: string
  /** The members that a valid file sets, such as `routing.retries`. */
  readonly members?: ReadonlyArray<string>
  readonly decoded: Result.Result<ConfigFile, Faults>
  /** Variables that the file refers to. */
  readonly referred: ReadonlySet<string>
  /**
   * Slugs of its providers, and of the presets that it switches on, including those of faulty
   * entries.
   */
  readonly slugs: ReadonlySet<string>
}

/** A file that does not exist. */
export const emptyConfig: ReadConfig = {
  decoded: Result.succeed({
    providers: [],
    presets: {},
    aliases: {},
    routing: {},
    tiers: {},
    cache: {},
    idempotency: {},
    responses: {},
    audit: {},
    generations: keptForEver,
    markup: null,
    ledger: {},
    privacy: noPrivacy,
    webhooks: [],
    auth: null,
    server: defaultServer,
    cors: [],
    prices: null
  }),
  referred: new Set(),
  slugs: new Set()
}

/** Decodes the file's text. `file`: its name in faults. `env` resolves `${NAME}`. */
export const decodeConfig = (file: string, source: string, env: EnvironmentVariables): ReadConfig => {
  const { text, references } = hideReferences(source)
  const parsed = Result.try({ try: () => parse(text), catch: (cause) => cause })
  if (Result.isFailure(parsed)) {
    const problem = `is not valid YAML (${positionOf(parsed.failure)})`
    return failedConfig([{ setting: file, problem, expected: "one YAML mapping" }])
  }
  const { value, faults: unfilled, hidden, names } = fillReferences(parsed.success ?? {}, references, env)
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const expected = `a mapping of ${sections.join(", ")}`
    return failedConfig([...unfilled, { setting: file, problem: "is not a mapping", expected }], names)
  }
  const place = { value: withoutEmptySections(value), path: [], hidden }
  const decoded = decodeSections(place)
  const slugs = new Set([
    ...keyedPresets(member(place, "presets")),
    ...entriesOf(member(place, "providers"))
      .map((entry) => member(entry, "slug").value)
      .filter(Predicate.isString)
  ])
  if (unfilled.length === 0) return { file, members: membersOf(value), decoded, referred: names, slugs }
  // A failed reference is one fault: the fault of the value that it left behind is dropped.
  const atReferences = new Set(unfilled.map(({ setting }) => setting))
  const others = Result.isFailure(decoded) ? decoded.failure.filter(({ setting }) => !atReferences.has(setting)) : []
  return failedConfig([...unfilled, ...others], names, slugs)
}

/** The sections, and the members of those that have members, two levels deep. */
const membersOf = (value: object, path = "", depth = 0): ReadonlyArray<string> =>
  Object.entries(value).flatMap(([name, inner]) => {
    const at = path === "" ? name : `${path}.${name}`
    return Predicate.isObject(inner) && depth < 2 ? membersOf(inner, at, depth + 1) : [at]
  })

/** An invalid file, with the facts that are known anyway. */
export const failedConfig = (
  faults: Faults,
  referred: ReadonlySet<string> = new Set(),
  slugs: ReadonlySet<string> = new Set()
): ReadConfig => ({ decoded: Result.fail(faults), referred, slugs })

const decodeSections = (file: Place): Result.Result<ConfigFile, Faults> => {
  const section = <A>(
    name: (typeof sections)[number],
    decode: (place: Place) => Result.Result<A, Faults>,
    absent: A
  ) => {
    const place = member(file, name)
    return place.value === undefined ? Result.succeed(absent) : decode(place)
  }
  const parts = {
    names: decodeAt(SectionNames, file),
    providers: section("providers", decodeProviders, []),
    presets: section<PresetChanges>("presets", decodePresets, {}),
    aliases: section<AliasSettings>("aliases", decodeAliases, {}),
    routing: section("routing", (place) => decodeAt(Routing, place), {}),
    tiers: section("tiers", (place) => decodeAt(Tiers, place), {}),
    cache: section("cache", (place) => decodeAt(CacheSection, place), {}),
    idempotency: section("idempotency", (place) => decodeAt(IdempotencySection, place), {}),
    responses: section("responses", (place) => decodeAt(ResponsesSection, place), {}),
    audit: section("audit", (place) => decodeAt(AuditSection, place), {}),
    generations: section("generations", decodeGenerations, keptForEver),
    markup: section<number | null>("markup", (place) => decodeAt(Markup, place), null),
    ledger: section("ledger", (place) => decodeAt(Ledger, place), {}),
    privacy: section("privacy", decodePrivacy, noPrivacy),
    webhooks: section<ReadonlyArray<WebhookSettings>>("webhooks", decodeWebhooks, []),
    auth: section<SignInSettings | null>("auth", decodeSignIn, null),
    server: section("server", decodeServer, defaultServer),
    cors: section<ReadonlyArray<string>>("cors", decodeCors, []),
    prices: section<PricesSettings | null>("prices", decodePrices, null)
  }
  const all: ReadonlyArray<Result.Result<unknown, Faults>> = Object.values(parts)
  const faults = all.flatMap((part) => (Result.isFailure(part) ? part.failure : []))
  return faults.length === 0 ? Result.all(parts) : Result.fail(faults)
}

const anything = Schema.optionalKey(Schema.Unknown)
const SectionNames = Schema.Struct({
  providers: anything,
  presets: anything,
  aliases: anything,
  routing: anything,
  tiers: anything,
  cache: anything,
  idempotency: anything,
  responses: anything,
  audit: anything,
  generations: anything,
  markup: anything,
  ledger: anything,
  privacy: anything,
  webhooks: anything,
  auth: anything,
  server: anything,
  cors: anything,
  prices: anything
} satisfies Record<(typeof sections)[number], Schema.Top>)

const withoutEmptySections = (file: object): object =>
  Object.fromEntries(Object.entries(file).filter(([, section]) => section !== null))

/** The parser's message without quoted text, which may be a secret. */
const positionOf = (cause: unknown): string =>
  cause instanceof Error
    ? cause.message.replace(/'.*'/s, "…").replace(/ at flow offset \d+/, " inside { } or [ ]")
    : "unreadable"

/** The limits of every tier: the file's, with `defaults` for the rest. */
export const mergeTiers = (
  tiers: ConfigFile["tiers"],
  defaults: Readonly<Record<Tier, RateLimits>>
): Readonly<Record<Tier, RateLimits>> => {
  const merged = (tier: Tier): RateLimits => ({
    requestsPerMinute: tiers[tier]?.requests_per_minute ?? defaults[tier].requestsPerMinute,
    tokensPerMinute: tiers[tier]?.tokens_per_minute ?? defaults[tier].tokensPerMinute,
    concurrency: tiers[tier]?.concurrency ?? defaults[tier].concurrency
  })
  return { free: merged("free"), pro: merged("pro"), enterprise: merged("enterprise") }
}

/** The budget of every tier: the file's, with `defaults` for the rest. */
export const mergeBudgets = (
  tiers: ConfigFile["tiers"],
  defaults: Readonly<Record<Tier, NanoUsd | null>>
): Readonly<Record<Tier, NanoUsd | null>> => {
  const merged = (tier: Tier): NanoUsd | null => {
    const usd = tiers[tier]?.monthly_budget_usd
    return usd === undefined ? defaults[tier] : usd === null ? null : nanoFromUsd(usd)
  }
  return { free: merged("free"), pro: merged("pro"), enterprise: merged("enterprise") }
}
