import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { helloReply, id } from "../../contract/wire.ts"
import { TestApp } from "../../support/TestApp.ts"

const app = TestApp.layer({ providers: [{ slug: "alpha", models: { "test/small": { reply: helloReply } } }] })

/** Sends a request with the admin key and returns status and body. */
const admin = (method: string, path: string, body?: unknown) =>
  Effect.gen(function* () {
    const { adminKey, send } = yield* TestApp
    const answered = yield* send(path, { method, body, headers: { "x-admin-key": adminKey } })
    return { status: answered.status, body: JSON.parse(answered.text) }
  })

const opens = (secret: string) =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    return (yield* send("/v1/key", { key: secret })).status
  })

const record = {
  object: "api_key",
  id: id("key", 3),
  name: "ci",
  tier: "free",
  scopes: ["chat:write", "embeddings:write", "models:read", "generations:read", "privacy:preview"],
  status: "active",
  monthly_budget_usd: 5,
  allowed_models: null,
  privacy: null,
  rate_limits: { requests_per_minute: 20, tokens_per_minute: 40_000, concurrency: 4 },
  usage: {
    month_spent_usd: 0,
    month_reserved_usd: 0,
    month_remaining_usd: 5,
    resets_at: "1970-02-01T00:00:00.000Z"
  },
  owner: null,
  created_at: "1970-01-01T00:00:00.000Z",
  updated_at: "1970-01-01T00:00:00.000Z",
  last_used_at: null,
  expires_at: null,
  revoked_at: null
}

it.effect("a key without a budget gets its tier's; null means no budget", () =>
  Effect.gen(function* () {
    const budgetOf = (body: object) =>
      Effect.map(admin("POST", "/v1/keys", { name: "a", ...body }), ({ body }) => body.monthly_budget_usd)
    assert.strictEqual(yield* budgetOf({ tier: "free" }), 5)
    assert.strictEqual(yield* budgetOf({ tier: "pro" }), 100)
    assert.isNull(yield* budgetOf({ tier: "enterprise" }))
    assert.isNull(yield* budgetOf({ tier: "free", monthly_budget_usd: null }))
    assert.strictEqual(yield* budgetOf({ tier: "free", monthly_budget_usd: 7 }), 7)
    assert.strictEqual(yield* budgetOf({ tier: "enterprise", monthly_budget_usd: 8 }), 8)
  }).pipe(Effect.provide(app))
)

it.effect("a new key has defaults; the secret is in this response and in no other", () =>
  Effect.gen(function* () {
    const made = yield* admin("POST", "/v1/keys", { name: "ci" })
    assert.strictEqual(made.status, 200)
    const { key, prefix, ...rest } = made.body
    assert.deepStrictEqual(rest, record)
    assert.strictEqual(prefix, `${key.slice(0, 7)}…`)
    assert.deepStrictEqual(Object.keys(made.body).slice(0, 3), ["object", "id", "key"])
    assert.strictEqual(yield* opens(key), 200)
    const [list, got] = [yield* admin("GET", "/v1/keys"), yield* admin("GET", `/v1/keys/${id("key", 3)}`)]
    assert.deepStrictEqual(list.body, {
      object: "list",
      data: [{ ...record, prefix, owner_name: null }],
      total: 1,
      has_more: false,
      next_cursor: null
    })
    assert.deepStrictEqual(got.body, { ...record, prefix, owner_name: null })
    assert.notInclude(JSON.stringify([list, got]), key.split("-")[2])
  }).pipe(Effect.provide(app))
)

