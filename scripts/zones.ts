/**
 * The zones of `src` as data: the files of each zone, the zones that it may import, and the
 * packages that it may not. scripts/check-imports.ts enforces it. A file without a zone is a
 * breach, so a new zone is a decision made here.
 */

export interface Zone {
  readonly name: string
  /** Its paths below `src/`. */
  readonly files: RegExp
  /** Paths below `src/` that it may import, in addition to its own. */
  readonly mayImport: RegExp
  /** Paths below `src/` whose types it may import: these are erased at run time. */
  readonly mayImportTypes?: RegExp
  /** Packages and built-ins that it may import. Undefined: all except `notPackages`. */
  readonly packages?: RegExp
  readonly notPackages?: RegExp
  /** The reason, in one line. It is printed with every breach. */
  readonly because: string
}

const sql = String.raw`effect/sql|@effect/sql-pg|@electric-sql/pglite`
const http = String.raw`effect/http|effect/http-api|@effect/platform-node|undici|node:http|node:https|node:http2`
const package_ = (names: string) => new RegExp(`^(?:${names})(?:/|$)`)
const effectCore = String.raw`effect(?:/[A-Z]\w*)?$`

/** The ports: service classes and their errors, without implementations. */
const providerPorts = String.raw`providers/(?:Provider|Providers)\.ts`
const storePorts = String.raw`store/(?:alerts/SentAlerts|audit/(?:AuditStore|RefusedCredentialStore)|cache/CacheStore|idempotency/IdempotencyStore|keys/KeyRepo|ledger/(?:GenerationStore|Ledger|reports/LedgerReports)|limits/Limits|outages/OutageStore|people/(?:Users|Sessions|Challenges)|refusals/RefusalStore|providerState/(?:ConversationStore|LockoutStore|StatsStore)|responses/ResponseStore|secrets/(?:SealedKeyStore|SecretStore)|webhooks/(?:DeadLetterStore|DeliveryQueue|DeliveryRecords)|Among|StoreError)\.ts`
const identityPorts = String.raw`identity/(?:CodeMessage|Delivery|ExternalIdentity|IdentityProviders)\.ts`
const settings = String.raw`Settings\.ts`

/** A folder of the gateway, and which paths below `src/gateway/` it may import beside its own. */
const gatewayZone = (folder: string, mayImport: string, because: string): Zone => ({
  name: `gateway/${folder}`,
  files: new RegExp(`^gateway/${folder}/`),
  mayImport: new RegExp(
    `^(?:domain/|${providerPorts}$|${storePorts}$|${identityPorts}$|gateway/(?:${mayImport || "$"}))`
  ),
  notPackages: package_(`${sql}|${http}|redis`),
  because: `the gateway knows the domain and the ports of providers, store and identity; ${because}`
})

const storeUnavailable = String.raw`StoreUnavailable\.ts$`
const audit = String.raw`telemetry/Audit\.ts$`
/** The spans of one request, which its plan carries. */
const trace = String.raw`telemetry/RequestTrace\.ts$`

/**
 * The gateway knows no SQL, no dialect, no HTTP and no contract. Only chat combines its folders:
 * billing, routing, cache, privacy and idempotency do not know each other, and only the edge knows
 * sign-in.
 */
