import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { ask } from "../../contract/wire.ts"
import { TestApp } from "../../support/TestApp.ts"
import { readAsAdmin, reportedApp } from "./reports.ts"

const app = reportedApp({ markup: 0.2 })

const read = (path: string, sent: { readonly key?: string }) =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const { status, text } = yield* send(path, sent)
    return { status, body: JSON.parse(text) }
  })

/** Two keys, two days, a failure and a cache hit. */
const used = Effect.gen(function* () {
  const { chat, issueKey } = yield* TestApp
  const [one, other] = [yield* issueKey({ ownerId: "usr_1" }), yield* issueKey()]
  yield* chat(ask("Hi"), { key: one.secret })
  yield* chat(ask("Hi"), { key: other.secret })
  yield* TestClock.adjust("1 day")
  yield* chat(ask("Hi again"), { key: one.secret })
  yield* chat(ask("Hi again"), { key: one.secret })
  yield* chat(ask("Hi", { model: "test/broken" }), { key: one.secret })
  return { one, other }
})

it.effect("a key's own usage by day, model and key, without that of other keys", () =>
  Effect.gen(function* () {
    const { one } = yield* used
    const { body, status } = yield* read("/v1/usage", { key: one.secret })
    assert.strictEqual(status, 200)
    assert.deepStrictEqual(body, {
      object: "usage",
      from: "1970-01-01T00:00:00.000Z",
      to: "1970-01-03T00:00:00.000Z",
      group_by: "day",
      data: [
        {
          day: "1970-01-01",
          requests: 1,
          failed: 0,
          refusals: 0,
          cache_hits: 0,
          prompt_tokens: 3,
          completion_tokens: 1,
          cached_tokens: 0,
          total_cost_usd: 0.000005,
          markup_usd: 0.000001,
          billed_usd: 0.000006,
          saved_usd: 0
        },
        {
          day: "1970-01-02",
          requests: 3,
          failed: 1,
          refusals: 0,
          cache_hits: 1,
          prompt_tokens: body.data[1].prompt_tokens,
          completion_tokens: 2,
          cached_tokens: 0,
          total_cost_usd: 0.000005,
          markup_usd: 0.000001,
          billed_usd: 0.000006,
          saved_usd: 0.000005
        }
      ],
      total: body.total,
      has_more: false
    })
    assert.deepInclude(body.total, { requests: 4, failed: 1, billed_usd: 0.000012, saved_usd: 0.000005 })

    const names = (query: string) =>
      Effect.map(read(`/v1/usage?${query}`, { key: one.secret }), ({ body }) =>
        body.data.map((row: Readonly<Record<string, unknown>>) => [row[body.group_by], row["requests"]])
      )
    assert.deepStrictEqual(yield* names("group_by=model"), [
      ["test/small", 3],
      ["test/broken", 1]
    ])
    assert.deepStrictEqual(yield* names("group_by=key"), [[one.id, 4]])
    assert.deepStrictEqual(yield* names("from=1970-01-02"), [["1970-01-02", 3]])
    assert.deepStrictEqual(yield* names("from=1970-01-01T13:00:00Z&to=1970-01-01T14:00:00Z"), [["1970-01-01", 1]])
    assert.deepStrictEqual(yield* names("to=1970-01-01"), [])
    // December and all usage, limited by the end alone.
    const december = yield* read("/v1/usage?to=1970-01-01T00:00:00Z", { key: one.secret })
    assert.strictEqual(december.body.from, "1969-12-01T00:00:00.000Z")
  }).pipe(Effect.provide(app))
)

it.effect("everyone's usage for the admin, also by owner and provider", () =>
  Effect.gen(function* () {
    const { one, other } = yield* used
    const names = (query: string) =>
      Effect.map(readAsAdmin(`/v1/admin/usage?${query}`), ({ body }) =>
        body.data.map((row: Readonly<Record<string, unknown>>) => [row[body.group_by], row["billed_usd"]])
      )
    assert.deepStrictEqual(yield* names("group_by=owner"), [
      ["usr_1", 0.000012],
      [null, 0.000006]
    ])
    assert.deepStrictEqual(yield* names("group_by=provider"), [["alpha", 0.000018]])
    assert.deepStrictEqual(yield* names("group_by=key"), [
      [one.id, 0.000012],
      [other.id, 0.000006]
    ])
    assert.deepStrictEqual(yield* names("group_by=day&to=1970-01-02"), [["1970-01-01", 0.000012]])
  }).pipe(Effect.provide(app))
)

