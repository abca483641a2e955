/** The messages for wrong settings: exact texts, all faults together. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Settings } from "../../src/Settings.ts"
import { FileUnreadable } from "../../src/settings/SettingsSource.ts"
import { sourceOf } from "./source.ts"

const messageOf = (env: Record<string, string>, file: string | null = null) =>
  Settings.load(sourceOf(env, file)).pipe(
    Effect.flip,
    Effect.map((error) =>
      error.message
        .split("\n")
        .slice(1)
        .map((line) => line.trim())
    )
  )

const port = "a whole number from 0 to 65535 (0: the system chooses)"
const host = "an IP address or host name without port, such as 127.0.0.1, 0.0.0.0 or ::"
const postgres = "postgres://user:password@host:5432/name"
const redis = "redis://host:6379 or rediss://host:6379"
const known =
  "one of TOLLGATE_HOST, TOLLGATE_PORT, TOLLGATE_ADMIN_PORT, TOLLGATE_ADMIN_KEY, TOLLGATE_DATA_DIR, TOLLGATE_DATABASE_POOL, TOLLGATE_WORKERS, " +
  "TOLLGATE_CONFIG, TOLLGATE_ENV, TOLLGATE_LOG_LEVEL, TOLLGATE_LOG_FORMAT, TOLLGATE_MAX_BODY_BYTES, TOLLGATE_BODY_TIMEOUT_MS, " +
  "TOLLGATE_DRAIN_TIMEOUT_MS, TOLLGATE_SHUTDOWN_GRACE_MS, TOLLGATE_RESPONSES_RETENTION_DAYS"
const hidden = "is not accepted (value not shown)"

describe("the variables by which Kubernetes describes a Service named tollgate", () => {
  const links = {
    TOLLGATE_SERVICE_HOST: "10.0.0.1",
    TOLLGATE_SERVICE_PORT: "80",
    TOLLGATE_SERVICE_PORT_HTTP: "80",
    TOLLGATE_PORT: "tcp://10.0.0.1:80",
    TOLLGATE_PORT_80_TCP: "tcp://10.0.0.1:80",
    TOLLGATE_PORT_80_TCP_PROTO: "tcp",
    TOLLGATE_PORT_80_TCP_PORT: "80",
    TOLLGATE_PORT_80_TCP_ADDR: "10.0.0.1",
    TOLLGATE_METRICS_SERVICE_HOST: "10.0.0.2",
    TOLLGATE_METRICS_PORT: "tcp://10.0.0.2:9464"
  }

  it.effect("are no settings inside of Kubernetes, and wrong ones elsewhere", () =>
    Effect.gen(function* () {
      const settings = yield* Settings.load(sourceOf({ ...links, KUBERNETES_SERVICE_HOST: "10.0.0.9" }))
      assert.strictEqual(settings.port, 8787)
      assert.lengthOf(yield* messageOf(links), Object.keys(links).length)
    })
  )
})

describe("several keys of one provider", () => {
  const file = (members: string) =>
    `providers: [{ slug: a, dialect: openai, base_url: "https://a.example", models: [{ id: x/y, upstream: y, pricing: { prompt: 1, completion: 1 } }], ${members} }]`
  const list = "a list of 1 to 32 keys"
  const again = "a key that is not in the list yet"
  const one = "one of the provider's keys on one line, such as ${ALPHA_KEY_2}"
  const cases: ReadonlyArray<readonly [string, ...ReadonlyArray<string>]> = [
    ["api_keys: []", `providers[0].api_keys is empty; expected ${list}`],
    ["api_keys: [a, '']", `providers[0].api_keys[1] is empty; expected ${one}`],
    ["api_keys: [a, ' ']", `providers[0].api_keys[1] ${hidden}; expected ${one}`],
    ["api_keys: a", "providers[0].api_keys is a text; expected a list"],
    ["api_keys: [hunter2, b, hunter2]", `providers[0].api_keys[2] repeats providers[0].api_keys[0]; expected ${again}`],
    [
      "api_keys: [a, b], api_key: c",
      "providers[0].api_keys is set together with api_key; expected all keys in api_keys"
    ],
    [
      `api_keys: [${Array.from({ length: 33 }, (_, at) => `k${at}`).join(", ")}]`,
      `providers[0].api_keys has 33 keys; expected ${list}`
    ]
  ]
  it.effect.each(cases)("%s", ([members, ...expected]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* messageOf({}, file(members)), expected)
    })
  )

  it.effect.each<readonly [Record<string, string>, string]>([
    [
      { OPENAI_API_KEY: "sk-hunter2,sk-hunter3" },
      `OPENAI_API_KEY ${hidden}; expected the vendor's key, without spaces, commas or line breaks; several keys go into OPENAI_API_KEYS`
    ],
    [{ OPENAI_API_KEYS: "a,,b" }, `OPENAI_API_KEYS ${hidden}; expected the vendor's keys, separated by commas`],
    [{ OPENAI_API_KEYS: "a,b," }, `OPENAI_API_KEYS ${hidden}; expected the vendor's keys, separated by commas`],
    [{ OPENAI_API_KEYS: "a, b,a" }, `OPENAI_API_KEYS[2] repeats OPENAI_API_KEYS[0]; expected ${again}`],
    [
      { OPENAI_API_KEYS: "a,b", OPENAI_API_KEY: "c" },
      "OPENAI_API_KEYS is set together with OPENAI_API_KEY; expected all keys in OPENAI_API_KEYS, or one in OPENAI_API_KEY"
    ]
  ])("%o", ([env, expected]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* messageOf(env), [expected])
    })
  )
})

describe("a wrong environment", () => {
  const cases: ReadonlyArray<readonly [Record<string, string>, ...ReadonlyArray<string>]> = [
    [{ TOLLGATE_PORT: "eight" }, `TOLLGATE_PORT is "eight"; expected ${port}`],
    [{ TOLLGATE_PORT: "65536" }, `TOLLGATE_PORT is "65536"; expected ${port}`],
    [{ TOLLGATE_PORT: "80.5" }, `TOLLGATE_PORT is "80.5"; expected ${port}`],
    [{ TOLLGATE_HOST: "127.0.0.1:80" }, `TOLLGATE_HOST is "127.0.0.1:80"; expected ${host}`],
    [{ TOLLGATE_HOST: "256.0.0.1" }, `TOLLGATE_HOST is "256.0.0.1"; expected ${host}`],
    [{ TOLLGATE_ADMIN_KEY: "hunter2" }, `TOLLGATE_ADMIN_KEY ${hidden}; expected at least 16 characters without spaces`],
    [{ DATABASE_URL: "mysql://u:hunter2@h/d" }, `DATABASE_URL ${hidden}; expected ${postgres}`],
    [{ DATABASE_URL: "postgres:hunter2" }, `DATABASE_URL ${hidden}; expected ${postgres}`],
    [{ REDIS_URL: "hunter2" }, `REDIS_URL ${hidden}; expected ${redis}`],
    [
      { TOLLGATE_DATABASE_POOL: "0" },
      `TOLLGATE_DATABASE_POOL is "0"; expected a whole number of connections from 1 to 1000`
    ],
    [
      { TOLLGATE_WORKERS: "65" },
      `TOLLGATE_WORKERS is "65"; expected a whole number of processes from 1 to 64`,
      `DATABASE_URL is missing though TOLLGATE_WORKERS is 65; expected ${postgres}`,
      `REDIS_URL is missing though TOLLGATE_WORKERS is 65; expected ${redis}`
    ],
    [
      { TOLLGATE_WORKERS: "2", DATABASE_URL: "postgres://h/d" },
      `REDIS_URL is missing though TOLLGATE_WORKERS is 2; expected ${redis}`
    ],
    [
      { TOLLGATE_LOG_LEVEL: "INFO" },
      `TOLLGATE_LOG_LEVEL is "INFO"; expected one of trace, debug, info, warn, error, none`
    ],
    [{ TOLLGATE_LOG_FORMAT: "xml" }, `TOLLGATE_LOG_FORMAT is "xml"; expected one of pretty, json`],
    [
      { TOLLGATE_MAX_BODY_BYTES: "10MB" },
      `TOLLGATE_MAX_BODY_BYTES is "10MB"; expected a whole number of bytes from 1024 to 1073741824`
    ],
    [{ TOLLGATE_BODY_TIMEOUT_MS: "0" }, `TOLLGATE_BODY_TIMEOUT_MS is "0"; expected milliseconds, from 1 to 3600000`],
    [
      { TOLLGATE_DRAIN_TIMEOUT_MS: "-1" },
      `TOLLGATE_DRAIN_TIMEOUT_MS is "-1"; expected milliseconds, from 0 to 3600000`
    ],
    [{ TOLLGATE_DATA_DIR: " " }, `TOLLGATE_DATA_DIR is " "; expected a directory, such as ./.tollgate`],
    [{ TOLLGATE_PROT: "1" }, `TOLLGATE_PROT is unknown, did you mean TOLLGATE_PORT?; expected ${known}`],
    [{ TOLLGATE_FOO: "1" }, `TOLLGATE_FOO is unknown; expected ${known}`],
    [{ TOLLGATE_COLOUR_OF_THE_SKY: "1" }, `TOLLGATE_COLOUR_OF_THE_SKY is unknown; expected ${known}`],
    [
      { TOLLGATE_CONFIG: "gone.yaml" },
      "TOLLGATE_CONFIG names a file that does not exist: gone.yaml; expected the path of a YAML file that can be read"
    ],
    [
      { OPENAI_API_KEY: "hun ter2" },
      `OPENAI_API_KEY ${hidden}; expected the vendor's key, without spaces, commas or line breaks; several keys go into OPENAI_API_KEYS`
    ],
    [
      { OPENAI_API_KEY: "hunter2", OPENAI_BASE_URL: "localhost:80" },
      'OPENAI_BASE_URL is "localhost:80"; expected an http:// or https:// address without credentials, query or fragment, ' +
        "such as https://api.openai.com/v1"
    ],
    [
      { AZURE_OPENAI_API_KEY: "hunter2" },
      "AZURE_OPENAI_BASE_URL is missing though AZURE_OPENAI_API_KEY is set; expected the address of Azure OpenAI, which has no default"
    ],
    [
      { OLLAMA_BASE_URL: "http://127.0.0.1:11434/v1" },
      "OLLAMA_BASE_URL enables Ollama, whose models are unknown; expected a provider with the slug ollama and its " +
        "models in the settings file"
    ]
  ]
  for (const [env, ...lines] of cases) {
    it.effect(JSON.stringify(env), () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* messageOf(env), lines)
      })
    )
  }
})

/** A valid provider, except for `more` of its members. */
const provider = (more: string, models = "[{ id: a/b, upstream: b, pricing: { prompt: 1, completion: 2 } }]") =>
  `providers:\n  - slug: alpha\n    dialect: openai\n    base_url: http://h/v1\n    models: ${models}\n    ${more}\n`

