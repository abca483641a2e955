/** 503: a store is down. The response says so, is never a 401, and nothing is served unmetered. */
import * as CacheMemory from "../../src/store/cache/CacheMemory.ts"
import * as LimitsMemory from "../../src/store/limits/LimitsMemory.ts"
import * as KeyRepoMemory from "../../src/store/keys/KeyRepoMemory.ts"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Ids } from "../../src/domain/Ids.ts"
import { layerScripted } from "../../src/testing/ScriptedProvider.ts"
import { gateway, memory } from "../../src/Server.ts"
import { CacheStore } from "../../src/store/cache/CacheStore.ts"
import { KeyRepo } from "../../src/store/keys/KeyRepo.ts"
import { GenerationStore } from "../../src/store/ledger/GenerationStore.ts"
import { Ledger } from "../../src/store/ledger/Ledger.ts"
import { LedgerReports } from "../../src/store/ledger/reports/LedgerReports.ts"
import * as LedgerMemory from "../../src/store/ledger/Memory.ts"
import { Limits } from "../../src/store/limits/Limits.ts"
import { StoreError } from "../../src/store/StoreError.ts"
import { each, type Surface } from "../support/surfaces.ts"
import { TestApp } from "../support/TestApp.ts"
import { testSettings } from "../support/testSettings.ts"
import { ask, envelope, helloReply, named, seen } from "./wire.ts"

const down = (dependency: "database" | "limit_store" | "cache") =>
  Effect.fail(new StoreError({ dependency, cause: new Error("connect ECONNREFUSED 10.0.0.5:5432, password hunter2") }))

/** The memory stores, with some failing members. */
interface Broken {
  readonly keys?: Partial<KeyRepo["Service"]>
  readonly ledger?: Partial<Ledger["Service"]>
  readonly generations?: Partial<GenerationStore["Service"]>
  readonly reports?: Partial<LedgerReports["Service"]>
  readonly limits?: Partial<Limits["Service"]>
  readonly cache?: Partial<CacheStore["Service"]>
}

const app = (broken: Broken) => {
  const calls: Array<string> = []
  const providers = layerScripted([
    {
      slug: "alpha",
      models: { "test/small": { reply: helloReply } },
      onCall: (_, kind) => void calls.push(kind)
    }
  ])
  const layer = TestApp.layerWith(testSettings).pipe(
    Layer.provideMerge(gateway(testSettings)),
    Layer.provideMerge(Layer.mergeAll(providers, memory)),
    Layer.provideMerge(
      Layer.mergeAll(
        Layer.effect(
          KeyRepo,
          Effect.map(KeyRepo, (whole) => ({ ...whole, ...broken.keys }))
        ).pipe(Layer.provide(KeyRepoMemory.layer)),
        Layer.mergeAll(
          Layer.effect(
            Ledger,
            Effect.map(Ledger, (whole) => ({ ...whole, ...broken.ledger }))
          ),
          Layer.effect(
            GenerationStore,
            Effect.map(GenerationStore, (whole) => ({ ...whole, ...broken.generations }))
          ),
          Layer.effect(
            LedgerReports,
            Effect.map(LedgerReports, (whole) => ({ ...whole, ...broken.reports }))
          )
        ).pipe(Layer.provideMerge(LedgerMemory.layer)),
        Layer.effect(
          Limits,
          Effect.map(Limits, (whole) => ({ ...whole, ...broken.limits }))
        ).pipe(Layer.provide(LimitsMemory.layer)),
        Layer.effect(
          CacheStore,
          Effect.map(CacheStore, (whole) => ({ ...whole, ...broken.cache }))
        ).pipe(Layer.provide(CacheMemory.layer({ maxEntries: 10 }))),
        Ids.layerSequence
      )
    )
  )
  return { calls, layer }
}

const refused = (dependency: "database") =>
  envelope({
    type: "dependency_unavailable",
    code: `${dependency}_unavailable`,
    message: "The gateway cannot reach a store that it needs to answer safely. Retry shortly.",
    retryable: true,
    retryAfter: 1,
    details: { dependency }
  })

const json = { "content-type": "application/json", "x-request-id": "r-1" }

it.effect("keys cannot be looked up: 503 and not 401", () => {
  const { calls, layer } = app({ keys: { findByPublicId: () => down("database") } })
  return Effect.gen(function* () {
    const { chat, issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey()
    const answer = { status: 503, headers: { ...json, "retry-after": "1" }, body: refused("database") }
    assert.deepStrictEqual(seen(yield* chat(ask("Hi"), { key: secret, ...named() })), answer)
    assert.deepStrictEqual(seen(yield* send("/v1/models", { key: secret, ...named() })), answer)
    assert.deepStrictEqual(calls, [])
  }).pipe(Effect.provide(layer))
})

/** Asks on a surface: the status, the code of the error, and how long to wait. */
const asked = (surface: Surface, key: string, stream = false) =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const { headers, status, text } = yield* send(surface.path, { key, body: surface.body({ text: "Hi", stream }) })
    assert.strictEqual(headers.get("content-type"), "application/json")
    assert.notMatch(text, /Hello|hunter2/)
    return [status, surface.read(text).error?.code, headers.get("retry-after")]
  })

