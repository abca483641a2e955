/**
 * The admin's reports except the overview: everyone's generations, the time series, all models, the
 * settings in force.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { ask } from "../../contract/wire.ts"
import { mockProvider } from "../../../src/providers/presets/Mock.ts"
import { defaultSettings } from "../../../src/Settings.ts"
import { TestApp } from "../../support/TestApp.ts"
import { readAsAdmin, reportedApp } from "./reports.ts"

const app = reportedApp()

it.effect("every report needs the admin key, and an API key is not enough", () =>
  Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey()
    for (const report of ["generations", "generations/gen_1", "timeseries", "models", "settings"]) {
      const path = `/v1/admin/${report}`
      assert.strictEqual((yield* send(path)).status, 401, path)
      assert.strictEqual((yield* send(path, { key: secret, headers: { "x-admin-key": secret } })).status, 401, path)
    }
  }).pipe(Effect.provide(app))
)

it.effect("everyone's generations: filtered, in pages, and each by its id", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const [one, other] = [yield* issueKey({ ownerId: "usr_1" }), yield* issueKey()]
    const first = yield* chat(ask("Hi"), { key: one.secret })
    yield* chat(ask("Hi", { model: "test/broken" }), { key: other.secret })
    yield* chat(ask("Hi"), { key: other.secret })
    const all = (yield* readAsAdmin("/v1/admin/generations")).body
    assert.deepStrictEqual(
      all.data.map((record: Record<string, unknown>) => [record["key_id"], record["owner"], record["error_type"]]),
      [
        [other.id, null, null],
        [other.id, null, "provider_error"],
        [one.id, "usr_1", null]
      ]
    )
    const count = (query: string) =>
      Effect.map(readAsAdmin(`/v1/admin/generations?${query}`), ({ body }) => [body.data.length, body.has_more])
    assert.deepStrictEqual(yield* count(`key=${other.id}`), [2, false])
    assert.deepStrictEqual(yield* count("error=any"), [1, false])
    assert.deepStrictEqual(yield* count("error=none&model=test/small"), [2, false])
    assert.deepStrictEqual(yield* count("provider=beta"), [0, false])
    assert.deepStrictEqual(yield* count("limit=2"), [2, true])
    assert.deepStrictEqual(yield* count(`limit=2&cursor=${all.data[1].id}`), [1, false])
    assert.deepStrictEqual(yield* count("from=1970-01-01T00:00:01Z"), [0, false])

    const id = first.headers.get("x-generation-id") ?? ""
    const { body: record } = yield* readAsAdmin(`/v1/admin/generations/${id}`)
    assert.deepInclude(record, { id, key_id: one.id, owner: "usr_1", provider: "alpha" })
    const absent = yield* readAsAdmin("/v1/admin/generations/gen_00000000000000000000000000000000")
    assert.deepStrictEqual([absent.status, absent.body.error.code], [404, "generation_not_found"])
    assert.strictEqual((yield* readAsAdmin("/v1/admin/generations?limit=0")).status, 422)
  }).pipe(Effect.provide(app))
)

it.effect("the last hour by minute and the last day by hour, gaps included", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    yield* TestClock.adjust("90 seconds")
    yield* chat(ask("Hi"), { key: secret })
    yield* chat(ask("Hi", { model: "test/broken" }), { key: secret })
    yield* chat(ask("Hi", { model: "no/such" }), { key: secret })
    yield* TestClock.adjust("1 second")
    const hour = (yield* readAsAdmin("/v1/admin/timeseries")).body
    assert.deepInclude(hour, {
      object: "timeseries",
      range: "hour",
      generated_at: "1970-01-01T00:01:31.000Z",
      bucket_s: 60
    })
    assert.strictEqual(hour.data.length, 60)
    assert.strictEqual(hour.data[0].start, "1969-12-31T23:02:00.000Z")
    assert.deepInclude(hour.data[58], { requests: 0, errors: {}, refusals: {}, latency_ms: null })
    assert.deepStrictEqual(hour.data[59], {
      start: "1970-01-01T00:01:00.000Z",
      requests: 2,
      errors: { provider_error: 1 },
      refusals: { model_not_found: 1 },
      cache_hits: 0,
      prompt_tokens: hour.data[59].prompt_tokens,
      completion_tokens: 1,
      spend_usd: 0.000005,
      saved_usd: 0,
      latency_ms: { p50: 0, p95: 0, p99: 0 },
      time_to_first_token_ms: null
    })

    const day = (yield* readAsAdmin("/v1/admin/timeseries?range=day")).body
    assert.deepStrictEqual([day.bucket_s, day.data.length, day.data[0].start], [3_600, 24, "1969-12-31T01:00:00.000Z"])
    assert.strictEqual(day.data[23].requests, 2)

    // The last hour is computed at most every two seconds.
    yield* chat(ask("Hi again"), { key: secret })
    const requests = Effect.map(readAsAdmin("/v1/admin/timeseries?range=hour"), ({ body }) => body.data[59].requests)
    assert.strictEqual(yield* requests, 2)
    yield* TestClock.adjust("2 seconds")
    assert.strictEqual(yield* requests, 3)
    assert.strictEqual((yield* readAsAdmin("/v1/admin/timeseries?range=year")).status, 422)
  }).pipe(Effect.provide(app))
)

it.effect("every model, independent of the keys' whitelists", () =>
  Effect.gen(function* () {
    const { body, status } = yield* readAsAdmin("/v1/admin/models")
    assert.strictEqual(status, 200)
    assert.deepStrictEqual(
      body.data.map(({ id }: { readonly id: string }) => id),
      ["test/broken", "test/small"]
    )
    assert.strictEqual(body.data[0].providers[0].slug, "alpha")
  }).pipe(Effect.provide(app))
)

it.effect("the settings in force: names as in the file, and no secret in any place", () =>
  Effect.gen(function* () {
    const { body, text } = yield* readAsAdmin("/v1/admin/settings")
    assert.strictEqual(body.object, "settings")
    assert.deepInclude(body.environment, {
      TOLLGATE_PORT: 8787,
      REDIS_URL: null,
      DATABASE_URL: "(hidden)",
      TOLLGATE_ADMIN_KEY: "(hidden)"
    })
    assert.strictEqual(body.settings.tiers.free.monthly_budget_usd, 5)
    assert.strictEqual(body.settings.ledger.lease_seconds, 150)
    assert.deepStrictEqual([body.file, body.sources], [null, {}])
    assert.deepInclude(body.settings.routing, { default_sort: "price", hedge_after_ms: null })
    assert.strictEqual(body.settings.tiers.free.requests_per_minute, 20)
    assert.deepInclude(body.settings.providers[0], {
      slug: "mock",
      api_key: "(hidden)",
      base_url: "https://(hidden)@provider.example/v1",
      headers: { "x-team": "(hidden)" },
      query: { "api-version": "(hidden)" }
    })
    assert.strictEqual(body.settings.auth.oauth["My-Idp"].client_secret, "(hidden)")
    assert.notInclude(text, "sesame")
  }).pipe(
    Effect.provide(
      TestApp.layer({
        settings: {
          adminKey: Redacted.make("sesame-admin"),
          databaseUrl: Redacted.make("postgres://user:sesame@host/db"),
          providers: [
            {
              ...mockProvider,
              baseUrl: "https://user:sesame@provider.example/v1",
              apiKey: Redacted.make("sesame-provider"),
              headers: { "x-team": "sesame" },
              query: { "api-version": "sesame" }
            }
          ],
          auth: {
            ...defaultSettings.auth,
            oauth: { "My-Idp": { clientId: "id", clientSecret: Redacted.make("sesame-oauth"), issuer: null } },
            email: { smtpUrl: Redacted.make("smtp://user:sesame@mail"), from: "codes@example.com" }
          }
        }
      })
    )
  )
)
