/**
 * Requests that the gateway's own endpoints refuse instead of guessing: misspelt members, odd dates
 * and numbers, unreadable names.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestApp } from "../support/TestApp.ts"
import { ask, helloReply } from "./wire.ts"

const app = TestApp.layer({ providers: [{ slug: "alpha", models: { "test/small": { reply: helloReply } } }] })

interface Fault {
  readonly loc: ReadonlyArray<string | number>
  readonly msg: string
  readonly type: string
}

const admin = Effect.fnUntraced(function* (method: string, path: string, body?: unknown) {
  const { adminKey, send } = yield* TestApp
  const { status, text } = yield* send(path, { method, body, headers: { "x-admin-key": adminKey } })
  return { status, body: JSON.parse(text) }
})

/** The faults of a 422 in a few words. */
const faultsOf = Effect.fnUntraced(function* (method: string, path: string, body?: unknown) {
  const answered = yield* admin(method, path, body)
  assert.strictEqual(
    answered.status,
    422,
    `${method} ${path} ${JSON.stringify(body)}: ${JSON.stringify(answered.body)}`
  )
  return answered.body.detail.map(({ loc, type }: Fault) => `${loc.join(".")} ${type}`)
})

const extra = (place: string) => [`${place} extra_forbidden`]

it.effect("a misspelt member of a body is refused with the nearest known name, and nothing changes", () =>
  Effect.gen(function* () {
    const made = (yield* admin("POST", "/v1/keys", { name: "a" })).body
    const path = `/v1/keys/${made.id}`
    const misspelt = yield* admin("POST", "/v1/keys", { name: "x", monthly_budget: 5 })
    assert.deepStrictEqual(misspelt.body.detail, [
      {
        loc: ["body", "monthly_budget"],
        msg: "Extra inputs are not permitted, did you mean 'monthly_budget_usd'?",
        type: "extra_forbidden",
        input: 5
      }
    ])
    assert.deepStrictEqual(yield* faultsOf("PATCH", path, { statuss: "disabled" }), extra("body.statuss"))
    assert.deepStrictEqual(
      yield* faultsOf("POST", `${path}/rotate`, { grace_second: 3600 }),
      extra("body.grace_second")
    )
    assert.deepStrictEqual(yield* faultsOf("PATCH", "/v1/admin/users/usr_1", { rol: "admin" }), extra("body.rol"))
    assert.deepStrictEqual(
      yield* faultsOf("PATCH", "/v1/admin/users/usr_1", { grants: { teir: "pro" } }),
      extra("body.grants.teir")
    )
    assert.deepStrictEqual(yield* faultsOf("POST", "/auth/logout", { token: "x" }), extra("body.token"))
    assert.deepStrictEqual(
      yield* faultsOf("POST", "/auth/register/email/start", { emial: "a@example.com" }),
      extra("body.emial")
    )
    assert.deepStrictEqual(
      (yield* admin("GET", "/v1/keys")).body.data.map(({ name }: { name: string }) => name),
      ["a"]
    )
  }).pipe(Effect.provide(app))
)

it.effect("a query string accepts only the parameters of its endpoint, also if there are none", () =>
  Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { id, secret } = yield* issueKey()
    for (const [method, path] of [
      ["GET", "/v1/keys?limt=1"],
      ["GET", `/v1/keys/${id}?limt=1`],
      ["POST", `/v1/keys/${id}/rotate?limt=1`],
      ["DELETE", `/v1/keys/${id}?limt=1`],
      ["GET", "/v1/admin/users?limt=1"],
      ["GET", "/v1/admin/usage?limt=1"],
      ["GET", "/v1/admin/generations?limt=1"],
      ["GET", "/v1/admin/timeseries?limt=1"],
      ["GET", "/v1/admin/overview?limt=1"],
      ["GET", "/v1/admin/settings?limt=1"],
      ["GET", "/v1/admin/models?limt=1"],
      ["GET", "/v1/admin/providers?limt=1"],
      ["GET", "/v1/admin/providers/mock?limt=1"],
      ["GET", "/v1/admin/audit?limt=1"],
      ["GET", "/v1/admin/refused-credentials?limt=1"],
      ["GET", "/v1/admin/webhooks?limt=1"],
      ["GET", "/v1/admin/webhooks/deliveries?limt=1"],
      ["GET", "/v1/admin/webhooks/dead-letters?limt=1"]
    ] as const) {
      assert.deepStrictEqual(yield* faultsOf(method, path), extra("query.limt"), path)
    }
    for (const path of ["/v1/generations?limt=1", "/v1/usage?limt=1", "/v1/key?limt=1"]) {
      const { status, text } = yield* send(path, { key: secret })
      assert.strictEqual(status, 422, path)
      assert.include(text, '"extra_forbidden"')
    }
    const { text } = yield* send("/v1/generations?limt=1", { key: secret })
    assert.include(text, "did you mean 'limit'?")
    const preview = yield* send("/v1/privacy/preview", { key: secret, body: { text: "Hi", entites: [] } })
    assert.strictEqual(preview.status, 422)
    assert.include(preview.text, "did you mean 'entities'?")
    for (const path of ["/v1/models?x=1", "/health?x=1", "/v1/chat/completions?x=1"]) {
      const answered = yield* path.startsWith("/v1/chat")
        ? send(path, { key: secret, body: ask("Hi") })
        : send(path, { key: secret })
      assert.strictEqual(answered.status, 200, path)
    }
  }).pipe(Effect.provide(app))
)