const address =
  "an http:// or https:// address without credentials, query or fragment, such as https://api.example.com/v1"
const token = "letters, digits and dashes, such as anthropic-version"
const usd = "USD per million tokens, from 0 to 1000000"
const patternName = "a name of lower-case letters, digits and _, at most 32, that no built-in entity has"
const patternForm = "a regular expression of RE2: no look-around, no back-references; at most 1000 characters"

describe("a wrong settings file", () => {
  const cases: ReadonlyArray<readonly [string, ...ReadonlyArray<string>]> = [
    ["a: 'x", "./tollgate.yaml is not valid YAML (Unterminated quoted YAML scalar); expected one YAML mapping"],
    ["a: *hunter2", "./tollgate.yaml is not valid YAML (Unknown YAML alias …); expected one YAML mapping"],
    [
      "- 1",
      "./tollgate.yaml is not a mapping; expected a mapping of providers, presets, aliases, routing, tiers, cache, idempotency, responses, audit, generations, markup, ledger, privacy, webhooks, auth, server, cors, prices"
    ],
    [
      "cahe: {}",
      "cahe is unknown, did you mean cache?; expected one of providers, presets, aliases, routing, tiers, cache, idempotency, responses, audit, generations, markup, ledger, privacy, webhooks, auth, server, cors, prices"
    ],
    ["providers: {}", "providers is a mapping; expected a list"],
    [
      "providers: [4]",
      "providers[0] is a number; expected a mapping of slug, name, dialect, api, base_url, api_key, api_keys, auth_header, headers, query, " +
        "http2, parameters, account_objects, data_policy, timeouts, models"
    ],
    [
      "providers: [{ slug: A, dialect: open-ai }]",
      'providers[0].slug is "A"; expected lower-case letters, digits, dots, dashes and underscores, such as alpha',
      'providers[0].dialect is "open-ai"; expected one of openai, anthropic, gemini, bedrock, mock',
      "providers[0].models is missing; expected a list"
    ],
    [provider("", "[]"), "providers[0].models is empty; expected a list of at least one model"],
    [
      "providers: [{ slug: a, dialect: openai, models: [{ id: a/b, upstream: b, pricing: { prompt: 1, completion: 1 } }] }]",
      "providers[0].base_url is missing; expected the provider's address, such as https://api.example.com/v1"
    ],
    [
      "providers: [{ slug: a, dialect: openai, base_url: http://u:hunter2@h, models: [] }]",
      `providers[0].base_url ${hidden}; expected ${address}`
    ],
    [
      "providers: [{ slug: a, dialect: openai, base_url: ftp://h, models: [] }]",
      `providers[0].base_url is "ftp://h"; expected ${address}`
    ],
    [
      provider("api_key: 42"),
      `providers[0].api_key ${hidden}; expected the provider's key on one line, such as \${ALPHA_KEY}`
    ],
    [
      provider("auth_header: api-key"),
      "providers[0].api_key is missing though auth_header is set; expected the provider's key"
    ],
    [
      provider("headers: { Authorization: hunter2, a b: x }"),
      "providers[0].headers.Authorization would print a credential; expected the key in api_key, and its header's name in " +
        "auth_header",
      `providers[0].headers["a b"] is not a header's name; expected ${token}`
    ],
    [provider('headers: { x-a: "x\\ny" }'), `providers[0].headers.x-a ${hidden}; expected text on one line`],
    [
      provider("query: { key: hunter2 }"),
      "providers[0].query.key would print a credential; expected the key in api_key, and its header's name in auth_header"
    ],
    [provider("api: completions"), 'providers[0].api is "completions"; expected one of chat, responses'],
    [
      "providers: [{ slug: a, dialect: gemini, base_url: http://h, api: chat, models: " +
        "[{ id: a/b, upstream: b, api: responses, pricing: { prompt: 1, completion: 2 } }] }]",
      "providers[0].api belongs to another dialect; expected no api, or dialect: openai",
      "providers[0].models[0].api belongs to another dialect; expected no api, or dialect: openai"
    ],
    [
      provider("parameters: { refused: [Store], limit: max }"),
      'providers[0].parameters.refused[0] is "Store"; expected a member of a request, such as store',
      'providers[0].parameters.limit is "max"; expected one of max_tokens, max_completion_tokens'
    ],
    [
      "providers: [{ slug: a, dialect: gemini, base_url: http://h, parameters: { refused: [store] }, models: " +
        "[{ id: a/b, upstream: b, pricing: { prompt: 1, completion: 2 } }] }]",
      "providers[0].parameters belongs to another dialect; expected no parameters, or dialect: openai"
    ],
    [provider("http2: true"), "providers[0].http2 needs TLS; expected false, or a base_url that starts with https://"],
    [
      provider("timeouts: { conect_ms: 1, total_ms: 0 }"),
      "providers[0].timeouts.conect_ms is unknown, did you mean connect_ms?; expected one of connect_ms, first_byte_ms, " +
        "first_token_ms, idle_ms, total_ms",
      "providers[0].timeouts.total_ms is 0; expected milliseconds, from 1 to 86400000"
    ],
    [
      'aliases: { a: small, b: [], c: [{ model: a/b, weight: 0 }], "d e": mock/echo, f: [{}] }',
      'aliases.a is "small"; expected author/slug, such as openai/gpt-4o-mini',
      "aliases.b is empty; expected at least one model",
      "aliases.c[0].weight is 0; expected a weight above 0, up to 1000000",
      "aliases.f[0].model is missing; expected author/slug, such as openai/gpt-4o-mini",
      'aliases["d e"] is not a name for a model; expected letters, digits and . _ : @ + / -, at most 200'
    ],
    [
      "aliases: { a: mock/none }",
      "aliases.a names mock/none, which no provider serves; expected the id of a model of a provider"
    ],
    [
      "cors: { origins: [https://app.example.com/, app.example.com, '*'] }",
      'cors.origins[0] is "https://app.example.com/"; expected an origin such as https://app.example.com, or *',
      'cors.origins[1] is "app.example.com"; expected an origin such as https://app.example.com, or *'
    ],
    [
      "presets: { opnai: {}, openai: { timeout: {} } }",
      "presets.opnai is unknown, did you mean openai?; expected one of openai, azure, anthropic, groq, mistral, deepseek, together, " +
        "fireworks, xai, cerebras, openrouter, perplexity, gemini, ollama, vllm, lmstudio",
      "presets.openai.timeout is unknown, did you mean timeouts?; expected one of api_key, base_url, timeouts, account_objects, data_policy, service_tiers, models, api, " +
        "parameters"
    ],
    [
      "presets: { openai: { base_url: 'https://a.test/v1' }, azure: { api_key: k }, ollama: { api_key: k } }",
      "presets.openai.base_url is set without api_key; expected the vendor's key in api_key",
      "presets.azure.base_url is missing; expected the address of Azure OpenAI, which has no default",
      "presets.ollama.api_key enables Ollama, whose models are unknown; expected a provider with the slug ollama and its models"
    ],
    [
      "presets: { openai: { api_key: '${sealed:openai} ', base_url: '${sealed:x}' } }",
      "presets.openai.api_key holds ${sealed:openai}; expected a sealed key as the whole api_key of a provider",
      "presets.openai.base_url holds ${sealed:x}; expected a sealed key as the whole api_key of a provider"
    ],
    [
      "presets: { gemini: { api: chat }, openai: { models: { openai/o3: { api: both } } } }",
      'presets.openai.models["openai/o3"].api is "both"; expected one of chat, responses',
      "presets.gemini.api is unknown; expected one of api_key, base_url, timeouts, account_objects, data_policy, service_tiers, models"
    ],
    [
      "presets: { openai: { service_tiers: { priority: -1 }, models: { openai/o3: { pricing: { prompt: 1, web_search: x } } } } }",
      "presets.openai.service_tiers.priority is -1; expected the factor of the prices, from 0 to 100",
      'presets.openai.models["openai/o3"].pricing.prompt is unknown; expected one of cache_write, ' +
        "cache_write_1h, prompt_audio, cached_audio, completion_audio, completion_image, request, web_search, service_tiers",
      'presets.openai.models["openai/o3"].pricing.web_search is "x"; expected USD per thousand calls, from 0 to 1000000'
    ],
    [
      provider("data_policy: { training: never, retention_days: -1 }"),
      'providers[0].data_policy.training is "never"; expected true or false',
      "providers[0].data_policy.retention_days is -1; expected a whole number of days from 0 to 36500, or null"
    ],
    [
      provider("", "[{ id: small, upstream: x, pricing: { prompt: -1, completion: x } }]"),
      'providers[0].models[0].id is "small"; expected author/slug, such as openai/gpt-4o-mini',
      `providers[0].models[0].pricing.prompt is -1; expected ${usd}`,
      `providers[0].models[0].pricing.completion is "x"; expected ${usd}`
    ],
    [
      provider("", "[{ id: a/b, pricing: { prompt: .nan } }]"),
      "providers[0].models[0].upstream is missing; expected what the provider calls the model",
      `providers[0].models[0].pricing.prompt is NaN; expected ${usd}`
    ],
    [
      provider("", "[{ id: a/b, upstream: b, pricing: { prompt: 1 } }, { id: a/c, upstream: c }]"),
      `providers[0].models[0].pricing.completion is missing; expected ${usd} (optional only for a model with embeddings: true)`,
      "providers[0].models[1].pricing is missing; expected a mapping of prompt, completion, cached_prompt, cache_write, cache_write_1h, prompt_audio, cached_audio, completion_audio, completion_image, request, web_search, tiers, service_tiers"
    ],
    [
      provider("", "[{ id: a/b, upstream: b, pricing: { prompt: 1, completion: 1 } }, { id: a/b, upstream: 5 }]"),
      "providers[0].models[1].upstream is 5; expected what the provider calls the model",
      "providers[0].models[1].pricing is missing; expected a mapping of prompt, completion, cached_prompt, cache_write, cache_write_1h, prompt_audio, cached_audio, completion_audio, completion_image, request, web_search, tiers, service_tiers",
      "providers[0].models[1].id repeats providers[0].models[0].id; expected an id that no other model of this provider has"
    ],
    [
      provider(
        "",
        "[{ id: a/b, upstream: b, pricing: { prompt: 1, completion: 1, tiers: [{ above_prompt_tokens: 9, prompt: 2, completion: 2 }, { above_prompt_tokens: 9, prompt: 3 }] } }]"
      ),
      `providers[0].models[0].pricing.tiers[1].completion is missing; expected ${usd} (optional only for a model with embeddings: true)`,
      "providers[0].models[0].pricing.tiers[1].above_prompt_tokens repeats providers[0].models[0].pricing.tiers[0].above_prompt_tokens; expected a length that no other tier begins at"
    ],
    [
      provider("") + provider("").replace("providers:\n", ""),
      "providers[1].slug repeats providers[0].slug; expected a slug that no other provider has"
    ],
    [
      "routing: { default_sort: cheap, retries: 11, hedge_after_ms: soon, models_fallback: [small] }",
      'routing.default_sort is "cheap"; expected one of price, throughput, latency',
      "routing.retries is 11; expected a whole number from 0 to 10",
      'routing.hedge_after_ms is "soon"; expected milliseconds, from 1 to 600000, or null',
      'routing.models_fallback[0] is "small"; expected author/slug, such as openai/gpt-4o-mini'
    ],
    [
      "routing: { models_fallback: [mock/echo, mock/gone] }",
      "routing.models_fallback[1] names a model that no provider serves; expected the id of a model of a provider"
    ],
    [
      "tiers: { gold: {}, free: { concurrency: 0, monthly_budget_usd: -1 } }",
      "tiers.gold is unknown; expected one of free, pro, enterprise",
      "tiers.free.concurrency is 0; expected a whole number from 1 to 1000000000",
      "tiers.free.monthly_budget_usd is -1; expected USD a month from 0 to 1000000, or null"
    ],
    [
      "cache: { enabled: maybe, ttl_seconds: 1.5, scope: all, max_entries: [] }",
      'cache.enabled is "maybe"; expected true or false',
      "cache.ttl_seconds is 1.5; expected a whole number of seconds from 1 to 31536000",
      'cache.scope is "all"; expected one of key, owner',
      "cache.max_entries is a list; expected a whole number of entries from 1 to 100000000"
    ],
    [
      "idempotency: { enabled: 1, ttl_seconds: 59, key: x }",
      "idempotency.key is unknown; expected one of enabled, ttl_seconds",
      "idempotency.enabled is 1; expected true or false",
      "idempotency.ttl_seconds is 59; expected a whole number of seconds from 60 to 2592000"
    ],
    ["responses: { retention_days: 0 }", "responses.retention_days is 0; expected whole days, from 1 to 3650, or null"],
    [
      "generations: { retention_days: 0 }",
      "generations.retention_days is 0; expected whole days, from 1 to 36500, or null"
    ],
    [
      "generations: { archive_days: 1 }",
      "generations.archive_days is 1; expected whole days, from 2 to 36500, or null"
    ],
    [
      "generations: { archive_days: 30, retention_days: 30 }",
      "generations.archive_days is not before their deletion; expected fewer days than generations.retention_days"
    ],
    ["markup: -0.1", "markup is -0.1; expected a fraction from 0 to 10 (0.05 adds five per cent)"],
    ["privacy: mask", "privacy is a text; expected a mapping of mode, entities, patterns"],
    [
      "privacy: { entities: [email, name], patterns: [{ name: email, pattern: a }, { name: A, pattern: '' }] }",
      'privacy.entities[1] is "name"; expected one of email, phone, credit_card, iban, us_ssn, ip_address, secret',
      `privacy.patterns[0].name is "email"; expected ${patternName}`,
      `privacy.patterns[1].name is "A"; expected ${patternName}`,
      `privacy.patterns[1].pattern is empty; expected ${patternForm}`
    ],
    [
      "privacy: { patterns: [{ name: a, pattern: b }, { name: a, pattern: c }] }",
      "privacy.patterns[1].name repeats privacy.patterns[0].name; expected a name that no other pattern has"
    ],
    [
      'privacy: { patterns: [{ name: a, pattern: "(a+)+$" }, { name: b, pattern: "(?<=a)b" }, { name: c, pattern: "(" }] }',
      `privacy.patterns[1].pattern is not a valid RE2 pattern; expected ${patternForm}`,
      `privacy.patterns[2].pattern is not a valid RE2 pattern; expected ${patternForm}`
    ],
    [
      'webhooks: [{ url: "https://u:hunter2@h/", secret: hunter2, events: [key.lost] }]',
      `webhooks[0].url ${hidden}; expected an http:// or https:// address without credentials, query or fragment, such as https://hooks.example.com/tollgate`,
      `webhooks[0].secret ${hidden}; expected at least 16 characters`,
      'webhooks[0].events[0] is "key.lost"; expected one of budget.threshold, budget.exhausted, key.created, key.rotated, key.revoked, circuit.opened, circuit.closed, provider.refused'
    ],
    [
      "webhooks: [{ url: http://h/a, secret: sixteen-characters }, { url: http://h/a, secret: sixteen-characters }]",
      "webhooks[1].url repeats webhooks[0].url; expected an address that no other webhook has"
    ],
    ["privacy: { mode: hide }", 'privacy.mode is "hide"; expected one of off, mask, block'],
    [
      "auth: { oauth: { okta: { client_id: a, client_secret: b }, A_B: { client_id: a, client_secret: b } } }",
      "auth.oauth.okta.issuer is missing; expected the OIDC issuer's address (optional only for google and github)",
      "auth.oauth.A_B is not a provider's name; expected lower-case letters, digits and dashes; not a channel"
    ],
    [
      "auth: { oauth: { sms: { client_id: a, client_secret: b }, okta: { client_id: a, client_secret: b, issuer: http://okta.example.com } } }",
      "auth.oauth.sms is not a provider's name; expected lower-case letters, digits and dashes; not a channel",
      "auth.oauth.okta.issuer is not safe; expected an https:// address; http:// only on this machine"
    ],
    [
      "auth: { redirects: [//evil.example, '/\\evil.example', 'javascript:alert(1)'], trusted_proxies: [10.0.0.1/8, x], channels: [fax], allowed_domains: [localhost, Example.com] }",
      'auth.channels[0] is "fax"; expected one of email, sms',
      'auth.redirects[0] is "//evil.example"; expected an http:// or https:// address, or a path such as /console',
      'auth.redirects[1] is "/\\\\evil.example"; expected an http:// or https:// address, or a path such as /console',
      'auth.redirects[2] is "javascript:alert(1)"; expected an http:// or https:// address, or a path such as /console',
      'auth.trusted_proxies[0] is "10.0.0.1/8"; expected a network, such as 10.0.0.0/8',
      'auth.trusted_proxies[1] is "x"; expected a network, such as 10.0.0.0/8',
      'auth.allowed_domains[0] is "localhost"; expected a domain in lower case, such as example.com',
      'auth.allowed_domains[1] is "Example.com"; expected a domain in lower case, such as example.com'
    ],
    [
      "auth: { session_days: 0, new_users: { tier: gold, monthly_budget_usd: -1 }, limits: { global_minute: 0 }, email: { smtp_url: smtp://h, from: me } }",
      'auth.email.from is "me"; expected a sender, such as Example <codes@example.com>',
      "auth.session_days is 0; expected days, from 1 to 365",
      'auth.new_users.tier is "gold"; expected one of free, pro, enterprise',
      "auth.new_users.monthly_budget_usd is -1; expected USD a month from 0 to 1000000, or null",
      "auth.limits.global_minute is 0; expected a whole number from 1 to 1000000"
    ],
    [
      'auth: { email: { smtp_url: "http://hunter2" }, sms: { account: "" } }',
      `auth.email.smtp_url ${hidden}; expected smtp://user:password@host:587 or smtps://…`,
      "auth.sms.base_url is missing; expected an http:// or https:// address without credentials, query or fragment, such as " +
        "https://api.twilio.com",
      "auth.sms.account is empty; expected the account's name or id",
      "auth.sms.token is missing; expected the account's token",
      "auth.sms.from is missing; expected the sender's number or name, such as +15550100"
    ],
    [
      "markup: ${GONE}",
      "markup refers to GONE, which is unset or empty; expected GONE in the environment, or a default: ${GONE:-…}"
    ],
    [
      "markup: ${1}\nprivacy: { mode: '${OPEN' }",
      "markup holds a malformed ${…}; expected ${NAME} or ${NAME:-default}; $$ for a dollar sign",
      "privacy.mode holds a malformed ${…}; expected ${NAME} or ${NAME:-default}; $$ for a dollar sign"
    ]
  ]
  for (const [file, ...lines] of cases) {
    it.effect(file.replaceAll("\n", " ⏎ "), () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* messageOf({}, file), lines)
      })
    )
  }
})

