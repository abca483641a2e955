import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { defaultSettings, type SettingsShape } from "../../../src/Settings.ts"
import { openRaw } from "../../contract/client.ts"
import { until } from "../../contract/clock.ts"
import { helloReply, ask } from "../../contract/wire.ts"
import { TestApp } from "../../support/TestApp.ts"

const tiers = {
  free: { requestsPerMinute: 1, tokensPerMinute: 40_000, concurrency: 4 },
  pro: { requestsPerMinute: 24, tokensPerMinute: 400_000, concurrency: 32 },
  enterprise: { requestsPerMinute: 6_000, tokensPerMinute: 4_000_000, concurrency: 256 }
}
const app = TestApp.layer({
  providers: [{ slug: "alpha", models: { "test/small": { reply: helloReply } } }],
  settings: { tiers }
})

it.effect("an unreadable path is a 404; another method of a known path lists the allowed ones", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const code = (method: string, path: string) =>
      Effect.map(send(path, { method }), ({ status, text }) => [status, JSON.parse(text).error.code])
    assert.deepStrictEqual(yield* code("GET", "/v1/generations/%zz"), [404, "route_not_found"])
    assert.deepStrictEqual(yield* code("PUT", "/v1/generations/gen_1"), [405, "method_not_allowed"])
    for (const page of ["/", "/console", "/docs", "/llms.txt", "/openapi.json"]) {
      assert.deepStrictEqual(yield* code("POST", page), [405, "method_not_allowed"])
    }
  }).pipe(Effect.provide(app))
)

it.effect("an unknown path says which one was perhaps meant", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const hint = (path: string) =>
      Effect.map(send(path, { method: "POST", body: {} }), ({ status, text }) => {
        assert.strictEqual(status, 404, path)
        const { message } = JSON.parse(text).error
        const isBaseWrong = !/^\/v1\/(?!v1\/)/.test(path) && message.includes("Did you mean")
        assert.strictEqual(message.includes("The base URL ends in /v1."), isBaseWrong, path)
        return /Did you mean (\S+)\?/.exec(JSON.parse(text).error.message)?.[1]
      })
    const meant: ReadonlyArray<readonly [string, string | undefined]> = [
      ["/chat/completions", "/v1/chat/completions"],
      ["/v1/v1/chat/completions", "/v1/chat/completions"],
      ["/api/v1/chat/completions", "/v1/chat/completions"],
      ["/api/chat/completions", "/v1/chat/completions"],
      ["//v1/chat/completions", "/v1/chat/completions"],
      ["/v1/chat/completion", "/v1/chat/completions"],
      ["/models/test%2Fsmall", "/v1/models/test%2Fsmall"],
      ["/v1/v1/models/test/small", "/v1/models/test/small"],
      // GET /v1/generations and GET /v1/usage are no answers to a POST.
      ["/v1/moderations", undefined],
      ["/v1/images/generations", undefined],
      ["/v1/generations/%zz", undefined],
      ["/v1", undefined],
      ["/nothing/like/it", undefined]
    ]
    for (const [path, expected] of meant) {
      const found = path.includes("%zz")
        ? JSON.parse((yield* send(path)).text).error.message.includes("Did you mean")
          ? "hint"
          : undefined
        : yield* hint(path)
      assert.strictEqual(found, expected, path)
    }
  }).pipe(Effect.provide(app))
)

it.effect("resets are written in OpenAI's format: milliseconds, seconds, minutes", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const reset = (tier: "free" | "pro" | "enterprise") =>
      Effect.gen(function* () {
        const { secret } = yield* issueKey({ tier })
        return (yield* chat(ask("Hi"), { key: secret })).headers.get("x-ratelimit-reset-requests")
      })
    assert.strictEqual(yield* reset("enterprise"), "10ms")
    assert.strictEqual(yield* reset("pro"), "2.5s")
    assert.strictEqual(yield* reset("free"), "1m0s")
  }).pipe(Effect.provide(app))
)

it.effect("the headers of one response are in no other", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey({ tier: "pro" })
    const named = ["x-generation-id", "x-ratelimit-limit-requests", "x-tollgate-provider"]
    const answered = yield* chat(ask("Hi"), { key: secret })
    const refused = yield* chat(ask("Hi"), { key: "tg-none" })
    const again = yield* chat(ask("Hello"), { key: secret })
    for (const name of named) {
      assert.isNotNull(answered.headers.get(name), name)
      assert.isNull(refused.headers.get(name), name)
      assert.isNotNull(again.headers.get(name), name)
    }
    const ids = [answered, refused, again].map(({ headers }) => headers.get("x-request-id"))
    assert.strictEqual(new Set(ids).size, 3)
  }).pipe(Effect.provide(app))
)

it.effect("HEAD answers like GET without a body", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const { headers, status, text } = yield* send("/health", { method: "HEAD" })
    assert.deepStrictEqual([status, text, headers.get("content-type")], [200, "", "application/json"])
  }).pipe(Effect.provide(app))
)

