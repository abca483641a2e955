/**
 * Settings as a whole: defaults, precedence of sources, secrecy, the process's own source, and the
 * example file.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Layer, Redacted } from "effect"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inspect } from "node:util"
import { defaultTimeouts, unknownPolicy } from "../src/domain/Catalog.ts"
import { eventTypes } from "../src/domain/Events.ts"
import { allScopes } from "../src/domain/Key.ts"
import { mockProvider } from "../src/providers/presets/Mock.ts"
import { defaultSettings, Settings } from "../src/Settings.ts"
import { FileUnreadable, readFile } from "../src/settings/SettingsSource.ts"
import { sourceOf } from "./settings/source.ts"

const example = readFileSync(new URL("../tollgate.example.yaml", import.meta.url), "utf8")

const secretsOfExample = {
  ALPHA_KEY: "hunter2-alpha",
  WEBHOOK_SECRET: "hunter2-of-the-webhook",
  GOOGLE_CLIENT_SECRET: "hunter2-google",
  SMTP_URL: "smtp://me:hunter2-mail@127.0.0.1:25",
  SMS_TOKEN: "hunter2-sms"
}
const exampleEnv = { ...secretsOfExample, GOOGLE_CLIENT_ID: "client", SMS_ACCOUNT: "account" }

const oneModel = "[{ id: a/b, upstream: b, pricing: { prompt: 1, completion: 2 } }]"

/** The values, without where they were set. */
const valuesOf = (source: Parameters<typeof Settings.load>[0]) =>
  Effect.map(Settings.load(source), ({ origin: _origin, ...values }) => values)