describe("production", () => {
  const start = (file: string) =>
    Effect.map(
      Effect.result(Settings.load(sourceOf({ TOLLGATE_ENV: "production", GROQ_API_KEY: "k" }, file))),
      (loaded) => (loaded._tag === "Success" ? [] : loaded.failure.faults.map(({ setting }) => setting))
    )
  const smtp = "email: { smtp_url: smtp://127.0.0.1 }"

  it.effect("does not start with an admin key that could be guessed, and does not say it", () =>
    Effect.gen(function* () {
      const load = (key: string, environment = "production") =>
        Effect.map(
          Effect.result(
            Settings.load(
              sourceOf(
                { TOLLGATE_ENV: environment, TOLLGATE_ADMIN_KEY: key, GROQ_API_KEY: "k" },
                `auth: { channels: [] }`
              )
            )
          ),
          (loaded) => (loaded._tag === "Success" ? null : loaded.failure.message)
        )
      const random = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
      assert.isNull(yield* load(random))
      const alike = ["a".repeat(64), "abcabcabc".repeat(8), "012345678".repeat(4)]
      for (const weak of [random.slice(1), ...alike]) {
        const message = (yield* load(weak)) ?? assert.fail(`${weak} was taken`)
        assert.include(message, "TOLLGATE_ADMIN_KEY is too easy to guess for production; expected at least 32 random")
        assert.notInclude(message, weak)
        assert.isNull(yield* load(weak, "development"))
      }
    })
  )

  it.effect("does not start without a provider, and has the mock only where an entry makes it", () =>
    Effect.gen(function* () {
      const load = (file: string) =>
        Settings.load(sourceOf({ TOLLGATE_ENV: "production" }, `auth: { channels: [] }\n${file}`))
      assert.deepStrictEqual((yield* Effect.flip(load(""))).faults, [
        {
          setting: "providers",
          problem: "is empty, and production has no mock provider",
          expected: "an entry in the settings file, or a vendor's key in the environment, such as OPENAI_API_KEY"
        }
      ])
      const model = "{ id: mock/echo, upstream: echo, pricing: { prompt: 1, completion: 2 } }"
      const { providers } = yield* load(`providers: [{ slug: mock, dialect: mock, models: [${model}] }]`)
      assert.deepStrictEqual(
        providers.map(({ slug }) => slug),
        ["mock"]
      )
    })
  )

  it.effect("does not start where codes would show in a mailbox for everybody on the machine", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Settings.load(sourceOf({ TOLLGATE_ENV: "production" })))
      assert.match(
        error.message,
        /auth\.email is missing though TOLLGATE_ENV is production: .*; expected .*channels: \[\]/
      )
      assert.deepStrictEqual(yield* start("auth: { channels: [email] }"), ["auth.email"])
      assert.deepStrictEqual(yield* start(`auth: { channels: [email, sms], ${smtp} }`), ["auth.sms"])
      assert.deepStrictEqual(yield* start(`auth: { ${smtp} }`), [])
      assert.deepStrictEqual(yield* start("auth: { channels: [] }"), [])
    })
  )

  it.effect("does not start without the address to which identity providers send people back", () =>
    Effect.gen(function* () {
      const oauth = "oauth: { github: { client_id: a, client_secret: b } }"
      assert.deepStrictEqual(yield* start(`auth: { ${smtp}, ${oauth} }`), ["auth.issuer"])
      assert.deepStrictEqual(yield* start(`auth: { ${smtp}, ${oauth}, issuer: https://gateway.example.com }`), [])
    })
  )
})