it.effect("HEAD of the paths that clients probe is 200, without a key", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    for (const path of ["/", "/api/hello", "/api/hello?x=1"]) {
      const { headers, status, text } = yield* send(path, { method: "HEAD" })
      assert.deepStrictEqual([status, text, headers.has("x-request-id")], [200, "", true])
      // GET tells where the documents are, or is a 404.
      assert.strictEqual((yield* send(path)).status, path === "/" ? 200 : 404)
    }
    assert.strictEqual((yield* send("/api/other", { method: "HEAD" })).status, 404)
  }).pipe(Effect.provide(app))
)

it.effect("every response is counted by its status", () =>
  Effect.gen(function* () {
    const { adminKey, send } = yield* TestApp
    yield* send("/health")
    yield* send("/nowhere")
    yield* send("/nowhere")
    const { text } = yield* send("/v1/admin/overview", { headers: { "x-admin-key": adminKey } })
    assert.deepStrictEqual(JSON.parse(text).requests.by_status, { "200": 1, "404": 2 })
  }).pipe(Effect.provide(app))
)

it.effect("paths match exactly: by case, and without doubled slashes", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const status = (path: string) => Effect.map(send(path), (answered) => answered.status)
    assert.strictEqual(yield* status("/health/live"), 200)
    assert.strictEqual(yield* status("/health/live/"), 200)
    for (const path of ["/Health/live", "/HEALTH/LIVE", "/health//live", "//health/live"]) {
      assert.strictEqual(yield* status(path), 404, path)
    }
  }).pipe(Effect.provide(app))
)

it.effect("every response has nosniff; responses about keys and people have no-store", () =>
  Effect.gen(function* () {
    const { adminKey, chat, issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey()
    const headers = { "x-admin-key": adminKey }
    for (const answered of [
      yield* send("/v1/keys", { body: { name: "a" }, headers }),
      yield* send("/v1/keys", { headers }),
      yield* send("/v1/admin/settings", { headers }),
      yield* send("/v1/key", { key: secret }),
      yield* send("/auth/methods")
    ]) {
      assert.strictEqual(answered.headers.get("cache-control"), "no-store")
      assert.strictEqual(answered.headers.get("x-content-type-options"), "nosniff")
    }
    assert.strictEqual((yield* chat(ask("Hi"), { key: secret })).headers.get("x-content-type-options"), "nosniff")
    assert.strictEqual((yield* send("/nowhere")).headers.get("x-content-type-options"), "nosniff")
  }).pipe(Effect.provide(app))
)

const hsts = (settings: Partial<SettingsShape>, headers: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    return (yield* send("/health/live", { headers })).headers.get("strict-transport-security")
  }).pipe(Effect.provide(TestApp.layer({ settings })))

it.effect("HSTS is sent when a trusted proxy reports https, or when it is set", () =>
  Effect.gen(function* () {
    const trusting = { auth: { ...defaultSettings.auth, trustedProxies: ["127.0.0.0/8"] } }
    const byHttps = { "x-forwarded-proto": "https" }
    assert.isNull(yield* hsts({}, byHttps))
    assert.isNull(yield* hsts(trusting, { "x-forwarded-proto": "http" }))
    assert.strictEqual(yield* hsts(trusting, byHttps), "max-age=31536000")
    const server = (hsts: "always" | "never") => ({ server: { ...defaultSettings.server, hsts } })
    assert.strictEqual(yield* hsts(server("always"), {}), "max-age=31536000")
    assert.isNull(yield* hsts({ ...trusting, ...server("never") }, byHttps))
  })
)

/** The response to bytes that HTTP clients cannot send. */
const raw = (url: string, text: string) =>
  Effect.gen(function* () {
    const socket = openRaw(url)
    socket.write(text)
    yield* until(() => socket.text().includes("}}"))
    const answered = socket.text()
    socket.hangUp()
    return answered
  })

it.effect("unparsable requests are refused in the same form, with an id", () =>
  Effect.gen(function* () {
    const { url } = yield* TestApp
    for (const [text, status, code] of [
      ["NONSENSE\r\n\r\n", "400 Bad Request", "malformed_request"],
      [
        `GET / HTTP/1.1\r\nhost: x\r\nx-a: ${"a".repeat(20_000)}\r\n\r\n`,
        "431 Request Header Fields Too Large",
        "headers_too_large"
      ],
      ["GET /health/live HTTP/1.1\r\nhost: a\r\nHost: b\r\n\r\n", "400 Bad Request", "malformed_request"]
    ] as const) {
      const answered = yield* raw(url, text)
      assert.isTrue(answered.startsWith(`HTTP/1.1 ${status}\r\n`), answered)
      assert.match(answered, /\r\nx-request-id: req_\w+\r\n/i)
      assert.match(answered, /\r\ncontent-type: application\/json\r\n/i)
      assert.include(answered, `"code":"${code}"`)
    }
  }).pipe(Effect.provide(app))
)

it.effect("a malformed address below /console is the page or a 404, never an internal error", () =>
  Effect.gen(function* () {
    const { url } = yield* TestApp
    const socket = openRaw(url)
    socket.write("GET http://[/console HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
    yield* until(() => socket.text().includes("\r\n\r\n"))
    assert.notMatch(socket.text(), /^HTTP\/1.1 500/)
    socket.hangUp()
  }).pipe(Effect.provide(app))
)