it.effect("names are counted in characters and contain no control characters, lone surrogates or blanks alone", () =>
  Effect.gen(function* () {
    const smile = "😀"
    assert.strictEqual((yield* admin("POST", "/v1/keys", { name: smile.repeat(200) })).status, 200)
    assert.deepStrictEqual(yield* faultsOf("POST", "/v1/keys", { name: smile.repeat(201) }), [
      "body.name string_too_long"
    ])
    assert.deepStrictEqual(yield* faultsOf("POST", "/v1/keys", { name: "a\u0000" }), [
      "body.name string_pattern_mismatch"
    ])
    for (const name of ["\ud800", "a\udc00b", " ", "\u2003\u3000"]) {
      assert.deepStrictEqual(yield* faultsOf("POST", "/v1/keys", { name }), ["body.name value_error"], name)
    }
    assert.deepStrictEqual(yield* faultsOf("POST", "/v1/keys", { name: "x", allowed_models: ["\ud800"] }), [
      "body.allowed_models.0 value_error"
    ])
    assert.deepStrictEqual(yield* faultsOf("POST", "/v1/admin/users", { email: "\ud800", role: "admin" }), [
      "body.email value_error"
    ])
  }).pipe(Effect.provide(app))
)

it.effect("a moment is RFC 3339 with a zone and an existing day; a report also accepts a day", () =>
  Effect.gen(function* () {
    const days = ["0.5", "foo 1", "99999", "1970-02-30", "1970-13-01", "1970-1-1", "", "+275760-09-13T00:00:00Z"]
    const moments = [
      ...days,
      "1970-02-30T00:00:00Z",
      "1970-01-02T00:00:00",
      "1970-01-02T00:00Z",
      "1970-01-02T24:00:00Z",
      "1970-01-02T00:00:00+25:00",
      "0000-01-01T00:00:00Z",
      "Fri, 02 Jan 1970 00:00:00 GMT"
    ]
    for (const text of moments) {
      const query = `from=${encodeURIComponent(text)}`
      assert.deepStrictEqual(yield* faultsOf("GET", `/v1/admin/usage?${query}`), ["query.from datetime_parsing"], text)
      assert.deepStrictEqual(yield* faultsOf("GET", `/v1/admin/generations?${query}`), ["query.from datetime_parsing"])
      assert.deepStrictEqual(yield* faultsOf("POST", "/v1/keys", { name: "x", expires_at: text }), [
        "body.expires_at datetime_parsing"
      ])
    }
    for (const text of ["1972-02-29T00:00:00Z", "1972-02-29t23:59:59.123456+05:30", "9999-12-31T23:59:59Z"]) {
      assert.strictEqual((yield* admin("POST", "/v1/keys", { name: "x", expires_at: text })).status, 200, text)
    }
    assert.strictEqual((yield* admin("GET", "/v1/admin/usage?from=1970-01-01&to=1970-01-02")).status, 200)
    assert.deepStrictEqual(yield* faultsOf("GET", "/v1/admin/generations?from=1970-01-01"), [
      "query.from datetime_parsing"
    ])
  }).pipe(Effect.provide(app))
)

it.effect("a number of a query string is a plain decimal integer", () =>
  Effect.gen(function* () {
    for (const text of ["0x10", "0b11", "1e1", "%205%20", "%2B5", "", "1.0", "one", "Infinity"]) {
      assert.deepStrictEqual(yield* faultsOf("GET", `/v1/keys?limit=${text}`), ["query.limit int_parsing"], text)
    }
    assert.deepStrictEqual(yield* faultsOf("GET", "/v1/keys?limit=-1"), ["query.limit greater_than_equal"])
    assert.deepStrictEqual(yield* faultsOf("GET", `/v1/keys?limit=${"9".repeat(30)}`), ["query.limit less_than_equal"])
    assert.strictEqual((yield* admin("GET", "/v1/keys?limit=010")).status, 200)
  }).pipe(Effect.provide(app))
)

