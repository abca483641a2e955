/**
 * The rooms of the house as data: which files make up each room of `src`, which rooms it may import, and which packages it must
 * not know. scripts/check-imports.ts enforces it. A file that is in no room is reported, so a new room is a decision made here.
 */

export interface Room {
  readonly name: string
  /** Paths below `src/` that belong to it. */
  readonly files: RegExp
  /** Which paths below `src/` it may import, beside its own. */
  readonly mayImport: RegExp
  /** Which paths below `src/` it may import types of: they are gone at run time. */
  readonly mayImportTypes?: RegExp
  /** Packages and built-ins it may import; undefined: all but `notPackages`. */
  readonly packages?: RegExp
  readonly notPackages?: RegExp
  /** Why, in one line: it is shown with every breach. */
  readonly because: string
}

const sql = String.raw`effect/sql|@effect/sql-pg|@electric-sql/pglite`
const http = String.raw`effect/http|effect/http-api|@effect/platform-node|undici|node:http|node:https|node:http2`
const package_ = (names: string) => new RegExp(`^(?:${names})(?:/|$)`)
const effectCore = String.raw`effect(?:/[A-Z]\w*)?$`

/** What the gateway and the ports speak of: service classes and their errors, never an implementation. */
const providerPorts = String.raw`providers/(?:Provider|Providers)\.ts`
const storePorts = String.raw`store/(?:cache/CacheStore|idempotency/IdempotencyStore|keys/KeyRepo|ledger/(?:GenerationStore|Ledger|LedgerReports)|limits/Limits|notices/Notices|people/(?:Users|Sessions|Challenges)|providerState/(?:LockoutStore|StatsStore)|secrets/SecretStore|StoreError)\.ts`
const identityPorts = String.raw`identity/(?:CodeMessage|Delivery|ExternalIdentity|IdentityProviders)\.ts`
const settings = String.raw`Settings\.ts`