describe("defaults", () => {
  it.effect("hold when nothing is set", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* valuesOf(sourceOf({})), defaultSettings)
    })
  )

  it("are those of the contract", () => {
    assert.deepStrictEqual(defaultSettings, {
      host: "127.0.0.1",
      port: 8787,
      adminPort: null,
      adminKey: null,
      dataDir: "./.tollgate",
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
      tiers: {
        free: { requestsPerMinute: 20, tokensPerMinute: 40_000, concurrency: 4 },
        pro: { requestsPerMinute: 300, tokensPerMinute: 400_000, concurrency: 32 },
        enterprise: { requestsPerMinute: 3_000, tokensPerMinute: 4_000_000, concurrency: 256 }
      },
      tierBudgets: { free: 5_000_000_000, pro: 100_000_000_000, enterprise: null },
      cache: { enabled: true, when: "deterministic", ttlSeconds: 300, scope: "key", maxEntries: 10_000 },
      idempotency: { enabled: true, ttlSeconds: 86_400 },
      responses: { retentionDays: null },
      audit: { retentionDays: 365 },
      generations: { archiveDays: null, retentionDays: null },
      markup: 0,
      ledger: { leaseMs: 150_000 },
      privacy: {
        mode: "off",
        entities: ["email", "phone", "credit_card", "iban", "us_ssn", "ip_address", "secret"],
        patterns: []
      },
      webhooks: [],
      telemetry: { serviceName: "tollgate", attributes: {}, traces: null, metrics: null },
      auth: {
        issuer: null,
        channels: null,
        oauth: {},
        email: null,
        sms: null,
        redirects: ["/console"],
        trustedProxies: [],
        accessTokenSeconds: 900,
        sessionDays: 30,
        allowedDomains: null,
        newUsers: { tier: "free", monthlyBudgetNano: 1_000_000_000, scopes: allScopes },
        limits: { perDestinationHour: 5, perAddressMinute: 10, globalMinute: 300, newAccountsDay: 100 }
      },
      server: {
        hsts: "auto",
        maxConnections: 20_000,
        maxRequests: 10_000,
        maxBodiesBytes: null,
        maxLoopDelayMs: 1_000,
        stalledReaderMs: 60_000
      }
    })
  })

  it.effect("hold for empty variables, an empty file and empty sections", () =>
    Effect.gen(function* () {
      const env = { TOLLGATE_PORT: "", OPENAI_API_KEY: "", TOLLGATE_CONFIG: "", TOLLGATE_ANYTHING: "" }
      assert.deepStrictEqual(yield* valuesOf(sourceOf(env, "# nothing\n")), defaultSettings)
      assert.deepStrictEqual(yield* valuesOf(sourceOf({}, "providers:\ncache:\nmarkup:\nauth:\n")), defaultSettings)
    })
  )

  it.effect("grant new users of a production nothing, unless the file says how much", () =>
    Effect.gen(function* () {
      const granted = (file: string, TOLLGATE_ENV = "production") =>
        Effect.map(
          Settings.load(sourceOf({ TOLLGATE_ENV, GROQ_API_KEY: "k" }, file)),
          ({ auth }) => auth.newUsers.monthlyBudgetNano
        )
      assert.strictEqual(yield* granted("auth: { channels: [] }"), 0)
      assert.strictEqual(yield* granted("auth: { channels: [], new_users: { tier: pro } }"), 0)
      assert.strictEqual(yield* granted("auth: { channels: [], new_users: { monthly_budget_usd: 2 } }"), 2_000_000_000)
      assert.isNull(yield* granted("auth: { channels: [], new_users: { monthly_budget_usd: null } }"))
      assert.strictEqual(yield* granted("auth: { channels: [] }", "development"), 1_000_000_000)
    })
  )

  it.effect("ask a mail server for STARTTLS, but one of this machine and where the file says so", () =>
    Effect.gen(function* () {
      const needed = (email: string) =>
        Effect.map(Settings.load(sourceOf({}, `auth: { email: ${email} }`)), ({ auth }) => auth.email?.isTlsNeeded)
      assert.isTrue(yield* needed("{ smtp_url: 'smtp://u:p@mail.example.com:587' }"))
      assert.isTrue(yield* needed("{ smtp_url: 'smtp://mail.example.com', starttls: required }"))
      assert.isFalse(yield* needed("{ smtp_url: 'smtp://mail.example.com', starttls: if_offered }"))
      for (const host of ["localhost", "127.0.0.1:25", "[::1]"]) {
        assert.isFalse(yield* needed(`{ smtp_url: 'smtp://${host}' }`), host)
      }
    })
  )

  it.effect("log pretty on a terminal only", () =>
    Effect.gen(function* () {
      const terminal = { isTerminal: true }
      assert.strictEqual((yield* Settings.load({ ...sourceOf({}), ...terminal })).logFormat, "pretty")
      const set = { ...sourceOf({ TOLLGATE_LOG_FORMAT: "json" }), ...terminal }
      assert.strictEqual((yield* Settings.load(set)).logFormat, "json")
    })
  )

  it.effect("of a provider are the careful ones", () =>
    Effect.gen(function* () {
      const file = `providers: [{ slug: a, dialect: openai, base_url: "https://h/v1//", models: ${oneModel} }]`
      const { providers } = yield* Settings.load(sourceOf({}, file))
      assert.deepStrictEqual(providers.slice(0, 1), [
        {
          slug: "a",
          name: "a",
          dialect: "openai",
          baseUrl: "https://h/v1",
          apiKey: null,
          auth: { type: "none" },
          headers: {},
          query: {},
          dataPolicy: unknownPolicy,
          timeouts: defaultTimeouts,
          models: [
            {
              id: "a/b",
              upstream: "b",
              contextLength: null,
              maxCompletionTokens: null,
              pricing: { prompt: 1_000_000, completion: 2_000_000, cachedPrompt: null },
              embeddings: false,
              prefill: false,
              hidesReasoning: false
            }
          ]
        }
      ])
    })
  )
})