it.effect("lists the faults of the environment and of the file together, and counts them", () =>
  Effect.gen(function* () {
    const error = yield* Effect.flip(Settings.load(sourceOf({ TOLLGATE_PORT: "x" }, "markup: 11")))
    assert.strictEqual(
      error.message,
      `2 settings are wrong:\n  TOLLGATE_PORT is "x"; expected ${port}\n  markup is 11; expected a fraction from 0 to 10 (0.05 adds five per cent)`
    )
    assert.deepStrictEqual(error.faults[0], { setting: "TOLLGATE_PORT", problem: 'is "x"', expected: port })
    assert.strictEqual(
      (yield* Effect.flip(Settings.load(sourceOf({}, "markup: 11")))).message.split("\n")[0],
      "1 setting is wrong:"
    )
  })
)

it.effect("does not print a value that came out of the environment, nor a long one", () =>
  Effect.gen(function* () {
    const file = `cache: { scope: "\${SCOPE}" }\nprivacy: { mode: ${"x".repeat(61)} }\nmarkup: \${SCOPE}`
    assert.deepStrictEqual(yield* messageOf({ SCOPE: "hunter2" }, file), [
      `cache.scope ${hidden}; expected one of key, owner`,
      `markup ${hidden}; expected a fraction from 0 to 10 (0.05 adds five per cent)`,
      `privacy.mode ${hidden}; expected one of off, mask, block`
    ])
  })
)

it.effect("a file that cannot be read is a fault of the setting that names it", () =>
  Effect.gen(function* () {
    const unreadable = (env: Record<string, string>) => ({
      ...sourceOf(env),
      readFile: () => Effect.fail(new FileUnreadable({ code: "EACCES" }))
    })
    const named = yield* Effect.flip(Settings.load(unreadable({ TOLLGATE_CONFIG: "a.yaml" })))
    const byDefault = yield* Effect.flip(Settings.load(unreadable({})))
    const expected = "the path of a YAML file that can be read"
    assert.deepStrictEqual(named.faults, [
      { setting: "TOLLGATE_CONFIG", problem: "names a file that cannot be read: a.yaml (EACCES)", expected }
    ])
    assert.deepStrictEqual(byDefault.faults, [
      { setting: "./tollgate.yaml", problem: "is a file that cannot be read (EACCES)", expected }
    ])
  })
)
