/**
 * Keys in great number: status and order of the list, owners by name, and changes of many at once.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { id } from "../../contract/wire.ts"
import { TestApp } from "../../support/TestApp.ts"

const app = TestApp.layer({ providers: [] })

const admin = (path: string, body?: unknown) =>
  Effect.gen(function* () {
    const { adminKey, send } = yield* TestApp
    const { status, text } = yield* send(path, {
      headers: { "x-admin-key": adminKey },
      ...(body === undefined ? {} : { body })
    })
    return { status, body: JSON.parse(text) as ReturnType<typeof JSON.parse> }
  })

it.effect("the list is filtered by status and sorted in both directions", () =>
  Effect.gen(function* () {
    const { issueKey } = yield* TestApp
    const day = 86_400_000
    yield* issueKey({ name: "a", expiresAtMs: 2 * day })
    yield* issueKey({ name: "b", expiresAtMs: 1 })
    const { id: disabled } = yield* issueKey({ name: "c" })
    const { id: revoked } = yield* issueKey({ name: "d" })
    yield* TestClock.adjust("1 day")
    yield* admin("/v1/keys/bulk", { action: "disable", ids: [disabled] })
    yield* admin("/v1/keys/bulk", { action: "revoke", ids: [revoked] })
    const listed = (query: string) =>
      Effect.map(admin(`/v1/keys?${query}`), ({ body }) => [
        body.data.map((key: { readonly name: string }) => key.name).join(""),
        body.total
      ])
    assert.deepStrictEqual(yield* listed("status=active"), ["a", 1])
    assert.deepStrictEqual(yield* listed("status=expired"), ["b", 1])
    assert.deepStrictEqual(yield* listed("status=disabled"), ["c", 1])
    assert.deepStrictEqual(yield* listed("status=revoked"), ["d", 1])
    assert.deepStrictEqual(yield* listed("status=live&limit=1"), ["c", 2])
    for (const [query, names] of [
      ["order=asc", "abcd"],
      ["sort=name&order=asc", "abcd"],
      ["sort=name&order=desc", "dcba"],
      ["sort=expires", "bacd"],
      ["sort=expires&order=desc", "dcab"],
      ["sort=spent", "dcba"]
    ] as const) {
      assert.deepStrictEqual(yield* listed(query), [names, 4], query)
    }
    assert.strictEqual((yield* admin("/v1/keys?status=lost")).status, 422)
  }).pipe(Effect.provide(app))
)

it.effect("several keys are changed at once, and each id has its answer", () =>
  Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const [a, b, c] = [yield* issueKey(), yield* issueKey(), yield* issueKey()]
    const opens = (key: string) => Effect.map(send("/v1/key", { key }), ({ status }) => status)
    const bulk = (action: string, ids: ReadonlyArray<string>) =>
      Effect.map(admin("/v1/keys/bulk", { action, ids }), ({ body }) => body)
    assert.deepStrictEqual([yield* opens(a.secret), yield* opens(b.secret)], [200, 200])
    yield* bulk("disable", [b.id])
    yield* bulk("revoke", [c.id])
    const unknown = id("key", 77)
    const none = {
      outcome: "failed",
      status: null,
      error: { type: "not_found", code: "key_not_found", message: "There is no such key." }
    }
    assert.deepStrictEqual(yield* bulk("disable", [c.id, unknown, "anything", a.id, b.id]), {
      object: "bulk_change",
      action: "disable",
      changed: 1,
      unchanged: 1,
      failed: 3,
      data: [
        {
          id: c.id,
          outcome: "failed",
          status: "revoked",
          error: {
            type: "key_revoked",
            code: "key_revoked",
            message: "This key is revoked, which is final. Create another key."
          }
        },
        { id: unknown, ...none },
        { id: "anything", ...none },
        { id: a.id, outcome: "changed", status: "disabled", error: null },
        { id: b.id, outcome: "unchanged", status: "disabled", error: null }
      ]
    })
    assert.deepStrictEqual([yield* opens(a.secret), yield* opens(b.secret)], [401, 401])
    yield* bulk("enable", [a.id])
    assert.strictEqual(yield* opens(a.secret), 200)
    const revoked = yield* bulk("revoke", [a.id, b.id])
    assert.strictEqual(revoked.changed, 2)
    assert.strictEqual(yield* opens(a.secret), 401)
    assert.strictEqual((yield* admin(`/v1/keys/${a.id}`)).body.status, "revoked")
    for (const body of [
      { action: "disable", ids: [] },
      { action: "disable", ids: [a.id, a.id] },
      { action: "disable", ids: Array.from({ length: 501 }, (_, n) => id("key", n)) },
      { action: "delete", ids: [a.id] },
      { action: "disable", ids: [a.id], force: true }
    ]) {
      assert.strictEqual((yield* admin("/v1/keys/bulk", body)).status, 422, JSON.stringify(body))
    }
  }).pipe(Effect.provide(app))
)