describe("what is set", () => {
  it.effect("in the environment", () =>
    Effect.gen(function* () {
      const settings = yield* valuesOf(
        sourceOf({
          TOLLGATE_HOST: "::",
          TOLLGATE_PORT: "0",
          TOLLGATE_ADMIN_KEY: "an-admin-key-of-24-chars",
          TOLLGATE_DATA_DIR: "/var/lib/tollgate",
          DATABASE_URL: "postgresql://u:p@h:5432/d",
          TOLLGATE_DATABASE_POOL: "20",
          REDIS_URL: "rediss://h:6379",
          TOLLGATE_WORKERS: "4",
          TOLLGATE_LOG_LEVEL: "debug",
          TOLLGATE_MAX_BODY_BYTES: "2048",
          TOLLGATE_BODY_TIMEOUT_MS: "10",
          TOLLGATE_DRAIN_TIMEOUT_MS: "0",
          TOLLGATE_SHUTDOWN_GRACE_MS: "1",
          TOLLGATE_RESPONSES_RETENTION_DAYS: "7",
          OTEL_ANYTHING: "x",
          TOLLGATE_TEST_DATABASE_URL: "postgres://h/test"
        })
      )
      assert.deepStrictEqual(
        { ...settings, adminKey: null, databaseUrl: null, redisUrl: null },
        {
          ...defaultSettings,
          host: "::",
          port: 0,
          dataDir: "/var/lib/tollgate",
          databasePool: 20,
          workers: 4,
          logLevel: "debug",
          maxBodyBytes: 2048,
          bodyTimeoutMs: 10,
          drainTimeoutMs: 0,
          shutdownGraceMs: 1,
          responses: { retentionDays: 7 }
        }
      )
      const revealed = [settings.adminKey, settings.databaseUrl, settings.redisUrl].map(
        (secret) => secret && Redacted.value(secret)
      )
      assert.deepStrictEqual(revealed, ["an-admin-key-of-24-chars", "postgresql://u:p@h:5432/d", "rediss://h:6379"])
    })
  )

  it.effect("in the file, over the defaults, a tier in part", () =>
    Effect.gen(function* () {
      const settings = yield* valuesOf(
        sourceOf(
          {},
          `
routing: { default_sort: latency, retries: 0, hedge_after_ms: 250, continue_streams: false, models_fallback: [mock/echo] }
tiers: { free: { concurrency: 2, monthly_budget_usd: 1.5 }, pro: { monthly_budget_usd: null } }
cache: { enabled: false, when: always, scope: owner }
idempotency: { enabled: false, ttl_seconds: 3600 }
responses: { retention_days: 30 }
generations: { archive_days: 30, retention_days: 90 }
markup: 0.05
ledger: { lease_seconds: 60 }
server: { hsts: always, max_connections: 9, max_requests: 8, max_bodies_bytes: 2000000, max_loop_delay_ms: 70, stalled_reader_ms: 600 }
privacy: { mode: mask, entities: [email], patterns: [{ name: employee, pattern: "EMP-\\\\d{6}" }] }
webhooks:
  - { url: "https://h/a", secret: "sixteen characters", events: [key.created] }
  - { url: "https://h/b", secret: "sixteen characters" }
`
        )
      )
      assert.deepStrictEqual(settings, {
        ...defaultSettings,
        routing: {
          defaultSort: "latency",
          retries: 0,
          hedgeAfterMs: 250,
          continueStreams: false,
          modelsFallback: ["mock/echo"]
        },
        tiers: { ...defaultSettings.tiers, free: { ...defaultSettings.tiers.free, concurrency: 2 } },
        tierBudgets: { free: 1_500_000_000, pro: null, enterprise: null },
        cache: { ...defaultSettings.cache, enabled: false, when: "always", scope: "owner" },
        idempotency: { enabled: false, ttlSeconds: 3_600 },
        responses: { retentionDays: 30 },
        generations: { archiveDays: 30, retentionDays: 90 },
        markup: 0.05,
        server: {
          hsts: "always",
          maxConnections: 9,
          maxRequests: 8,
          maxBodiesBytes: 2_000_000,
          maxLoopDelayMs: 70,
          stalledReaderMs: 600
        },
        ledger: { leaseMs: 60_000 },
        privacy: { mode: "mask", entities: ["email"], patterns: [{ name: "employee", pattern: "EMP-\\d{6}" }] },
        webhooks: [
          { url: "https://h/a", secret: Redacted.make("sixteen characters"), events: ["key.created"] },
          { url: "https://h/b", secret: Redacted.make("sixteen characters"), events: eventTypes }
        ]
      })
    })
  )

  it.effect("in the file, for a preset, which keeps its models and prices", () =>
    Effect.gen(function* () {
      const file = `
presets:
  openai:
    timeouts: { first_token_ms: 300000 }
    data_policy: { retains_prompts: false, retention_days: 0, zdr: true }
    models: { openai/o3: { timeouts: { total_ms: 1800000 } } }
  groq: { timeouts: { total_ms: 5 } }
`
      const load = (text: string | null) => Settings.load(sourceOf({ OPENAI_API_KEY: "k" }, text))
      const plain = (yield* load(null)).providers[0] ?? assert.fail("no provider")
      const [changed, ...others] = (yield* load(file)).providers
      assert.deepStrictEqual(others, [mockProvider])
      assert.deepStrictEqual(changed, {
        ...plain,
        timeouts: { ...defaultTimeouts, firstTokenMs: 300_000 },
        dataPolicy: { training: false, retainsPrompts: false, retentionDays: 0, zdr: true },
        models: plain.models.map((offer) =>
          offer.id === "openai/o3" ? { ...offer, timeouts: { totalMs: 1_800_000 } } : offer
        )
      })
      const error = yield* Effect.flip(load("presets: { openai: { models: { openai/gpt-0: {} } } }"))
      assert.deepInclude(error.faults[0], { setting: 'presets.openai.models["openai/gpt-0"]' })
    })
  )

  it.effect("in the file, for the API of a preset and of one of its models", () =>
    Effect.gen(function* () {
      const file = "presets: { openai: { api: chat, models: { openai/o3: { api: responses } } } }"
      const { providers } = yield* Settings.load(sourceOf({ OPENAI_API_KEY: "k" }, file))
      const apis = new Map(providers[0]?.models.map(({ api, id }) => [id, api]))
      assert.deepStrictEqual([apis.get("openai/o3"), apis.get("openai/gpt-6-sol")], ["responses", "chat"])
    })
  )

  it.effect("in the file, for prices that a preset's list does not have", () =>
    Effect.gen(function* () {
      const file = `
presets:
  openai:
    service_tiers: { Priority: 2 }
    models:
      openai/gpt-5.4: { pricing: { prompt_audio: 32, web_search: 25, service_tiers: { priority: 1.75 } } }
`
      const { providers } = yield* Settings.load(sourceOf({ OPENAI_API_KEY: "k" }, file))
      const pricing = new Map(providers[0]?.models.map((offer) => [offer.id, offer.pricing]))
      const own = pricing.get("openai/gpt-5.4")
      assert.deepStrictEqual(own?.serviceTiers, { flex: 0.5, priority: 1.75 })
      const added = { prompt_audio: 32_000_000, web_search: 25_000_000_000 }
      assert.deepStrictEqual(own?.rare, { cache_write: 2_500_000, ...added })
      assert.deepStrictEqual(
        own?.tiers?.map(({ rare }) => rare),
        [{ cache_write: 5_000_000, ...added }]
      )
      assert.strictEqual(own?.prompt, 2_500_000)
      assert.deepStrictEqual(pricing.get("openai/gpt-5")?.serviceTiers, { flex: 0.5, priority: 2 })
      assert.notProperty(pricing.get("openai/gpt-5")?.rare, "prompt_audio")
    })
  )

  it.effect("in the file, for pages of other origins", () =>
    Effect.gen(function* () {
      const { server } = yield* Settings.load(sourceOf({}, "cors: { origins: [https://app.example.com] }"))
      assert.deepStrictEqual(server, { ...defaultSettings.server, corsOrigins: ["https://app.example.com"] })
    })
  )

  it.effect("in the file, for aliases: a model, or several with weights", () =>
    Effect.gen(function* () {
      const file = `
aliases:
  fast: mock/echo
  gpt-4o: [{ model: mock/echo, weight: 95 }, { model: mock/lorem, weight: 5 }, { model: mock/lorem }]
`
      const { routing } = yield* Settings.load(sourceOf({}, file))
      assert.deepStrictEqual(routing.aliases, {
        fast: [{ model: "mock/echo", weight: 1 }],
        "gpt-4o": [
          { model: "mock/echo", weight: 95 },
          { model: "mock/lorem", weight: 5 },
          { model: "mock/lorem", weight: 1 }
        ]
      })
    })
  )

  it.effect("in the file, for a provider", () =>
    Effect.gen(function* () {
      const file = `
providers:
  - slug: azure
    name: Azure
    dialect: openai
    base_url: https://h/openai
    api_key: \${KEY}
    auth_header: api-key
    headers: { x-region: eu }
    query: { api-version: "2026-01-01" }
    http2: true
    data_policy: { training: false }
    timeouts: { idle_ms: 5 }
    models:
      - { id: a/e, upstream: e, pricing: { prompt: 0.02 }, embeddings: true, timeouts: { first_byte_ms: 7, total_ms: 9 } }
      - { id: a/f, upstream: f, context_length: 8, max_completion_tokens: 4, pricing: { prompt: 0.15, completion: 0, cached_prompt: 0.075 }, prefill: true }
      - id: a/t
        upstream: t
        pricing:
          prompt: 1
          completion: 2
          tiers:
            - { above_prompt_tokens: 200000, prompt: 4, completion: 5 }
            - { above_prompt_tokens: 1000, prompt: 2, completion: 3, cached_prompt: 0.5 }
`
      const { providers } = yield* Settings.load(sourceOf({ KEY: "k" }, file))
      assert.deepStrictEqual(providers.slice(0, 1), [
        {
          slug: "azure",
          name: "Azure",
          dialect: "openai",
          baseUrl: "https://h/openai",
          apiKey: Redacted.make("k"),
          auth: { type: "header", name: "api-key" },
          headers: { "x-region": "eu" },
          query: { "api-version": "2026-01-01" },
          http2: true,
          dataPolicy: { ...unknownPolicy, training: false },
          timeouts: { ...defaultTimeouts, idleMs: 5 },
          models: [
            {
              id: "a/e",
              upstream: "e",
              contextLength: null,
              maxCompletionTokens: null,
              pricing: { prompt: 20_000, completion: 0, cachedPrompt: null },
              embeddings: true,
              prefill: false,
              hidesReasoning: false,
              timeouts: { firstByteMs: 7, totalMs: 9 }
            },
            {
              id: "a/f",
              upstream: "f",
              contextLength: 8,
              maxCompletionTokens: 4,
              pricing: { prompt: 150_000, completion: 0, cachedPrompt: 75_000 },
              embeddings: false,
              prefill: true,
              hidesReasoning: false
            },
            {
              id: "a/t",
              upstream: "t",
              contextLength: null,
              maxCompletionTokens: null,
              pricing: {
                prompt: 1_000_000,
                completion: 2_000_000,
                cachedPrompt: null,
                tiers: [
                  { abovePromptTokens: 1_000, prompt: 2_000_000, completion: 3_000_000, cachedPrompt: 500_000 },
                  { abovePromptTokens: 200_000, prompt: 4_000_000, completion: 5_000_000, cachedPrompt: null }
                ]
              },
              embeddings: false,
              prefill: false,
              hidesReasoning: false
            }
          ]
        }
      ])
    })
  )

  it.effect("in the file that TOLLGATE_CONFIG names, not in the default one", () =>
    Effect.gen(function* () {
      const named = yield* Settings.load(sourceOf({ TOLLGATE_CONFIG: "other.yaml" }, "markup: 0.5", "other.yaml"))
      const byDefault = yield* Settings.load(sourceOf({}, "markup: 0.25"))
      assert.deepStrictEqual([named.markup, byDefault.markup], [0.5, 0.25])
    })
  )
})