const gatewayZones: ReadonlyArray<Zone> = [
  {
    ...gatewayZone("", "", "what all folders of the gateway share knows none of them"),
    name: "gateway",
    files: /^gateway\/[^/]+\.ts$/
  },
  gatewayZone("process", "", "the process knows nothing of requests"),
  gatewayZone("tokens", "", "tokens are counted of texts alone"),
  gatewayZone("health", "", "circuits and figures are told of calls; they know nothing of requests"),
  gatewayZone("request", trace, "the state of a request is data that all share; it knows nobody who works on it"),
  gatewayZone("reply", "request/|tokens/", "a reply is put together from events, wherever they come from"),
  gatewayZone("cache", "request/", "the cache knows the plan of a request, and nobody who works on it"),
  gatewayZone("idempotency", String.raw`Sealing\.ts$|request/`, "replies are kept and replayed, whatever they are"),
  gatewayZone(
    "responses",
    String.raw`Sealing\.ts$|${storeUnavailable}`,
    "responses are kept and found, whatever they are; who asks is the edge's decision"
  ),
  gatewayZone("privacy", "request/|tokens/", "the guard masks a plan's request; who asks it is chat's decision"),
  gatewayZone(
    "billing",
    `health/|process/|reply/|request/|tokens/|${trace}|${storeUnavailable}`,
    "billing reads what the router logged as data of request/; it does not know routing"
  ),
  gatewayZone(
    "routing",
    `health/|reply/|request/|tokens/|${trace}`,
    "the router spends by the budget of request/; it knows neither billing nor who asks"
  ),
  gatewayZone(
    "keys",
    String.raw`request/Caller\.ts$|${audit}|${storeUnavailable}`,
    "keys are looked up before there is a request"
  ),
  gatewayZone(
    "signin",
    String.raw`keys/|billing/UsageReports\.ts$|${audit}|${storeUnavailable}`,
    "people sign in and manage their keys; requests go on without them"
  ),
  gatewayZone(
    "telemetry",
    String.raw`cache/Cache\.ts$|billing/PendingSettlements\.ts$|health/|privacy/|process/|reply/|request/|routing/Catalog\.ts$`,
    "telemetry reads figures where they are, and nobody but the edge waits for it"
  ),
  gatewayZone(
    "chat",
    "billing/|cache/|health/|idempotency/|privacy/|reply/|request/|routing/|telemetry/|tokens/",
    "chat puts the steps of a request together; keys and people are looked up before"
  ),
  gatewayZone(
    "admin",
    `Sealing\\.ts$|cache/|health/|keys/|process/|routing/Catalog\\.ts$|telemetry/|${storeUnavailable}`,
    "operators are shown figures; nothing on the way of a request needs them"
  )
]