it.effect("a new key has the requested values", () =>
  Effect.gen(function* () {
    const asked = {
      name: "Zoë's key",
      tier: "pro",
      monthly_budget_usd: 12.345678901,
      allowed_models: ["test/small", "openai/*"],
      privacy: "mask",
      scopes: ["chat:write"],
      expires_at: "1970-01-02T01:00:00+01:00"
    }
    const { body, status } = yield* admin("POST", "/v1/keys", { ...asked, force: true })
    assert.strictEqual(status, 200)
    assert.deepInclude(body, { ...asked, expires_at: "1970-01-02T00:00:00.000Z" })
    assert.strictEqual(body.usage.month_remaining_usd, 12.345678901)
    assert.deepStrictEqual(body.rate_limits, { requests_per_minute: 300, tokens_per_minute: 400_000, concurrency: 32 })
    yield* TestClock.adjust("1 day")
    assert.strictEqual(yield* opens(body.key), 401)
    assert.strictEqual((yield* admin("GET", `/v1/keys/${body.id}`)).body.status, "expired")
  }).pipe(Effect.provide(app))
)

it.effect("the list is newest first, in pages without gaps or repeats", () =>
  Effect.gen(function* () {
    const made: Array<string> = []
    for (let count = 0; count < 5; count++) {
      made.unshift((yield* admin("POST", "/v1/keys", { name: `key ${count}` })).body.id)
    }
    const seen: Array<string> = []
    let path = "/v1/keys?limit=2"
    for (let pages = 1; ; pages++) {
      const { body } = yield* admin("GET", path)
      seen.push(...body.data.map((key: { id: string }) => key.id))
      assert.strictEqual(body.has_more, body.next_cursor !== null)
      if (!body.has_more) {
        assert.strictEqual(pages, 3)
        break
      }
      path = `/v1/keys?limit=2&cursor=${body.next_cursor}`
    }
    assert.deepStrictEqual(seen, made)
  }).pipe(Effect.provide(app))
)

it.effect("a change affects only the members that are sent; null removes a cap", () =>
  Effect.gen(function* () {
    const made = (yield* admin("POST", "/v1/keys", {
      name: "a",
      monthly_budget_usd: 5,
      allowed_models: ["a/b"],
      force: true
    })).body
    const path = `/v1/keys/${made.id}`
    yield* TestClock.adjust(1_000)
    const renamed = (yield* admin("PATCH", path, { name: "b", tier: "enterprise" })).body
    assert.deepInclude(renamed, {
      name: "b",
      tier: "enterprise",
      monthly_budget_usd: 5,
      updated_at: "1970-01-01T00:00:01.000Z"
    })
    const lifted = (yield* admin("PATCH", path, { monthly_budget_usd: null, allowed_models: null, privacy: "block" }))
      .body
    assert.deepInclude(lifted, { name: "b", monthly_budget_usd: null, allowed_models: null, privacy: "block" })
    assert.isNull((yield* admin("PATCH", path, { privacy: null })).body.privacy)
    assert.notProperty(lifted, "key")
    const disabled = (yield* admin("PATCH", path, { status: "disabled" })).body
    assert.strictEqual(disabled.status, "disabled")
    assert.strictEqual(yield* opens(made.key), 401)
    yield* admin("PATCH", path, { status: "active" })
    assert.strictEqual(yield* opens(made.key), 200)
  }).pipe(Effect.provide(app))
)

it.effect("a deleted key stays revoked", () =>
  Effect.gen(function* () {
    const made = (yield* admin("POST", "/v1/keys", { name: "a" })).body
    const path = `/v1/keys/${made.id}`
    assert.strictEqual(yield* opens(made.key), 200)
    const gone = yield* admin("DELETE", path)
    assert.deepInclude(gone.body, { status: "revoked", revoked_at: "1970-01-01T00:00:00.000Z" })
    assert.strictEqual(yield* opens(made.key), 401)
    assert.strictEqual((yield* admin("PATCH", path, { status: "active" })).body.error.code, "key_revoked")
    assert.strictEqual((yield* admin("GET", path)).body.status, "revoked")
  }).pipe(Effect.provide(app))
)