describe("providers", () => {
  const slugs = (env: Record<string, string>, file: string | null = null) =>
    Settings.load(sourceOf(env, file)).pipe(Effect.map(({ providers }) => providers.map(({ slug }) => slug)))

  it.effect("come from vendors' keys, with the mock last in development and absent in production", () =>
    Effect.gen(function* () {
      const keys = { OPENAI_API_KEY: "k", GROQ_API_KEY: "k" }
      assert.deepStrictEqual(yield* slugs(keys), ["openai", "groq", "mock"])
      const production = { ...keys, TOLLGATE_ENV: "production" }
      assert.deepStrictEqual(yield* slugs(production, "auth: { channels: [] }"), ["openai", "groq"])
    })
  )

  it.effect("leave the mock out where an entry has its slug or one of its models", () =>
    Effect.gen(function* () {
      const entry = (slug: string, models: string) =>
        `providers: [{ slug: ${slug}, dialect: openai, base_url: "http://h", models: ${models} }]`
      assert.deepStrictEqual(yield* slugs({}, entry("mock", oneModel)), ["mock"])
      const echo = "[{ id: mock/echo, upstream: x, pricing: { prompt: 1, completion: 2 } }]"
      assert.deepStrictEqual(yield* slugs({}, entry("a", echo)), ["a"])
      assert.deepStrictEqual(yield* slugs({}, entry("a", oneModel)), ["a", "mock"])
    })
  )

  it.effect("have several keys from a list in the file, or from a vendor's variable in the plural", () =>
    Effect.gen(function* () {
      const entry = (keys: string) =>
        `providers: [{ slug: a, dialect: openai, base_url: "http://h", auth_header: api-key, ${keys}, models: ${oneModel} }]`
      const keysOf = (env: Record<string, string>, file: string | null = null) =>
        Effect.map(Settings.load(sourceOf(env, file)), ({ providers: [provider] }) => [
          provider?.apiKey && Redacted.value(provider.apiKey),
          provider?.apiKeys?.map(Redacted.value),
          provider?.auth.type
        ])
      assert.deepStrictEqual(yield* keysOf({ B: "b" }, entry("api_keys: [a, '${B}', c]")), [
        "a",
        ["a", "b", "c"],
        "header"
      ])
      assert.deepStrictEqual(yield* keysOf({}, entry("api_keys: [a]")), ["a", undefined, "header"])
      assert.deepStrictEqual(yield* keysOf({ OPENAI_API_KEYS: "a, b" }), ["a", ["a", "b"], "bearer"])
      assert.deepStrictEqual(yield* keysOf({ OPENAI_API_KEYS: "a" }), ["a", undefined, "bearer"])
    })
  )

  it.effect("of the file come first and replace the preset of their slug, faults of the preset included", () =>
    Effect.gen(function* () {
      const file = `providers: [{ slug: openai, dialect: openai, base_url: "http://h", models: ${oneModel} }]`
      const env = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "no address", GROQ_API_KEY: "k" }
      assert.deepStrictEqual(yield* slugs(env, file), ["openai", "groq", "mock"])
      const { providers } = yield* Settings.load(sourceOf(env, file))
      assert.strictEqual(providers[0]?.baseUrl, "http://h")
    })
  )

  it.effect("call each model by the API that it names, then the provider's, then that of its name", () =>
    Effect.gen(function* () {
      const model = (upstream: string, api = "") => `{ id: a/${upstream}, upstream: ${upstream}, ${api} ${price} }`
      const price = "pricing: { prompt: 1, completion: 2 }"
      const models = `[${model("o3-pro")}, ${model("gpt-4o")}, ${model("gpt-5.4", "api: chat,")}, ${model("b", "api: responses,")}]`
      const apis = (members: string) =>
        Effect.map(
          Settings.load(sourceOf({}, `providers: [{ slug: a, dialect: openai, ${members}, models: ${models} }]`)),
          ({ providers }) => providers[0]?.models.map(({ api }) => api ?? "chat")
        )
      const byName = ["responses", "chat", "chat", "responses"]
      for (const host of ["api.openai.com", "eu.api.openai.com", "x.openai.azure.com"]) {
        assert.deepStrictEqual(yield* apis(`base_url: "https://${host}/v1"`), byName, host)
      }
      for (const host of ["proxy.example", "api.openai.com.example", "xazure.com"]) {
        assert.deepStrictEqual(yield* apis(`base_url: "https://${host}/v1"`), ["chat", "chat", "chat", "responses"])
      }
      const all = ["responses", "responses", "chat", "responses"]
      assert.deepStrictEqual(yield* apis(`base_url: "https://proxy.example/v1", api: responses`), all)
      const none = ["chat", "chat", "chat", "responses"]
      assert.deepStrictEqual(yield* apis(`base_url: "https://api.openai.com/v1", api: chat`), none)
    })
  )

  it.effect("of presets take their key and address from the environment", () =>
    Effect.gen(function* () {
      const { providers } = yield* Settings.load(
        sourceOf({ AZURE_OPENAI_API_KEY: "k", AZURE_OPENAI_BASE_URL: "https://x.openai.azure.com/openai/v1/" })
      )
      assert.strictEqual(providers[0]?.baseUrl, "https://x.openai.azure.com/openai/v1")
      assert.deepStrictEqual(providers[0]?.apiKey, Redacted.make("k"))
      assert.isAbove(providers[0]?.models.length ?? 0, 0)
    })
  )
})