each("the limit store is down: no model request is served", (surface) => {
  const { calls, layer } = app({ limits: { acquire: () => down("limit_store") } })
  return Effect.gen(function* () {
    const { secret } = yield* (yield* TestApp).issueKey()
    assert.deepStrictEqual(yield* asked(surface, secret), [503, "limit_store_unavailable", "1"])
    assert.deepStrictEqual(calls, [])
  }).pipe(Effect.provide(layer))
})

each(
  "the ledger cannot reserve: a capped key's request is not forwarded, an uncapped key's reply is not sent",
  (surface) => {
    const { calls, layer } = app({ ledger: { reserve: () => down("database"), settle: () => down("database") } })
    return Effect.gen(function* () {
      const { issueKey } = yield* TestApp
      const capped = yield* issueKey({ monthlyBudgetNano: 1_000_000_000 })
      const unavailable = [503, "database_unavailable", "1"]
      assert.deepStrictEqual(yield* asked(surface, capped.secret), unavailable)
      assert.deepStrictEqual(calls, [])
      const uncapped = yield* issueKey()
      for (const stream of [false, true]) {
        assert.deepStrictEqual(yield* asked(surface, uncapped.secret, stream), unavailable)
      }
    }).pipe(Effect.provide(layer))
  }
)

it.effect("a cache that is down counts as a miss", () => {
  const { calls, layer } = app({ cache: { get: () => down("cache"), set: () => down("cache") } })
  return Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    for (let count = 0; count < 2; count++) {
      const answered = yield* chat(ask("Hi"), { key: secret })
      assert.deepStrictEqual([answered.status, answered.headers.get("x-tollgate-cache")], [200, "miss"])
    }
    assert.deepStrictEqual(calls, ["chat", "chat"])
  }).pipe(Effect.provide(layer))
})

it.effect("reading back while the database is down: a 503 that does not reveal the cause", () => {
  const { layer } = app({
    keys: { list: () => down("database") },
    generations: { find: () => down("database"), list: () => down("database") },
    reports: { overview: () => down("database") }
  })
  return Effect.gen(function* () {
    const { adminKey, issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey()
    const headers = { "x-admin-key": adminKey, ...named().headers }
    const generation = "/v1/generations/gen_00000000000000000000000000000001"
    for (const path of [generation, "/v1/generations", "/v1/keys", "/v1/admin/overview"]) {
      const answered = yield* send(path, { key: secret, headers })
      assert.deepStrictEqual([answered.status, answered.text], [503, refused("database")], path)
    }
  }).pipe(Effect.provide(layer))
})

it.effect("health reports a database that is down as 503, and a cache as degraded", () =>
  Effect.gen(function* () {
    const report = (broken: Broken) =>
      Effect.gen(function* () {
        const { send } = yield* TestApp
        const [health, ready, live] = yield* Effect.all([send("/health"), send("/health/ready"), send("/health/live")])
        const { dependencies, status } = JSON.parse(health.text)
        return [
          health.status,
          status,
          dependencies.database.status,
          dependencies.cache.status,
          ready.status,
          live.status
        ]
      }).pipe(Effect.provide(app(broken).layer))
    assert.deepStrictEqual(yield* report({}), [200, "ok", "ok", "ok", 200, 200])
    assert.deepStrictEqual(yield* report({ ledger: { ping: down("database") } }), [
      503,
      "unavailable",
      "unavailable",
      "ok",
      503,
      200
    ])
    assert.deepStrictEqual(yield* report({ limits: { ping: down("limit_store") } }), [
      503,
      "unavailable",
      "ok",
      "ok",
      503,
      200
    ])
    assert.deepStrictEqual(yield* report({ cache: { ping: down("cache") } }), [
      200,
      "degraded",
      "ok",
      "unavailable",
      200,
      200
    ])
  })
)

it.effect("health checks its dependencies at most once a second", () => {
  let asked = 0
  const ping = Effect.sync(() => void asked++)
  return Effect.gen(function* () {
    const { send } = yield* TestApp
    yield* Effect.all(
      Array.from({ length: 10 }, (_, n) => send(n % 2 === 0 ? "/health" : "/health/ready")),
      { concurrency: "unbounded" }
    )
    assert.strictEqual(asked, 1)
    yield* TestClock.adjust("1 second")
    yield* send("/health")
    assert.strictEqual(asked, 2)
  }).pipe(Effect.provide(app({ ledger: { ping } }).layer))
})