it.effect("a change without effect is refused: an empty patch, or a revoked key", () =>
  Effect.gen(function* () {
    const { id } = (yield* admin("POST", "/v1/keys", { name: "a" })).body
    assert.deepStrictEqual(yield* faultsOf("PATCH", `/v1/keys/${id}`, {}), ["body too_short"])
    assert.deepStrictEqual(yield* faultsOf("PATCH", "/v1/admin/users/usr_1", {}), ["body too_short"])
    assert.deepStrictEqual(yield* faultsOf("PATCH", "/v1/admin/users/usr_1", { grants: {} }), ["body.grants too_short"])
    yield* admin("DELETE", `/v1/keys/${id}`)
    for (const body of [{ status: "active" }, { name: "b" }, { monthly_budget_usd: 1 }]) {
      const refused = yield* admin("PATCH", `/v1/keys/${id}`, body)
      assert.deepStrictEqual([refused.status, refused.body.error.code], [409, "key_revoked"])
    }
    const rotated = yield* admin("POST", `/v1/keys/${id}/rotate`)
    assert.deepStrictEqual([rotated.status, rotated.body.error.code], [409, "key_revoked"])
    assert.strictEqual((yield* admin("GET", `/v1/keys/${id}`)).body.name, "a")
  }).pipe(Effect.provide(app))
)

it.effect("a new key must be able to spend; a cap of zero stops an existing one", () =>
  Effect.gen(function* () {
    for (const monthly_budget_usd of [0, 1e-10, -1]) {
      assert.deepStrictEqual(yield* faultsOf("POST", "/v1/keys", { name: "x", monthly_budget_usd }), [
        "body.monthly_budget_usd greater_than_equal"
      ])
    }
    const { body } = yield* admin("POST", "/v1/keys", { name: "x", monthly_budget_usd: 1e-9 })
    assert.strictEqual(body.monthly_budget_usd, 1e-9)
    assert.deepStrictEqual(yield* faultsOf("PATCH", `/v1/keys/${body.id}`, { monthly_budget_usd: 1e-10 }), [
      "body.monthly_budget_usd value_error"
    ])
    const stopped = yield* admin("PATCH", `/v1/keys/${body.id}`, { monthly_budget_usd: 0 })
    assert.strictEqual(stopped.body.monthly_budget_usd, 0)
  }).pipe(Effect.provide(app))
)

it.effect("rotation needs no body", () =>
  Effect.gen(function* () {
    const { id } = (yield* admin("POST", "/v1/keys", { name: "a" })).body
    for (const body of [undefined, {}]) {
      assert.strictEqual((yield* admin("POST", `/v1/keys/${id}/rotate`, body)).status, 200, JSON.stringify(body))
    }
  }).pipe(Effect.provide(app))
)

it.effect("a new key must be usable: not expired, and with existing models unless the client sends force", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* faultsOf("POST", "/v1/keys", { name: "x", expires_at: "1970-01-01T00:00:00Z" }), [
      "body.expires_at datetime_future"
    ])
    const unknown = { name: "x", allowed_models: ["test/smal", "nobody/*", "test/small", "*"] }
    const { body } = yield* admin("POST", "/v1/keys", unknown)
    assert.deepStrictEqual(
      body.detail.map(({ loc, msg }: Fault) => [loc.join("."), msg]),
      [
        [
          "body.allowed_models.0",
          "Value error, no model has this name, did you mean 'test/small'? (`force: true` accepts it anyway)"
        ],
        ["body.allowed_models.1", "Value error, no model has this name (`force: true` accepts it anyway)"]
      ]
    )
    assert.deepStrictEqual(yield* faultsOf("POST", "/v1/keys", { name: "x", allowed_models: [] }), [
      "body.allowed_models too_short"
    ])
    const wrong = { expires_at: "1970-01-01T00:00:00Z", allowed_models: ["no/such", "", "test/*", 5] }
    assert.deepStrictEqual(yield* faultsOf("POST", "/v1/keys", wrong), [
      "body.name missing",
      "body.allowed_models.1 string_too_short",
      "body.allowed_models.3 string_type",
      "body.expires_at datetime_future",
      "body.allowed_models.0 value_error"
    ])
    assert.deepStrictEqual(yield* faultsOf("POST", "/v1/keys", { ...wrong, force: true }), [
      "body.name missing",
      "body.allowed_models.1 string_too_short",
      "body.allowed_models.3 string_type",
      "body.expires_at datetime_future"
    ])
    const made = (yield* admin("POST", "/v1/keys", { name: "x", allowed_models: ["small", "test/*"] })).body
    assert.deepStrictEqual(made.allowed_models, ["test/small", "test/*"])
    const patch = { allowed_models: ["no/such"] }
    assert.deepStrictEqual(yield* faultsOf("PATCH", `/v1/keys/${made.id}`, patch), [
      "body.allowed_models.0 value_error"
    ])
    const forced = yield* admin("PATCH", `/v1/keys/${made.id}`, { ...patch, force: true })
    assert.deepStrictEqual(forced.body.allowed_models, ["no/such"])
  }).pipe(Effect.provide(app))
)

it.effect("generations are filtered by known error types only", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* faultsOf("GET", "/v1/admin/generations?error=zzz"), ["query.error literal_error"])
    assert.strictEqual((yield* admin("GET", "/v1/admin/generations?error=provider_timeout")).status, 200)
  }).pipe(Effect.provide(app))
)