describe("secrets", () => {
  const env = {
    ...exampleEnv,
    TOLLGATE_ADMIN_KEY: "hunter2-hunter2-admin",
    DATABASE_URL: "postgres://u:hunter2@127.0.0.1/d",
    REDIS_URL: "redis://:hunter2@127.0.0.1",
    OPENAI_API_KEY: "hunter2-openai"
  }

  it.effect("of good settings never print", () =>
    Effect.gen(function* () {
      const settings = yield* valuesOf(sourceOf(env, example))
      const printed = [JSON.stringify(settings), inspect(settings, { depth: 20, showHidden: true })]
      for (const text of printed) assert.notInclude(text, "hunter2")
      const [alpha] = settings.providers
      assert.deepStrictEqual(alpha?.apiKey && Redacted.value(alpha.apiKey), env.ALPHA_KEY)
    })
  )

  it.effect("of bad settings never print", () =>
    Effect.gen(function* () {
      const bad = {
        TOLLGATE_ADMIN_KEY: "hunter2",
        DATABASE_URL: "hunter2://u:hunter2@h",
        REDIS_URL: "hunter2",
        OPENAI_API_KEY: "hunter2 hunter2",
        GROQ_API_KEY: "x",
        GROQ_BASE_URL: "https://hunter2@h",
        SECRET: "hunter2"
      }
      const file = `
providers:
  - slug: \${SECRET} x
    dialect: \${SECRET}
    base_url: https://h?key=hunter2
    api_key: [hunter2]
    headers: { authorization: hunter2, x-a: [hunter2] }
    query: { api_key: hunter2 }
    timeouts: { idle_ms: \${SECRET} }
    models: [{ id: \${SECRET}, pricing: \${SECRET} }]
auth:
  issuer: https://u:hunter2@h
  oauth: { google: { client_id: "", client_secret: [hunter2] } }
  email: { smtp_url: hunter2 }
  sms: { base_url: https://u:hunter2@h, token: [hunter2] }
`
      const error = yield* Effect.flip(Settings.load(sourceOf(bad, file)))
      assert.isAbove(error.faults.length, 15)
      const printed = [
        error.message,
        JSON.stringify(error),
        inspect(error, { depth: 20 }),
        Cause.pretty(Cause.fail(error))
      ]
      for (const text of printed) assert.notInclude(text, "hunter2")
    })
  )

  it.effect("are not shown by a file that is no YAML", () =>
    Effect.gen(function* () {
      for (const file of ["a: *hunter2", 'a: "\\hunter2"', "a: 'hunter2", "a: { hunter2", "a: x\n b: hunter2"]) {
        const error = yield* Effect.flip(Settings.load(sourceOf({}, file)))
        assert.include(error.message, "is not valid YAML")
        assert.notInclude(error.message, "hunter2")
      }
    })
  )
})

