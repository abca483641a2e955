/** Pages of other origins: closed by default, open under /v1/ to the origins of the settings. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { ask, helloReply } from "../../contract/wire.ts"
import { defaultSettings } from "../../../src/Settings.ts"
import { TestApp } from "../../support/TestApp.ts"

const PAGE = "https://app.example.com"
const providers = [{ slug: "alpha", models: { "test/small": { reply: helloReply } } }]
const app = (corsOrigins?: ReadonlyArray<string>) =>
  TestApp.layer({
    providers,
    settings: corsOrigins === undefined ? {} : { server: { ...defaultSettings.server, corsOrigins } }
  })

const preflight = (path: string, origin = PAGE) =>
  Effect.flatMap(TestApp, ({ send }) =>
    send(path, {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-stainless-lang"
      }
    })
  )

const corsHeaders = (headers: Headers) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith("access-control-")))

it.effect("nothing is open by default", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const refused = yield* preflight("/v1/chat/completions")
    assert.deepStrictEqual([refused.status, corsHeaders(refused.headers)], [405, {}])
    assert.deepStrictEqual(corsHeaders((yield* send("/v1/models", { headers: { origin: PAGE } })).headers), {})
  }).pipe(Effect.provide(app()))
)

it.effect("an origin of the settings may ask, with its headers and without credentials", () =>
  Effect.gen(function* () {
    const allowed = yield* preflight("/v1/chat/completions")
    assert.strictEqual(allowed.status, 204)
    const { "access-control-expose-headers": exposed, ...rest } = corsHeaders(allowed.headers)
    assert.deepStrictEqual(rest, {
      "access-control-allow-origin": PAGE,
      "access-control-allow-methods": "GET, POST, PATCH, DELETE",
      "access-control-allow-headers": "authorization,content-type,x-stainless-lang",
      "access-control-max-age": "600"
    })
    assert.include(allowed.headers.get("vary") ?? "", "Origin")
    for (const name of ["x-request-id", "x-generation-id", "x-ratelimit-remaining-requests", "retry-after"]) {
      assert.include(exposed, name)
    }
    const other = yield* preflight("/v1/chat/completions", "https://evil.example.com")
    assert.deepStrictEqual([other.status, corsHeaders(other.headers)], [405, {}])
  }).pipe(Effect.provide(app([PAGE])))
)

it.effect("answers, streams and errors carry the headers", () =>
  Effect.gen(function* () {
    const { chat, issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey()
    const headers = { origin: PAGE }
    const answers = [
      yield* chat(ask("Hi"), { key: secret, headers }),
      yield* chat(ask("Hi", { stream: true }), { key: secret, headers }),
      yield* chat(ask("Hi", { model: "test/none" }), { key: secret, headers }),
      yield* chat(ask("Hi"), { key: "tg-none", headers }),
      yield* send("/v1/nowhere", { headers })
    ]
    assert.deepStrictEqual(
      answers.map(({ headers, status }) => [status, headers.get("access-control-allow-origin")]),
      [
        [200, PAGE],
        [200, PAGE],
        [404, PAGE],
        [401, PAGE],
        [404, PAGE]
      ]
    )
    for (const answer of answers) assert.isNull(answer.headers.get("access-control-allow-credentials"))
  }).pipe(Effect.provide(app([PAGE])))
)

it.effect("sign-in, the console and the metrics stay closed, and OPTIONS without an origin is a 405", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    for (const path of ["/auth/refresh", "/auth/logout", "/console", "/metrics", "/health"]) {
      assert.deepStrictEqual(corsHeaders((yield* preflight(path)).headers), {}, path)
      const asked = yield* send(path, { method: "POST", body: {}, headers: { origin: PAGE } })
      assert.deepStrictEqual(corsHeaders(asked.headers), {}, path)
    }
    assert.strictEqual((yield* send("/v1/models", { method: "OPTIONS" })).status, 405)
  }).pipe(Effect.provide(app(["*"])))
)

it.effect("`*` opens the API to any page", () =>
  Effect.gen(function* () {
    const allowed = yield* preflight("/v1/models", "https://any.example.com")
    assert.strictEqual(allowed.status, 204)
    assert.strictEqual(allowed.headers.get("access-control-allow-origin"), "*")
    assert.isNull(allowed.headers.get("access-control-allow-credentials"))
  }).pipe(Effect.provide(app(["*"])))
)