export const zones: ReadonlyArray<Zone> = [
  {
    name: "main",
    files: /^(?:main|Launch|ModuleLookup)\.ts$/,
    mayImport:
      /^(?:Start\.ts|ModuleLookup\.ts|Observability\.ts|settings\/DataDir\.ts|store\/embedded\/OpenAhead\.ts)$/,
    because: "main launches Start and Observability, by Launch, and opens the embedded database ahead of them"
  },
  {
    name: "Server",
    files: /^(?:Start|Server|Routes|StartupBanner)\.ts$/,
    // StartupBanner is part of Server's start-up. The layers rule applies to it as to any other
    // file.
    mayImport:
      /^(?:Settings\.ts$|Server\.ts$|Routes\.ts$|StartupBanner\.ts$|Workers\.ts$|setup\/|settings\/|http\/|api\/|gateway\/|identity\/|providers\/|store\/|webhooks\/|domain\/)/,
    because: "Server puts the layers together; main is above it and Observability beside it"
  },
  {
    name: "Workers",
    files: /^Workers\.ts$/,
    mayImport: /^$/,
    notPackages: package_(`${sql}|${http}`),
    because: "it supervises processes and is independent of what they do"
  },
  {
    name: "StartupBanner",
    files: /^StartupBanner\.ts$/,
    mayImport:
      /^(?:Settings\.ts$|gateway\/(?:keys\/ApiKeys|signin\/ConsoleLink)\.ts$|store\/secrets\/SecretFile\.ts$|domain\/)/,
    notPackages: package_(sql),
    because: "the startup banner needs a key, an address and a link, nothing else"
  },
  {
    name: "Settings",
    files: /^(?:Settings\.ts$|settings\/)/,
    mayImport: /^(?:domain\/|providers\/(?:mock|presets)\/)/,
    notPackages: package_(`${sql}|${http}`),
    because: "settings are read before anything runs: they know the domain and the providers' data, nothing that acts"
  },
  {
    name: "setup",
    files: /^setup\//,
    mayImport: new RegExp(
      `^(?:domain/|Settings\\.ts$|settings/|gateway/(?:admin/|telemetry/Audit\\.ts$|StoreUnavailable\\.ts$)|providers/(?:listing|presets|transport)/|${storePorts}$)`
    ),
    notPackages: package_(`${sql}|${http}|redis`),
    because: "adding a provider puts the settings file, its key and its models together; requests go on without it"
  },
  {
    name: "Observability",
    files: /^(?:Observability\.ts$|observability\/)/,
    mayImport: /^(?:Settings\.ts$|domain\/)/,
    notPackages: package_(sql),
    because: "telemetry does not depend on the program's parts"
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
    mayImport:
      /^(?:client|api|domain)\/|^(?:Launch|Settings|settings\/(?:CommandLine|PriceRefresh|UpgradeCheck)|store\/sql\/(?:Connectivity|UpgradeCheck))\.ts$/,
    notPackages: package_(sql),
    because: "a command calls the gateway as a client; by itself it only reads settings, checks servers and launches"
  },
  {
    name: "entries",
    files: /^entries\//,
    mayImport: /./,
    because: "an entry of the package passes on what is defined elsewhere"
  },
  {
    name: "launcher",
    files: /^launcher\//,
    mayImport: /^cli\/main\.ts$/,
    packages: /^node:/,
    because: "it loads in Nodes that are too old for the rest, and starts the rest"
  },
  {
    name: "http",
    files: /^http\//,
    mayImport: /^(?:api|gateway|domain)\//,
    notPackages: package_(sql),
    because: "the edge translates between the contract and the gateway; providers and stores are the gateway's"
  },
  ...gatewayZones,
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
    mayImport: new RegExp(
      `^(?:domain/|${settings}$|providers/transport/Outbound\\.ts$|store/webhooks/(?:DeadLetterStore|DeliveryQueue)\\.ts$)`
    ),
    notPackages: package_(`${sql}|${http}|redis`),
    because: "webhooks deliver events: they need outbound HTTP and the store of dead letters, nothing of requests"
  },
  {
    name: "providers",
    files: /^providers\//,
    mayImport: /^domain\//,
    notPackages: package_(`${sql}|effect/http-api|redis`),
    because: "providers stand alone: never the store, never the gateway"
  },
  {
    name: "store port",
    files:
      /^store\/(?:alerts\/SentAlerts|audit\/(?:AuditStore|RefusedCredentialStore)|cache\/CacheStore|idempotency\/IdempotencyStore|keys\/KeyRepo|ledger\/(?:GenerationStore|Ledger|reports\/LedgerReports)|limits\/Limits|people\/(?:Users|Sessions|Challenges)|processes\/LiveProcesses|refusals\/RefusalStore|providerState\/(?:LockoutStore|StatsStore)|responses\/ResponseStore|secrets\/(?:SealedKeyStore|SecretStore)|webhooks\/DeadLetterStore)\.ts$/,
    mayImport: /^(?:domain\/|store\/(?:Among|StoreError|limits\/LimitVerdict|people\/LinkingRules)\.ts$)/,
    packages: new RegExp(`^${effectCore}`),
    because: "a port does not know what implements it: implementations export their layers"
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

/**
 * Packages for outbound HTTP, and the files that may use them: calls to providers, other outbound
 * calls, and the exports of metrics and spans.
 */
export const outbound = {
  packages: package_("undici|effect/http/HttpClient|effect/http/FetchHttpClient|@effect/platform-node/NodeHttpClient"),
  builtins: package_("node:http|node:https|node:http2"),
  files: [
    "providers/transport/Transport.ts",
    "providers/transport/Outbound.ts",
    "observability/MetricsExport.ts",
    "observability/SpanExport.ts"
  ]
}