/** A temporary settings file that `TOLLGATE_CONFIG` names until the scope closes. */
const configFile = Effect.acquireRelease(
  Effect.sync(() => {
    const directory = mkdtempSync(join(tmpdir(), "tollgate-settings-"))
    const path = join(directory, "tollgate.yaml")
    const before = process.env.TOLLGATE_CONFIG
    process.env.TOLLGATE_CONFIG = path
    return { directory, path, before }
  }),
  ({ directory, before }) =>
    Effect.sync(() => {
      if (before === undefined) delete process.env.TOLLGATE_CONFIG
      else process.env.TOLLGATE_CONFIG = before
      rmSync(directory, { recursive: true })
    })
)

describe("this process's settings", () => {
  it.effect("are read anew by each reload, and a bad file says why", () =>
    Effect.gen(function* () {
      const { path } = yield* configFile
      writeFileSync(path, "markup: 0.1")
      assert.strictEqual((yield* Settings.reload).markup, 0.1)
      writeFileSync(path, "markup: 0.2")
      assert.strictEqual((yield* Settings.reload).markup, 0.2)
      writeFileSync(path, "markup: much")
      const error = yield* Effect.flip(Settings.reload)
      assert.deepStrictEqual(
        error.faults.map(({ setting, problem }) => `${setting} ${problem}`),
        ['markup is "much"']
      )
    })
  )

  it.effect("are the layer's, which fails as a whole", () =>
    Effect.gen(function* () {
      const { path } = yield* configFile
      writeFileSync(path, "markup: 0.3")
      assert.strictEqual((yield* Settings.pipe(Effect.provide(Settings.layer))).markup, 0.3)
      writeFileSync(path, "colour: blue")
      const error = yield* Effect.flip(Layer.build(Settings.layer))
      assert.include(error.message, "colour is unknown")
    })
  )

  it.effect("come from real files: none is null, an unreadable one fails with its code", () =>
    Effect.gen(function* () {
      const { path, directory } = yield* configFile
      writeFileSync(path, "markup: 0")
      assert.strictEqual(yield* readFile(path), "markup: 0")
      assert.isNull(yield* readFile(join(directory, "gone.yaml")))
      assert.deepStrictEqual(yield* Effect.flip(readFile(directory)), new FileUnreadable({ code: "EISDIR" }))
    })
  )
})

