/** 401: one constant response for every invalid credential, and which header takes precedence. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { ApiKeys } from "../../src/gateway/keys/ApiKeys.ts"
import { TestApp } from "../support/TestApp.ts"
import { ask, envelope, helloReply, named, seen } from "./wire.ts"

const app = TestApp.layer({ providers: [{ slug: "alpha", models: { "test/small": { reply: helloReply } } }] })

const refused = {
  status: 401,
  headers: { "content-type": "application/json", "x-request-id": "r-1", "www-authenticate": "Bearer" },
  body: envelope({
    type: "authentication_error",
    code: "invalid_api_key",
    message:
      "No valid API key was sent. Send one as `Authorization: Bearer <key>` or `x-api-key: <key>`. Keys begin with `tg-`; " +
      "expired and revoked ones are refused alike. Admin keys go in `x-admin-key`."
  })
}

const refusedAdmin = {
  status: 401,
  headers: { "content-type": "application/json", "x-request-id": "r-1" },
  body: envelope({
    type: "authentication_error",
    code: "invalid_admin_key",
    message: "No valid admin key was sent. Send it as `x-admin-key: <key>`."
  })
}

it.effect("missing, unknown, malformed, revoked, disabled, expired: one response on every route behind a key", () =>
  Effect.gen(function* () {
    const { chat, issueKey, send } = yield* TestApp
    const accounts = yield* ApiKeys
    const [revoked, disabled, expiring, other] = yield* Effect.all([
      issueKey(),
      issueKey(),
      issueKey({ expiresAtMs: 1_000 }),
      issueKey()
    ])
    yield* accounts.revoke(revoked.id)
    yield* accounts.change(disabled.id, { state: "disabled" })
    yield* TestClock.adjust(1_000)
    const unknown = `${other.secret.slice(0, -1)}${other.secret.endsWith("A") ? "B" : "A"}`
    for (const key of [null, "", "tg-", "sk-something", unknown, revoked.secret, disabled.secret, expiring.secret]) {
      assert.deepStrictEqual(seen(yield* chat(ask("Hi"), { key, ...named() })), refused, String(key))
    }
    for (const path of ["/v1/models", "/v1/key", "/v1/generations", "/v1/generations/gen_x"]) {
      assert.deepStrictEqual(seen(yield* send(path, named())), refused, path)
    }
    assert.deepStrictEqual(seen(yield* send("/v1/embeddings", { body: {}, ...named() })), refused)
    assert.strictEqual((yield* chat(ask("Hi"), { key: other.secret })).status, 200)
  }).pipe(Effect.provide(app))
)

it.effect("accepts both headers, prefers the bearer token, and ignores other schemes", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    const status = (headers: Record<string, string>) => Effect.map(chat(ask("Hi"), { headers }), ({ status }) => status)
    assert.strictEqual(yield* status({ authorization: `Bearer ${secret}` }), 200)
    assert.strictEqual(yield* status({ authorization: `bearer ${secret}` }), 200)
    assert.strictEqual(yield* status({ "x-api-key": secret }), 200)
    assert.strictEqual(yield* status({ authorization: `Bearer ${secret}`, "x-api-key": "tg-wrong" }), 200)
    assert.strictEqual(yield* status({ authorization: "Bearer tg-wrong", "x-api-key": secret }), 401)
    assert.strictEqual(yield* status({ authorization: `Basic ${secret}` }), 401)
    assert.strictEqual(yield* status({ authorization: secret }), 401)
  }).pipe(Effect.provide(app))
)

it.effect("the admin key: missing, wrong, or an API key in its place", () =>
  Effect.gen(function* () {
    const { adminKey, issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey()
    const requests: ReadonlyArray<readonly [string, string, unknown]> = [
      ["POST", "/v1/keys", { name: "x" }],
      ["GET", "/v1/keys", undefined],
      ["GET", "/v1/keys/key_x", undefined],
      ["PATCH", "/v1/keys/key_x", {}],
      ["DELETE", "/v1/keys/key_x", undefined],
      ["POST", "/v1/keys/key_x/rotate", {}],
      ["GET", "/v1/admin/overview", undefined]
    ]
    for (const [method, path, body] of requests) {
      // Wrong credentials are counted per minute.
      yield* TestClock.adjust("1 minute")
      for (const sent of [undefined, "", "tga-wrong", secret, `${adminKey} `.repeat(2)]) {
        const headers = { ...named().headers, ...(sent === undefined ? {} : { "x-admin-key": sent }) }
        assert.deepStrictEqual(seen(yield* send(path, { method, body, headers })), refusedAdmin, `${method} ${path}`)
      }
      assert.deepStrictEqual(seen(yield* send(path, { method, body, key: secret, ...named() })), refusedAdmin)
    }
    assert.strictEqual((yield* send("/v1/keys", { headers: { "X-Admin-Key": adminKey } })).status, 200)
  }).pipe(Effect.provide(app))
)