export const rooms: ReadonlyArray<Room> = [
  {
    name: "main",
    files: /^(?:main|Launch|ModuleLookup)\.ts$/,
    mayImport:
      /^(?:Start\.ts|ModuleLookup\.ts|Observability\.ts|settings\/DataDir\.ts|store\/embedded\/OpenAhead\.ts)$/,
    because: "main launches Start and Observability, by Launch, and opens the embedded database ahead of them"
  },
  {
    name: "Server",
    files: /^(?:Start|Server|StartupBanner)\.ts$/,
    // StartupBanner is what Server says when all is up; the layers rule holds for it as for any other file.
    mayImport:
      /^(?:Settings\.ts$|Server\.ts$|StartupBanner\.ts$|Workers\.ts$|settings\/|http\/|api\/|gateway\/|identity\/|providers\/|store\/|webhooks\/|domain\/)/,
    because: "Server puts the layers together; main is above it and Observability beside it"
  },
  {
    name: "Workers",
    files: /^Workers\.ts$/,
    mayImport: /^$/,
    notPackages: package_(`${sql}|${http}`),
    because: "it keeps processes alive and knows nothing of what they do"
  },
  {
    name: "StartupBanner",
    files: /^StartupBanner\.ts$/,
    mayImport: /^(?:Settings\.ts$|gateway\/keys\/ApiKeys\.ts$|store\/secrets\/SecretFile\.ts$|domain\/)/,
    notPackages: package_(sql),
    because: "the first words to a person need a key and an address, nothing else"
  },
  {
    name: "Settings",
    files: /^(?:Settings\.ts$|settings\/)/,
    mayImport: /^(?:domain\/|providers\/(?:mock|presets)\/)/,
    notPackages: package_(`${sql}|${http}`),
    because: "settings are read before anything runs: they know the domain and the providers' data, nothing that acts"
  },
  {
    name: "Observability",
    files: /^(?:Observability\.ts$|observability\/)/,
    mayImport: /^(?:Settings\.ts$|domain\/)/,
    notPackages: package_(sql),
    because: "telemetry hangs beside the program, not on its parts"
  },
  {
    name: "domain",
    files: /^domain\//,
    mayImport: /^$/,
    packages: new RegExp(`^${effectCore}`),
    because: "the domain is data and arithmetic: effect core only"
  },
  {
    name: "api",
    files: /^api\//,
    mayImport: /^domain\//,
    packages: new RegExp(`^(?:${effectCore}|effect/http-api(?:/|$))`),
    because: "the contract must be safe for a client to import: domain and effect/http-api only"
  },
  {
    name: "client",
    files: /^client\//,
    mayImport: /^(?:api|domain)\//,
    packages: new RegExp(`^(?:${effectCore}|effect/(?:http|http-api)$|effect/encoding/\\w+$)`),
    because:
      "the client runs wherever there is a fetch: the contract and effect, nothing of Node and nothing of the server"
  },
  {
    name: "cli",
    files: /^cli\//,
    mayImport: /^(?:client|api|domain)\/|^(?:Launch|Settings|settings\/CommandLine|store\/sql\/Connectivity)\.ts$/,
    notPackages: package_(sql),
    because: "a command speaks to a gateway as any client does; on its own it reads settings, probes and launches"
  },
  {
    name: "http",
    files: /^http\//,
    mayImport: /^(?:api|gateway|domain)\//,
    notPackages: package_(sql),
    because: "the edge translates between the contract and the gateway; providers and stores are the gateway's"
  },
  {
    name: "gateway",
    files: /^gateway\//,
    mayImport: new RegExp(`^(?:domain/|${providerPorts}$|${storePorts}$|${identityPorts}$)`),
    notPackages: package_(`${sql}|${http}|redis`),
    because:
      "the gateway knows the domain and the ports of providers, store and identity: no SQL, no dialect, no HTTP, no contract"
  },
  {
    name: "identity",
    files: /^identity\//,
    mayImport: /^(?:domain\/|providers\/transport\/(?:Outbound|Transport)\.ts$)/,
    notPackages: package_(`${sql}|${http}|redis`),
    because:
      "mail, SMS and identity providers are reached over the one outbound HTTP, and know neither gateway nor store"
  },
  {
    name: "webhooks",
    files: /^webhooks\//,
    mayImport: new RegExp(`^(?:domain/|${settings}$|providers/transport/Outbound\\.ts$|store/notices/Notices\\.ts$)`),
    notPackages: package_(`${sql}|${http}|redis`),
    because: "events leave here: it knows whom to tell and where to keep what nobody took, and nothing of requests"
  },
  {
    name: "providers",
    files: /^providers\//,
    mayImport: /^domain\//,
    notPackages: package_(`${sql}|effect/http-api|redis`),
    because: "providers stand alone: never the store, never the gateway"
  },
  {
    name: "store",
    files: /^store\//,
    mayImport: /^domain\//,
    notPackages: package_("effect/http|effect/http-api|undici"),
    because: "stores stand alone: never the providers, never the gateway"
  },
  {
    name: "testing",
    files: /^testing\//,
    mayImport: /^(?:domain\/|providers\/(?:Provider|Providers)\.ts$)/,
    because: "doubles for those who swap a layer: they know the ports alone"
  },
  {
    name: "console",
    files: /^console\//,
    mayImport: /^$/,
    mayImportTypes: /^(?:api|domain)\//,
    packages: package_("preact|uplot"),
    because: "the console runs in a browser: of the server it knows the types of the contract, and nothing at run time"
  }
]

/** Packages that call out over HTTP, and the files that may: calls to providers, the few others, and what a collector is sent. */
export const outbound = {
  packages: package_("undici|effect/http/HttpClient|effect/http/FetchHttpClient|@effect/platform-node/NodeHttpClient"),
  builtins: package_("node:http|node:https|node:http2"),
  files: ["providers/transport/Transport.ts", "providers/transport/Outbound.ts", "observability/MetricsExport.ts"]
}