it.effect("layerTest gives the defaults with overrides, and reads nothing", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* Settings.pipe(Effect.provide(Settings.layerTest())), defaultSettings)
    const settings = yield* Settings.pipe(Effect.provide(Settings.layerTest({ port: 0, markup: 0.5 })))
    assert.deepStrictEqual(settings, { ...defaultSettings, port: 0, markup: 0.5 })
  })
)

describe("the example file", () => {
  it.effect("loads once its variables are set", () =>
    Effect.gen(function* () {
      const settings = yield* valuesOf(sourceOf(exampleEnv, example))
      assert.strictEqual(settings.providers[0]?.slug, "alpha")
      assert.deepStrictEqual(settings.auth, {
        ...defaultSettings.auth,
        issuer: "https://gateway.example.com",
        oauth: { google: { clientId: "client", clientSecret: Redacted.make("hunter2-google"), issuer: null } },
        isBudgetSet: true,
        email: {
          smtpUrl: Redacted.make(exampleEnv.SMTP_URL),
          from: "Example <codes@example.com>",
          isTlsNeeded: false
        },
        sms: {
          baseUrl: "https://api.twilio.com",
          account: "account",
          token: Redacted.make("hunter2-sms"),
          from: "+15550100",
          countries: ["US", "CA"]
        }
      })
    })
  )

  it.effect("shows the defaults of everything but providers, webhooks and sign-in", () =>
    Effect.gen(function* () {
      const { providers, auth, webhooks } = defaultSettings
      const settings = yield* valuesOf(sourceOf(exampleEnv, example))
      assert.deepStrictEqual({ ...settings, providers, auth, webhooks }, defaultSettings)
    })
  )

  it.effect("names every variable that is missing", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Settings.load(sourceOf({}, example)))
      assert.deepStrictEqual(
        error.faults.map(({ problem }) => problem),
        Object.keys({
          ALPHA_KEY: 0,
          WEBHOOK_SECRET: 0,
          GOOGLE_CLIENT_ID: 0,
          GOOGLE_CLIENT_SECRET: 0,
          SMTP_URL: 0,
          SMS_ACCOUNT: 0,
          SMS_TOKEN: 0
        }).map((name) => `refers to ${name}, which is unset or empty`)
      )
    })
  )
})
