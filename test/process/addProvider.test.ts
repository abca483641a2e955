/**
 * Providers that are added, changed and removed while a gateway runs: over its API, with real
 * providers and a real settings file.
 */
import { assert, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type Gateway, startGateway, temporaryDirectory } from "../support/Gateway.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import { chatBody } from "../support/upstream/Bodies.ts"
import { upstream } from "./servers.ts"

/** Starts processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 })

const secret = "sk-s3cr3t-of-acme-0001"
const second = "sk-s3cr3t-of-acme-0002"
const comment = "# keep this comment\nrouting: { retries: 0 } # and this one\n"

const priced = (prompt: string, completion: string) => ({ prompt, completion })
const list = {
  object: "list",
  data: [
    { id: "small", object: "model", context_length: 8_000, pricing: priced("0.0000002", "0.0000004") },
    { id: "meta/large", object: "model" }
  ]
}
const refusal = { status: 401, json: { error: { message: `no such key ${secret}`, type: "invalid_request_error" } } }

interface Said {
  readonly status: number
  readonly body: {
    readonly text: string
    readonly backup: string | null
    readonly written: boolean
    readonly ok: boolean
    readonly models: ReadonlyArray<{ readonly id: string; readonly pricing: unknown; readonly listed: boolean | null }>
    readonly fault: { readonly reason: string; readonly message: string } | null
    readonly error: {
      readonly code: string
      readonly message: string
      readonly details: Readonly<Record<string, unknown>>
    }
    readonly data: ReadonlyArray<Readonly<Record<string, unknown>>>
  }
}

const askOf =
  (gateway: Gateway) =>
  (method: string, path: string, body?: unknown): Effect.Effect<Said> =>
    gateway
      .send(path, { method, headers: { "x-admin-key": gateway.adminKey }, ...(body === undefined ? {} : { body }) })
      .pipe(
        Effect.map(({ status, text }) => ({ status, body: JSON.parse(text) as Said["body"] })),
        Effect.orDie
      )

const acme = (base_url: string) => ({ slug: "acme", dialect: "openai", base_url })
const hello = { messages: [{ role: "user", content: "hello" }] }

it.live("a provider is tested, added, used, given another key and removed", () =>
  Effect.gen(function* () {
    const provider = yield* upstream
    const script = (model: string, behaviour: Behaviour) => Effect.promise(() => provider.script(model, behaviour))
    const directory = yield* temporaryDirectory
    const file = join(directory, "tollgate.yaml")
    writeFileSync(file, comment, { mode: 0o640 })
    const gateway = yield* startGateway({
      directory,
      secrets: [secret, second],
      env: { DATA_TOKEN: secret }
    })
    const ask = askOf(gateway)
    const { key } = yield* gateway.issueKey()
    const chat = gateway
      .send("/v1/chat/completions", { key, body: { model: "acme/small", ...hello } })
      .pipe(Effect.orDie)

    yield* script("", refusal)
    const untrusted = yield* ask("POST", "/v1/admin/providers/test", { ...acme(provider.url), api_key: secret })
    assert.deepInclude(untrusted.body, { ok: false, models: [] })
    assert.strictEqual(untrusted.body.fault?.reason, "key_refused")
    const notAdded = yield* ask("POST", "/v1/admin/providers", { ...acme(provider.url), api_key: secret })
    assert.deepStrictEqual([notAdded.status, notAdded.body.error.code], [422, "provider_test_failed"])
    assert.strictEqual(readFileSync(file, "utf8"), comment)

    yield* script("", { json: list })
    yield* script("small", { json: chatBody({ content: "Hello from acme" }) })
    const tested = yield* ask("POST", "/v1/admin/providers/test", { ...acme(provider.url), api_key: secret })
    assert.deepStrictEqual(
      tested.body.models.map(({ id, pricing }) => [id, pricing]),
      [
        ["acme/small", { prompt: 0.2, completion: 0.4, cached_prompt: null }],
        ["meta/large", null]
      ]
    )
    const added = yield* ask("POST", "/v1/admin/providers", { ...acme(provider.url), api_key: secret })
    assert.strictEqual(added.status, 200, JSON.stringify(added.body))
    const written = readFileSync(file, "utf8")
    assert.strictEqual(written, `${comment}\n${added.body.text}`)
    assert.include(written, "api_key: ${sealed:acme}")
    assert.strictEqual(statSync(file).mode & 0o777, 0o640)
    assert.strictEqual(readFileSync(added.body.backup ?? "", "utf8"), comment)
    assert.isFalse(existsSync(`${file}.lock`))

    const answered = yield* chat
    assert.deepStrictEqual([answered.status, answered.text.includes("Hello from acme")], [200, true])
    const authorizations = (requests: ReadonlyArray<{ readonly headers: Readonly<Record<string, unknown>> }>) =>
      requests.map(({ headers }) => headers["authorization"])
    assert.strictEqual(authorizations(yield* Effect.promise(provider.requests)).at(-1), `Bearer ${secret}`)

    const again = yield* ask("POST", "/v1/admin/providers", { ...acme(provider.url), api_key: secret })
    assert.deepStrictEqual([again.status, again.body.error.code], [409, "provider_exists"])

    const changed = yield* ask("PUT", "/v1/admin/providers/acme/key", { api_key: second })
    assert.deepStrictEqual([changed.status, changed.body.backup], [200, null])
    yield* chat
    assert.strictEqual(authorizations(yield* Effect.promise(provider.requests)).at(-1), `Bearer ${second}`)
    const byVariable = yield* ask("PUT", "/v1/admin/providers/acme/key", { key_env: "DATA_TOKEN" })
    assert.strictEqual(byVariable.status, 200)
    assert.include(readFileSync(file, "utf8"), "api_key: ${DATA_TOKEN}")
    assert.strictEqual((yield* ask("PUT", "/v1/admin/providers/acme/key", { api_key: second })).status, 200)

    // The key is there after a restart; under another admin key the gateway serves without it.
    yield* gateway.stop
    const restarted = yield* startGateway({ directory, secrets: [secret, second] })
    const usable = yield* restarted.send("/v1/chat/completions", { key, body: { model: "acme/small", ...hello } })
    assert.strictEqual(usable.status, 200)
    yield* restarted.stop
    const other = yield* startGateway({
      directory,
      secrets: [secret, second],
      env: { TOLLGATE_ADMIN_KEY: "tga-another-admin-key-of-the-tests" }
    })
    assert.include(other.output(), "tollgate providers set-key acme")
    const askOther = askOf(other)
    const lost = yield* other.send("/v1/chat/completions", { key, body: { model: "acme/small", ...hello } })
    assert.strictEqual(lost.status, 404)
    assert.strictEqual((yield* askOther("PUT", "/v1/admin/providers/acme/key", { api_key: second })).status, 200)
    assert.strictEqual(
      (yield* other.send("/v1/chat/completions", { key, body: { model: "acme/small", ...hello } })).status,
      200
    )

    const removed = yield* askOther("DELETE", "/v1/admin/providers/acme")
    assert.strictEqual(removed.status, 200, JSON.stringify(removed.body))
    assert.strictEqual(readFileSync(file, "utf8"), `${comment}\nproviders:\n`)
    assert.strictEqual((yield* askOther("DELETE", "/v1/admin/providers/acme")).status, 404)
    const trail = yield* askOther("GET", "/v1/admin/audit?limit=50")
    const events = trail.body.data.map(({ action, outcome }) => `${String(action)} ${String(outcome)}`)
    assert.includeMembers(events, [
      "provider.add refused",
      "provider.add done",
      "provider.change done",
      "provider.remove done"
    ])
    for (const text of [
      JSON.stringify(trail.body),
      ...readdirSync(directory)
        .filter((name) => name.startsWith("tollgate.yaml"))
        .map((name) => readFileSync(join(directory, name), "utf8"))
    ]) {
      assert.notInclude(text, "s3cr3t")
    }
  })
)

it.live("a choice that cannot be, or a file that cannot be written, says why and changes nothing", () =>
  Effect.gen(function* () {
    const provider = yield* upstream
    yield* Effect.promise(() => provider.script("", { json: list }))
    const gateway = yield* startGateway({ secrets: [secret], env: { GROQ_API_KEY: "gsk-of-the-environment" } })
    const ask = askOf(gateway)
    const faultOf = (body: unknown) =>
      Effect.map(
        ask("POST", "/v1/admin/providers", body),
        (said) => [said.status, said.body.error.code, said.body.error.message] as const
      )
    const file = join(gateway.directory, "tollgate.yaml")

    const cases: ReadonlyArray<readonly [body: unknown, status: number, code: string, words: string]> = [
      [{ preset: "opnai", api_key: secret }, 422, "unknown_preset", "Did you mean 'openai'?"],
      [{ preset: "openai" }, 422, "invalid_provider", "needs a key"],
      [{ preset: "azure", api_key: secret }, 422, "invalid_provider", "send its base URL"],
      [{ preset: "openai", api_key: `${secret} x` }, 422, "invalid_provider", "without spaces"],
      [{ preset: "openai", key_env: "DATABASE_URL" }, 422, "variable_refused", "DATABASE_URL cannot hold"],
      [{ preset: "openai", key_env: "TOLLGATE_ADMIN_KEY" }, 422, "variable_refused", "cannot hold"],
      [{ preset: "openai", key_env: "UNSET_KEY" }, 422, "variable_refused", "UNSET_KEY is not set"],
      [{ preset: "groq", api_key: secret }, 409, "provider_exists", "groq already"],
      [{ slug: "acme", dialect: "openai", api_key: secret }, 422, "invalid_provider", "needs its base URL"],
      [{ ...acme("https://user:pass@a.test/v1") }, 422, "invalid_provider", "without credentials"],
      [{ ...acme("http://169.254.169.254/v1"), api_key: secret }, 422, "provider_test_failed", "link-local"],
      [
        { ...acme("http://nowhere.invalid/v1"), api_key: secret },
        422,
        "provider_test_failed",
        "host nowhere.invalid is unknown"
      ],
      [{ ...acme("http://127.0.0.1:9/v1"), api_key: secret }, 422, "provider_test_failed", "refuses connections"],
      [{ ...acme(provider.url), models: [{ upstream: "meta/large" }] }, 422, "models_unpriced", "meta/large"]
    ]
    for (const [body, status, code, words] of cases) {
      const [got, gotCode, message] = yield* faultOf(body)
      assert.deepStrictEqual([got, gotCode], [status, code], JSON.stringify(body))
      assert.include(message, words)
      assert.notInclude(message, "s3cr3t")
    }
    const strict = yield* ask("POST", "/v1/admin/providers", { preset: "openai", apikey: "x" })
    assert.strictEqual(strict.status, 422)
    assert.isFalse(existsSync(file))

    const own = yield* ask("DELETE", "/v1/admin/providers/groq")
    assert.deepStrictEqual([own.status, own.body.error.code], [409, "provider_of_environment"])
    assert.include(own.body.error.message, "GROQ_API_KEY")

    // A file in a form that is not edited line by line: the text is for the operator.
    writeFileSync(file, '{ "routing": { "retries": 0 } }')
    const uneditable = yield* ask("POST", "/v1/admin/providers", { ...acme(provider.url), api_key: secret })
    assert.deepStrictEqual([uneditable.status, uneditable.body.error.code], [409, "settings_uneditable"])
    assert.include(String(uneditable.body.error.details["text"]), "slug: acme")
    const printed = yield* ask("POST", "/v1/admin/providers", { ...acme(provider.url), api_key: secret, write: false })
    assert.deepStrictEqual([printed.status, printed.body.written], [200, false])
    writeFileSync(file, printed.body.text)
    const reloaded = yield* ask("POST", "/v1/admin/settings/reload")
    assert.propertyVal(reloaded.body, "reloaded", true)
    const listed = yield* ask("GET", "/v1/admin/presets")
    assert.deepInclude(
      listed.body.data.find(({ slug }) => slug === "groq"),
      { in_use: true }
    )
    assert.strictEqual((yield* ask("GET", "/v1/admin/providers/acme")).status, 200)

    // A file that is broken already is not made worse.
    writeFileSync(file, "markup: -1\n")
    const broken = yield* ask("POST", "/v1/admin/providers", { ...acme(provider.url), slug: "beta", api_key: secret })
    assert.deepStrictEqual([broken.status, broken.body.error.code], [422, "invalid_provider"])
    assert.include(broken.body.error.message, "markup is -1")
    assert.strictEqual(readFileSync(file, "utf8"), "markup: -1\n")
  })
)
