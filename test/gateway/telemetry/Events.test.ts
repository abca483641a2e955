/** The events of keys, circuits and budgets. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { type EventData, Events, type EventType } from "../../../src/domain/Events.ts"
import * as BudgetAlerts from "../../../src/gateway/billing/BudgetAlerts.ts"
import * as CircuitEvents from "../../../src/gateway/health/CircuitEvents.ts"
import { Circuits } from "../../../src/gateway/health/Circuits.ts"
import { CredentialsRefused, ProviderError, ServerFault } from "../../../src/providers/Provider.ts"
import { type Balance, Ledger } from "../../../src/store/ledger/Ledger.ts"
import * as LedgerMemory from "../../../src/store/ledger/Memory.ts"
import * as SentAlertsMemory from "../../../src/store/alerts/SentAlertsMemory.ts"
import { databaseError } from "../../../src/store/sql/SqlErrors.ts"
import { type StoreError } from "../../../src/store/StoreError.ts"
import { ask, helloReply } from "../../contract/wire.ts"
import { TestApp } from "../../support/TestApp.ts"
import { candidateWith, keyWith } from "../plans.ts"

const recorder = () => {
  const said: Array<readonly [EventType, EventData]> = []
  const listening = Layer.succeed(Events, { publish: (type, data) => Effect.sync(() => void said.push([type, data])) })
  return { said, listening }
}

it.effect("keys: issued, rotated and revoked, without a secret", () => {
  const { listening, said } = recorder()
  return Effect.gen(function* () {
    const { adminKey, issueKey, send } = yield* TestApp
    const { id, secret } = yield* issueKey({ name: "a key", tier: "pro" })
    const headers = { "x-admin-key": adminKey }
    const rotated = yield* send(`/v1/keys/${id}/rotate`, { headers, body: {} })
    assert.strictEqual(rotated.status, 200)
    assert.strictEqual((yield* send(`/v1/keys/${id}`, { headers, body: { name: "b" }, method: "PATCH" })).status, 200)
    assert.strictEqual((yield* send(`/v1/keys/${id}`, { headers, method: "DELETE" })).status, 200)
    assert.strictEqual((yield* send("/v1/keys/key_nobody/rotate", { headers, body: {} })).status, 404)
    assert.deepStrictEqual(
      said.map(([type, { key_id, tier }]) => [type, key_id, tier]),
      [
        ["key.created", id, "pro"],
        ["key.rotated", id, "pro"],
        ["key.revoked", id, "pro"]
      ]
    )
    for (const leaked of [secret, secret.slice(-20)]) assert.notInclude(JSON.stringify(said), leaked)
  }).pipe(Effect.provide(TestApp.layer({ providers: [] }).pipe(Layer.provideMerge(listening))))
})

it.effect("circuits: opened and closed, also in the log, but no failed probes", () => {
  const { listening, said } = recorder()
  const logged: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => void logged.push(`${logLevel} ${String(message)}`))
  const candidate = candidateWith("alpha")
  const fault = new ProviderError({
    provider: "alpha",
    reason: new ServerFault({ status: 500, retryAfterMs: null })
  })
  return Effect.gen(function* () {
    const { guard } = yield* Circuits
    const failing = Effect.flip(guard(candidate)(Effect.fail(fault)))
    for (let failure = 0; failure < 4; failure++) yield* failing
    yield* TestClock.adjust("0 millis")
    assert.deepStrictEqual(said, [])
    yield* failing
    yield* TestClock.adjust("1 minute")
    yield* failing
    yield* TestClock.adjust("1 minute")
    yield* guard(candidate)(Effect.void)
    yield* TestClock.adjust("0 millis")
    const data = { provider: "alpha", model: "test/small" }
    assert.deepStrictEqual(said, [
      ["circuit.opened", { ...data, error_type: "server_error", http_status: 500 }],
      ["circuit.closed", data]
    ])
    assert.deepStrictEqual(
      logged.filter((line) => line.includes("circuit")),
      [
        "Warn a circuit opened: the provider keeps failing and gets no calls for a while",
        "Info a circuit closed: the provider answers again"
      ]
    )
  }).pipe(
    Effect.provide(
      CircuitEvents.layer.pipe(
        Layer.provideMerge(Layer.mergeAll(Circuits.layerMemory, listening, Logger.layer([logger])))
      )
    )
  )
})

it.effect("providers: refused credentials, once until an answer", () => {
  const { listening, said } = recorder()
  const candidate = candidateWith("alpha")
  const refused = new ProviderError({ provider: "alpha", reason: new CredentialsRefused({ status: 401 }) })
  return Effect.gen(function* () {
    const { guard } = yield* Circuits
    const refusing = Effect.flip(guard(candidate)(Effect.fail(refused)))
    for (let minute = 0; minute < 3; minute++) {
      yield* refusing
      yield* TestClock.adjust("1 minute")
    }
    const data = { provider: "alpha", model: "test/small", status: 401 }
    assert.deepStrictEqual(said, [["provider.refused", data]])
    yield* guard(candidate)(Effect.void)
    yield* refusing
    yield* TestClock.adjust("0 millis")
    assert.deepStrictEqual(said, [
      ["provider.refused", data],
      ["provider.refused", data]
    ])
  }).pipe(Effect.provide(CircuitEvents.layer.pipe(Layer.provideMerge(Layer.mergeAll(Circuits.layerMemory, listening)))))
})

it.effect("budgets: 80 % and used up, once each, after the requests that spent them", () => {
  const { listening, said } = recorder()
  const app = TestApp.layer({ providers: [{ slug: "alpha", models: { "test/small": { reply: helloReply } } }] })
  return Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { id, secret: key } = yield* issueKey({ name: "capped", monthlyBudgetNano: 60_000 })
    const { secret: free } = yield* issueKey()
    const fresh = (sent: string) =>
      Effect.map(chat(ask("Hi"), { key: sent, headers: { "cache-control": "no-store" } }), ({ status }) => status)
    const budgets = () => said.filter(([type]) => type.startsWith("budget."))

    yield* fresh(free)
    for (let paid = 0; paid < 9; paid++) assert.strictEqual(yield* fresh(key), 200)
    yield* TestClock.adjust("5 seconds")
    assert.deepStrictEqual(budgets(), [])

    while ((yield* fresh(key)) !== 402);
    yield* TestClock.adjust("5 seconds")
    const told = budgets()
    const about = { key_id: id, key_name: "capped", owner: null, month: "1970-01", budget_usd: 0.00006 }
    assert.deepStrictEqual(
      told.map(([type, { percent }]) => [type, percent]),
      [
        ["budget.threshold", 80],
        ["budget.exhausted", 100]
      ]
    )
    for (const [, data] of told) assert.deepInclude(data, about)
    for (const [, { spent_usd }] of told) assert.isAtLeast(Number(spent_usd), 0.000048)

    assert.strictEqual(yield* fresh(key), 402)
    yield* TestClock.adjust("10 seconds")
    assert.deepStrictEqual(budgets(), told)
  }).pipe(
    Effect.provide(
      app.pipe(
        Layer.provideMerge(BudgetAlerts.layer),
        Layer.provideMerge(Layer.mergeAll(LedgerMemory.layer, SentAlertsMemory.layer, listening))
      )
    )
  )
})

it.effect("budgets: late if the database is away, and no event for a refusal far from the cap", () => {
  const { listening, said } = recorder()
  const away = databaseError(new Error("away"))
  const answers: Array<Effect.Effect<ReadonlyMap<string, Balance>, StoreError>> = []
  const balance = (spentNano: number) => Effect.succeed(new Map([["key_1", { spentNano, reservedNano: 0 }]]))
  const ledger = Layer.mock(Ledger, { balances: () => answers.shift() ?? Effect.die("nobody should ask") })
  return Effect.gen(function* () {
    const { note } = yield* BudgetAlerts.BudgetAlerts
    const key = keyWith({ id: "key_1", monthlyBudgetNano: 100 })
    answers.push(balance(10))
    note(key, true)
    yield* TestClock.adjust("5 seconds")
    assert.deepStrictEqual(said, [])

    answers.push(Effect.fail(away), balance(100))
    note(key, false)
    note(keyWith({ id: "key_2" }), true)
    yield* TestClock.adjust("5 seconds")
    assert.deepStrictEqual(said, [])
    yield* TestClock.adjust("30 seconds")
    assert.deepStrictEqual(
      said.map(([type]) => type),
      ["budget.threshold", "budget.exhausted"]
    )
    assert.lengthOf(answers, 0)
  }).pipe(
    Effect.provide(
      BudgetAlerts.layer.pipe(Layer.provideMerge(Layer.mergeAll(ledger, SentAlertsMemory.layer, listening)))
    )
  )
})
