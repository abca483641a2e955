/** Providers for operators, and the health for everybody: states, causes and figures. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { ask, helloReply } from "../../contract/wire.ts"
import { CredentialsRefused, ServerFault } from "../../../src/providers/Provider.ts"
import { OutageStore } from "../../../src/store/outages/OutageStore.ts"
import { TestApp } from "../../support/TestApp.ts"
import { triedOnce } from "../../support/testSettings.ts"
import { readAsAdmin } from "./reports.ts"

const app = TestApp.layer({
  providers: [
    {
      slug: "alpha",
      config: { baseUrl: "https://user:secret@api.alpha.test:8443/v1" },
      models: {
        "test/small": { delayMs: 100, reply: helloReply },
        "test/broken": { failure: new ServerFault({ status: 503, retryAfterMs: null }) }
      }
    },
    { slug: "locked", models: { "test/locked": { failure: new CredentialsRefused({ status: 401 }) } } },
    { slug: "unused", models: { "test/unused": { reply: helloReply } } }
  ],
  settings: { routing: triedOnce }
})

const asked = Effect.gen(function* () {
  const { chat, issueKey } = yield* TestApp
  const { secret } = yield* issueKey()
  const other = yield* issueKey()
  for (let count = 0; count < 5; count++) yield* chat(ask("Hi", { model: "test/broken" }), { key: secret })
  for (const key of [secret, other.secret]) yield* chat(ask("Hi", { model: "test/locked" }), { key })
  return secret
})

it.effect("providers: states, failures by type, uptime by hour and times of models, without credentials", () =>
  Effect.gen(function* () {
    const secret = yield* asked
    const { chat } = yield* TestApp
    yield* Effect.forkChild(chat(ask("Hi", { model: "test/small" }), { key: secret }), { startImmediately: true })
    const store = yield* OutageStore
    const cause = { errorType: "server_error", httpStatus: 503, message: "overloaded" }
    yield* store.record({
      provider: "alpha",
      model: "test/broken",
      opened: { id: `out_${"1".repeat(32)}`, atMs: 0, openings: 2, cause, process: "host:1" },
      closedAtMs: null,
      closedBy: null
    })
    const { body, status, text } = yield* readAsAdmin("/v1/admin/providers")
    assert.strictEqual(status, 200)
    assert.notInclude(text, "secret")
    const [alpha, locked, unused] = body.data
    assert.deepInclude(alpha, {
      slug: "alpha",
      address: "api.alpha.test:8443",
      status: "degraded",
      state: "open",
      since: "1970-01-01T00:00:00.000Z",
      why: { type: "server_error", status: 503, message: "overloaded" },
      opened_24h: 2,
      calls: 5,
      failed: 5,
      uptime: 0,
      errors: [{ type: "server_error", status: 503, count: 5 }]
    })
    assert.strictEqual(alpha.hours.length, 24)
    assert.deepInclude(alpha.hours[23], { start: "1970-01-01T00:00:00.000Z", calls: 5, failed: 5, uptime: 0 })
    assert.deepInclude(alpha.hours[22], { calls: 0, failed: 0, uptime: null })
    const states = alpha.models.map(({ id, state }: { id: string; state: string }) => [id, state])
    assert.deepStrictEqual(states, [
      ["test/small", "closed"],
      ["test/broken", "open"]
    ])
    assert.deepInclude(locked, { status: "down", state: "open", calls: 2, failed: 2 })
    assert.deepStrictEqual(locked.errors, [{ type: "credentials_refused", status: 401, count: 2 }])
    assert.deepInclude(unused, { status: "ok", state: "closed", since: null, calls: 0, uptime: null })

    // After half a minute the provider may be tried, and has not answered yet.
    yield* TestClock.adjust("1 minute")
    const later = (yield* readAsAdmin("/v1/admin/providers")).body.data
    assert.deepInclude(later[1], { status: "ok", state: "half_open", retry_at: null })
    const [small] = later[0].models
    assert.deepInclude(small, { id: "test/small", calls: 1, failed: 0, uptime: 1, last_failure: null })
    assert.deepStrictEqual([small.latency_ms.p50, small.time_to_first_token_ms], [99, null])

    const one = yield* readAsAdmin("/v1/admin/providers/alpha")
    assert.deepStrictEqual(one.body.outages, [
      {
        id: `out_${"1".repeat(32)}`,
        model: "test/broken",
        opened_at: "1970-01-01T00:00:00.000Z",
        closed_at: null,
        closed_by: null,
        openings: 2,
        why: { type: "server_error", status: 503, message: "overloaded" },
        process: "host:1"
      }
    ])
    assert.strictEqual((yield* readAsAdmin("/v1/admin/providers/none")).body.error.code, "provider_not_found")
  }).pipe(Effect.provide(app))
)

it.effect("the health says why it is degraded: by whom and since when, and no provider's words", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const report = Effect.map(send("/health"), ({ text }) => JSON.parse(text))
    assert.deepStrictEqual((yield* report).reasons, [])
    yield* TestClock.adjust("1 second")
    yield* asked
    const { providers, reasons, status } = yield* report
    assert.strictEqual(status, "degraded")
    assert.deepStrictEqual(reasons, [
      "The provider alpha gets no calls for 1 of 2 models since 1970-01-01T00:00:01.000Z.",
      "The provider locked gets no calls since 1970-01-01T00:00:01.000Z."
    ])
    const since = "1970-01-01T00:00:01.000Z"
    assert.deepStrictEqual(providers, [
      { slug: "alpha", status: "degraded", circuit: "open", since, models_down: 1 },
      { slug: "locked", status: "down", circuit: "open", since, models_down: 1 },
      { slug: "unused", status: "ok", circuit: "closed", since: null, models_down: 0 }
    ])
  }).pipe(Effect.provide(app))
)
