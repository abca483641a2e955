/** The headers of every kind of response, and the origin of its request id. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { Rejected } from "../../src/providers/Provider.ts"
import { scriptedOffer } from "../../src/testing/ScriptedProvider.ts"
import { TestApp } from "../support/TestApp.ts"
import { ask, delta, end, finish, helloReply, id, seen } from "./wire.ts"

const rejected = new Rejected({ status: 400, message: "no", param: null, code: null, contextLength: false })
const app = TestApp.layer({
  providers: [
    {
      slug: "alpha",
      config: {
        models: [
          scriptedOffer("test/small"),
          scriptedOffer("test/bad"),
          { ...scriptedOffer("test/embed"), embeddings: true }
        ]
      },
      models: {
        "test/small": { reply: helloReply, events: [delta({ content: "Hello" }), finish(), end] },
        "test/bad": { failure: rejected },
        "test/embed": { vectors: { vectors: [[1, 2]], usage: null } }
      }
    }
  ]
})

const limits = ["limit", "remaining", "reset"].flatMap((part) => [
  `x-ratelimit-${part}-requests`,
  `x-ratelimit-${part}-tokens`
])

it.effect("limits on every reply behind a rate limit; generation, cache status and provider if there are any", () =>
  Effect.gen(function* () {
    const { chat, issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey()
    const limited = yield* issueKey({ tier: "free", scopes: ["chat:write"] })
    const key = secret
    const gone = yield* Effect.forEach(Array.from({ length: 20 }), () => chat(ask("x"), { key: limited.secret }))
    assert.strictEqual(gone.at(-1)?.status, 200)
    const cases = [
      { name: "json", answer: chat(ask("1"), { key }), status: 200, has: ["generation", "miss", "alpha"] },
      { name: "json hit", answer: chat(ask("1"), { key }), status: 200, has: ["generation", "hit", "alpha"] },
      {
        name: "stream",
        answer: chat(ask("2", { stream: true }), { key }),
        status: 200,
        has: ["generation", "miss", "alpha"]
      },
      {
        name: "stream hit",
        answer: chat(ask("2", { stream: true }), { key }),
        status: 200,
        has: ["generation", "hit", "alpha"]
      },
      {
        name: "no-cache",
        answer: chat(ask("1"), { key, headers: { "cache-control": "no-cache" } }),
        status: 200,
        has: ["generation", "bypass", "alpha"]
      },
      {
        name: "no-store",
        answer: chat(ask("1"), { key, headers: { "cache-control": "no-store, max-age=0" } }),
        status: 200,
        has: ["generation", "bypass", "alpha"]
      },
      {
        name: "400",
        answer: chat(ask("1", { model: "test/bad" }), { key }),
        status: 400,
        has: ["generation", "miss"]
      },
      { name: "404", answer: chat(ask("1", { model: "no/such" }), { key }), status: 404, has: [] },
      { name: "429", answer: chat(ask("1"), { key: limited.secret }), status: 429, has: [] },
      {
        name: "embeddings",
        answer: send("/v1/embeddings", { key, body: { model: "test/embed", input: "x" } }),
        status: 200,
        has: ["generation", "alpha"]
      }
    ]
    for (const { answer, has, name, status } of cases) {
      const answered = yield* answer
      assert.strictEqual(answered.status, status, `${name}: ${answered.text}`)
      for (const header of limits) assert.isTrue(answered.headers.has(header), `${name}: ${header}`)
      assert.isTrue(answered.headers.has("x-request-id"), name)
      const found = [
        ...(answered.headers.has("x-generation-id") ? ["generation"] : []),
        answered.headers.get("x-tollgate-cache"),
        answered.headers.get("x-tollgate-provider")
      ].filter((part) => part !== null)
      assert.deepStrictEqual(found, has, name)
    }
  }).pipe(Effect.provide(app))
)

it.effect("responses outside of rate limits have a request id and none of the other headers", () =>
  Effect.gen(function* () {
    const { adminKey, issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey()
    const headers = { "x-admin-key": adminKey }
    const paths = ["/health", "/health/live", "/v1/models", "/v1/generations", "/v1/key", "/v1/keys", "/nowhere"]
    for (const path of [...paths, "/v1/admin/overview", "/openapi.json", "/docs"]) {
      const answered = seen(yield* send(path, { key: secret, headers }))
      assert.deepStrictEqual(
        Object.keys(answered.headers).filter((name) => name.startsWith("x-")),
        ["x-request-id"],
        path
      )
    }
  }).pipe(Effect.provide(app))
)

it.effect("X-Request-Id: accepted with 1 to 128 of [A-Za-z0-9._-], otherwise replaced", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const given = (sent: string) =>
      Effect.map(send("/nowhere", { headers: { "x-request-id": sent } }), ({ headers, text }) => {
        assert.strictEqual(JSON.parse(text).error.request_id, headers.get("x-request-id"), "the body says the same")
        return headers.get("x-request-id")
      })
    for (const accepted of ["a", "Az0._-", "x".repeat(128), "0191a2b3-c4d5-7e6f-8a9b-0c1d2e3f4a5b"]) {
      assert.strictEqual(yield* given(accepted), accepted)
    }
    let count = 1
    for (const refused of ["", "x".repeat(129), "a b", "a/b", "<script>", "a,b", 'a"b']) {
      assert.strictEqual(yield* given(refused), id("req", ++count), refused)
    }
  }).pipe(Effect.provide(app))
)

it.effect("no response names the software that it runs on", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const { headers } = yield* send("/health")
    for (const name of ["server", "x-powered-by"]) assert.isFalse(headers.has(name), name)
  }).pipe(Effect.provide(app))
)