it.effect("refuses requests without the scope or the admin key, and unknown groupings", () =>
  Effect.gen(function* () {
    const { issueKey } = yield* TestApp
    const { secret: key } = yield* issueKey()
    const poor = yield* issueKey({ scopes: ["chat:write"] })
    assert.strictEqual((yield* read("/v1/usage", { key: poor.secret })).status, 403)
    assert.strictEqual((yield* read("/v1/usage", {})).status, 401)
    assert.strictEqual((yield* read("/v1/admin/usage", { key })).status, 401)
    for (const query of ["group_by=owner", "from=yesterday"]) {
      assert.strictEqual((yield* read(`/v1/usage?${query}`, { key })).status, 422, query)
    }
    for (const span of ["from=1970-01-03&to=1970-01-02", "from=1968-12-30&to=1970-01-01"]) {
      const { body, status } = yield* read(`/v1/usage?${span}`, { key })
      assert.deepStrictEqual([status, body.error.code, body.error.param], [400, "invalid_span", "from"])
    }
    const refused = yield* readAsAdmin("/v1/admin/usage?group_by=month")
    assert.deepStrictEqual(refused.body.detail[0].loc, ["query", "group_by"])
  }).pipe(Effect.provide(app))
)

it.effect("refused requests are counted, by day, model, key and owner, and have rows of their own", () =>
  Effect.gen(function* () {
    const { chat, issueKey, send } = yield* TestApp
    const [one, other] = [
      yield* issueKey({ ownerId: "usr_1", name: "one" }),
      yield* issueKey({ scopes: ["models:read"], name: "a key" })
    ]
    yield* chat(ask("Hi"), { key: one.secret })
    yield* chat(ask("Hi", { model: "test/none" }), { key: one.secret })
    yield* chat(ask("Hi"), { key: other.secret })
    yield* send("/v1/models", { key: "tg-none" })
    yield* TestClock.adjust("2 minutes")
    const by = (query: string) =>
      Effect.map(readAsAdmin(`/v1/admin/usage?${query}`), ({ body }) => [
        body.data.map((row: Readonly<Record<string, unknown>>) => [
          row[body.group_by],
          row["requests"],
          row["refusals"],
          ...("key_name" in row ? [row["key_name"]] : [])
        ]),
        body.total.requests,
        body.total.refusals
      ])
    assert.deepStrictEqual(yield* by("group_by=day"), [[["1970-01-01", 1, 3]], 1, 3])
    assert.deepStrictEqual(yield* by("group_by=key"), [
      [
        [one.id, 1, 1, "one"],
        [other.id, 0, 1, "a key"],
        [null, 0, 1, null]
      ],
      1,
      3
    ])
    assert.deepStrictEqual(yield* by("group_by=model"), [
      [
        ["test/small", 1, 0],
        [null, 0, 3]
      ],
      1,
      3
    ])
    assert.deepStrictEqual(yield* by("group_by=provider"), [
      [
        ["alpha", 1, 0],
        [null, 0, 3]
      ],
      1,
      3
    ])
    assert.deepStrictEqual(yield* by(`group_by=day&key=${one.id}`), [[["1970-01-01", 1, 1]], 1, 1])
    assert.deepStrictEqual(yield* by("group_by=key&owner=usr_1"), [[[one.id, 1, 1, "one"]], 1, 1])
    assert.deepStrictEqual(yield* by("group_by=key&model=test/small"), [[[one.id, 1, 0, "one"]], 1, 0])
    assert.deepStrictEqual(yield* by("group_by=key&provider=alpha"), [[[one.id, 1, 0, "one"]], 1, 0])
    const own = yield* read("/v1/usage?group_by=model", { key: one.secret })
    assert.deepInclude(own.body.total, { requests: 1, refusals: 1 })

    const { adminKey } = yield* TestApp
    const csv = yield* send("/v1/admin/usage?group_by=key&format=csv", { headers: { "x-admin-key": adminKey } })
    assert.strictEqual(csv.headers.get("content-type"), "text/csv; charset=utf-8")
    const lines = csv.text.trim().split("\r\n")
    assert.strictEqual(
      lines[0],
      "key,key_name,requests,failed,refusals,cache_hits,prompt_tokens,completion_tokens,cached_tokens,total_cost_usd,markup_usd,billed_usd,saved_usd"
    )
    assert.match(lines[1] ?? "", new RegExp(`^${one.id},one,1,0,1,0,3,1,`))
    assert.deepStrictEqual(lines.slice(2), [`${other.id},a key,0,0,1,0,0,0,0,0,0,0,0`, ",,0,0,1,0,0,0,0,0,0,0,0"])
  }).pipe(Effect.provide(app))
)