it.effect("a rotated key has a new secret and the same id; the old secret works for the grace period", () =>
  Effect.gen(function* () {
    const made = (yield* admin("POST", "/v1/keys", { name: "a" })).body
    const rotated = (yield* admin("POST", `/v1/keys/${made.id}/rotate`, { grace_seconds: 10 })).body
    assert.strictEqual(rotated.id, made.id)
    assert.notStrictEqual(rotated.key, made.key)
    assert.deepStrictEqual([yield* opens(made.key), yield* opens(rotated.key)], [200, 200])
    yield* TestClock.adjust("10 seconds")
    assert.deepStrictEqual([yield* opens(made.key), yield* opens(rotated.key)], [401, 200])
  }).pipe(Effect.provide(app))
)

it.effect("a revoked key cannot be rotated", () =>
  Effect.gen(function* () {
    const made = (yield* admin("POST", "/v1/keys", { name: "a" })).body
    yield* admin("DELETE", `/v1/keys/${made.id}`)
    const { body, status } = yield* admin("POST", `/v1/keys/${made.id}/rotate`, { grace_seconds: 10 })
    assert.deepStrictEqual([status, body.error.type, body.error.code], [409, "key_revoked", "key_revoked"])
    assert.strictEqual(yield* opens(made.key), 401)
  }).pipe(Effect.provide(app))
)

it.effect("404 for an unknown key, on every endpoint", () =>
  Effect.gen(function* () {
    for (const key of ["key_x", id("key", 77), id("gen", 1)]) {
      const answers = [
        yield* admin("GET", `/v1/keys/${key}`),
        yield* admin("PATCH", `/v1/keys/${key}`, { name: "b" }),
        yield* admin("DELETE", `/v1/keys/${key}`),
        yield* admin("POST", `/v1/keys/${key}/rotate`, {})
      ]
      for (const { body, status } of answers) assert.deepStrictEqual([status, body.error.code], [404, "key_not_found"])
    }
  }).pipe(Effect.provide(app))
)

it.effect("a key reads its own scopes, spending and last use", () =>
  Effect.gen(function* () {
    const { chat, send } = yield* TestApp
    const made = (yield* admin("POST", "/v1/keys", { name: "a", monthly_budget_usd: 1, scopes: ["chat:write"] })).body
    yield* chat({ model: "test/small", messages: [{ role: "user", content: "Hi" }] }, { key: made.key })
    yield* TestClock.adjust("10 seconds")
    const own = JSON.parse((yield* send("/v1/key", { key: made.key })).text)
    assert.deepInclude(own, { id: made.id, scopes: ["chat:write"], last_used_at: "1970-01-01T00:00:00.000Z" })
    assert.deepStrictEqual(own.usage, {
      month_spent_usd: 0.000005,
      month_reserved_usd: 0,
      month_remaining_usd: 0.999995,
      resets_at: "1970-02-01T00:00:00.000Z"
    })
    assert.notProperty(own, "key")
  }).pipe(Effect.provide(app))
)

it.effect("the list is searched, sorted, filtered by owner and counted", () =>
  Effect.gen(function* () {
    const { adminKey, issueKey, send } = yield* TestApp
    for (const [name, ownerId] of [
      ["tenant 33", "usr_1"],
      ["Tenant 34", null],
      ["another", "usr_1"]
    ] as const) {
      yield* issueKey({ name, ownerId })
    }
    const listed = (query: string) =>
      Effect.map(send(`/v1/keys?${query}`, { headers: { "x-admin-key": adminKey } }), ({ text }) => {
        const { data, total } = JSON.parse(text)
        return [data.map((key: { readonly name: string }) => key.name), total]
      })
    assert.deepStrictEqual(yield* listed("sort=name"), [["another", "tenant 33", "Tenant 34"], 3])
    assert.deepStrictEqual(yield* listed("search=TENANT%203&limit=1"), [["Tenant 34"], 2])
    assert.deepStrictEqual(yield* listed("owner=usr_1"), [["another", "tenant 33"], 2])
    const refused = yield* send("/v1/keys?sort=size", { headers: { "x-admin-key": adminKey } })
    assert.strictEqual(refused.status, 422)
  }).pipe(Effect.provide(TestApp.layer({ providers: [] })))
)
