/**
 * Stored responses below the edge: who reads them, for how long, how much, and without a database.
 */
import * as ResponsesMemory from "../../../src/store/responses/ResponsesMemory.ts"
import * as ResponsesSql from "../../../src/store/responses/ResponsesSql.ts"
import { PgClient } from "@effect/sql-pg"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Option, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { type GatewayError } from "../../../src/domain/Errors.ts"
import { parseExactly } from "../../../src/domain/json/Json.ts"
import { MAX_VALUES } from "../../../src/domain/json/JsonShape.ts"
import * as Retention from "../../../src/gateway/billing/Retention.ts"
import {
  type Keeper,
  type KeptResponse,
  MAX_KEPT_CHARACTERS,
  MAX_KEY_BYTES,
  StoredResponses
} from "../../../src/gateway/responses/StoredResponses.ts"
import * as IdempotencyMemory from "../../../src/store/idempotency/IdempotencyMemory.ts"
import * as RefusalMemory from "../../../src/store/refusals/RefusalMemory.ts"
import * as LedgerMemory from "../../../src/store/ledger/Memory.ts"
import { ResponseStore } from "../../../src/store/responses/ResponseStore.ts"
import { StoreError } from "../../../src/store/StoreError.ts"
import { layerPglite } from "../../support/Pglite.ts"

const DAY = 86_400_000
const mine: Keeper = { keyId: "key_mine", secret: Redacted.make("tg-mine") }

const kept = (id: string, words = "the answer"): KeptResponse => ({
  response: { id, status: "completed", output: [{ type: "message", role: "assistant", content: words }] },
  input: [{ type: "message", role: "user", content: `question of ${id}` }]
})

const keeping = <Stores>(retentionDays: number | null, store: Layer.Layer<ResponseStore | Stores>) =>
  StoredResponses.layer({ retentionDays }).pipe(Layer.provideMerge(store))

/** What a refused call says. */
const refusal = <A, R>(call: Effect.Effect<A, GatewayError, R>) =>
  Effect.map(Effect.flip(call), ({ reason }) =>
    reason._tag === "InvalidRequest" ? `${reason.code} ${reason.param}: ${reason.message}` : reason._tag
  )

const unknown = (id: string) =>
  `previous_response_not_found previous_response_id: Previous response with id '${id}' not found.`

it.effect("a kept response is read again, and continued with its question and its answer", () =>
  Effect.gen(function* () {
    const responses = yield* StoredResponses
    assert.isTrue(yield* responses.keep(mine, kept("resp_1")))
    assert.deepStrictEqual(yield* responses.get(mine, "resp_1", () => true), kept("resp_1"))
    assert.deepStrictEqual(yield* responses.history(mine, "resp_1", () => true), [
      ...kept("resp_1").input,
      ...kept("resp_1").response.output
    ])
    yield* responses.remove(mine.keyId, "resp_1")
    assert.strictEqual(yield* refusal(responses.get(mine, "resp_1", () => true)), "NotFound")
    assert.strictEqual(yield* refusal(responses.remove(mine.keyId, "resp_1")), "NotFound")
    assert.strictEqual(yield* refusal(responses.history(mine, "resp_1", () => true)), unknown("resp_1"))
  }).pipe(Effect.provide(keeping(30, ResponsesMemory.layer)))
)

it.effect("an item leads its own key to its response, whoever named it", () =>
  Effect.gen(function* () {
    const responses = yield* StoredResponses
    const { input, response } = kept("resp_0123456789abcdef0123456789abcdef")
    const output = [{ type: "reasoning", id: "rs_of-the-vendor" }]
    yield* responses.keep(mine, { response: { ...response, output }, input })
    for (const item of ["rs_of-the-vendor", "msg_0123456789abcdef0123456789abcdef0"]) {
      assert.deepStrictEqual(yield* responses.ofItem(mine, item), Option.some(response.id))
    }
    const stranger: Keeper = { keyId: "key_other", secret: mine.secret }
    assert.isTrue(Option.isNone(yield* responses.ofItem(stranger, "rs_of-the-vendor")))
    assert.isTrue(Option.isNone(yield* responses.ofItem(mine, "rs_unknown")))
  }).pipe(Effect.provide(keeping(30, ResponsesMemory.layer)))
)

it.effect("another key, and another secret of the key, read nothing and are told nothing else", () =>
  Effect.gen(function* () {
    const responses = yield* StoredResponses
    yield* responses.keep(mine, kept("resp_1"))
    const strangers: ReadonlyArray<Keeper> = [
      { keyId: "key_other", secret: Redacted.make("tg-other") },
      { keyId: "key_other", secret: mine.secret },
      { keyId: mine.keyId, secret: Redacted.make("tg-rotated") }
    ]
    for (const stranger of strangers) {
      assert.strictEqual(yield* refusal(responses.get(stranger, "resp_1", () => true)), "NotFound")
      assert.strictEqual(yield* refusal(responses.history(stranger, "resp_1", () => true)), unknown("resp_1"))
    }
    assert.strictEqual(yield* refusal(responses.remove("key_other", "resp_1")), "NotFound")
    assert.deepStrictEqual(yield* responses.get(mine, "resp_1", () => true), kept("resp_1"))
    // After a rotation the key still deletes what it stored before.
    yield* responses.remove(mine.keyId, "resp_1")
    assert.strictEqual(yield* refusal(responses.get(mine, "resp_1", () => true)), "NotFound")
  }).pipe(Effect.provide(keeping(30, ResponsesMemory.layer)))
)

it.effect("a response does not open under the id of another", () =>
  Effect.gen(function* () {
    const responses = yield* StoredResponses
    const store = yield* ResponseStore
    yield* responses.keep(mine, kept("resp_1"))
    const sealed = yield* Effect.flatMap(store.find({ keyId: mine.keyId, id: "resp_1" }, 0), Effect.fromOption)
    yield* store.insert({ keyId: mine.keyId, id: "resp_2", sealed, expiresAtMs: DAY })
    assert.strictEqual(yield* refusal(responses.get(mine, "resp_2", () => true)), "NotFound")
  }).pipe(Effect.provide(keeping(30, ResponsesMemory.layer)))
)

it.effect("without a retention nothing is kept, and continuing says so", () =>
  Effect.gen(function* () {
    const responses = yield* StoredResponses
    assert.isFalse(responses.keeps(true))
    assert.isFalse(yield* responses.keep(mine, kept("resp_1")))
    const said = yield* refusal(responses.history(mine, "resp_1", () => true))
    assert.match(said, /^unsupported_parameter previous_response_id: .*'input'.*responses\.retention_days/)
    assert.strictEqual(yield* refusal(responses.get(mine, "resp_1", () => true)), "NotFound")
    assert.strictEqual(yield* refusal(responses.remove(mine.keyId, "resp_1")), "NotFound")
  }).pipe(Effect.provide(keeping(null, ResponsesMemory.layer)))
)

it.effect("with a retention everything is kept that the client does not forbid", () =>
  Effect.gen(function* () {
    const { keeps } = yield* StoredResponses
    assert.deepStrictEqual([keeps(undefined), keeps(null), keeps(true), keeps(false)], [true, true, true, false])
  }).pipe(Effect.provide(keeping(30, ResponsesMemory.layer)))
)

it.effect("responses expire after the retention, and are then deleted", () =>
  Effect.gen(function* () {
    const responses = yield* StoredResponses
    const store = yield* ResponseStore
    yield* responses.keep(mine, kept("resp_1"))
    yield* TestClock.adjust(2 * DAY - 1)
    yield* responses.get(mine, "resp_1", () => true)
    yield* TestClock.adjust(1)
    assert.strictEqual(yield* refusal(responses.get(mine, "resp_1", () => true)), "NotFound")
    assert.strictEqual(yield* refusal(responses.history(mine, "resp_1", () => true)), unknown("resp_1"))
    yield* Layer.build(Retention.layer({ archiveDays: null, retentionDays: null }))
    yield* TestClock.adjust("31 seconds")
    assert.strictEqual(yield* store.deleteExpired(9 * DAY, 10), 0)
  }).pipe(
    Effect.provide(
      Layer.provideMerge(
        keeping(2, ResponsesMemory.layer),
        Layer.mergeAll(IdempotencyMemory.layer, RefusalMemory.layer, LedgerMemory.layer)
      )
    )
  )
)

it.effect("a conversation that the process has no room for is not read", () =>
  Effect.gen(function* () {
    const responses = yield* StoredResponses
    const asked: Array<number> = []
    const hasRoom = (characters: number) => asked.push(characters) > 1
    yield* responses.keep(mine, kept("resp_1"))
    assert.strictEqual(yield* refusal(responses.history(mine, "resp_1", hasRoom)), "Overloaded")
    assert.lengthOf(yield* responses.history(mine, "resp_1", hasRoom), 2)
    assert.strictEqual(yield* refusal(responses.get(mine, "resp_1", () => false)), "Overloaded")
    assert.deepStrictEqual(
      asked,
      Array.from({ length: 2 }, () => JSON.stringify(kept("resp_1")).length)
    )
  }).pipe(Effect.provide(keeping(30, ResponsesMemory.layer)))
)

it.effect("numbers keep their digits, and more values than a body may have are not kept", () =>
  Effect.gen(function* () {
    const responses = yield* StoredResponses
    const exact = parseExactly('{"type":"message","role":"user","content":"a","seed":12345678901234567890}')
    const own = { ...kept("resp_1"), input: [exact as KeptResponse["input"][number]] }
    assert.isTrue(yield* responses.keep(mine, own))
    const [first] = yield* responses.history(mine, "resp_1", () => true)
    assert.include(JSON.stringify(first), '"seed":12345678901234567890}')
    const many = [{ type: "message", role: "user", content: Array.from({ length: MAX_VALUES }, () => 0) }]
    assert.isFalse(yield* responses.keep(mine, { ...kept("resp_2"), input: many }))
  }).pipe(Effect.provide(keeping(30, ResponsesMemory.layer)))
)

it.effect("a response that is too large is not kept", () =>
  Effect.gen(function* () {
    const responses = yield* StoredResponses
    const empty = JSON.stringify(kept("resp_1", "")).length
    assert.isTrue(yield* responses.keep(mine, kept("resp_1", "a".repeat(MAX_KEPT_CHARACTERS - empty))))
    assert.isFalse(yield* responses.keep(mine, kept("resp_2", "a".repeat(MAX_KEPT_CHARACTERS - empty + 1))))
    assert.strictEqual(yield* refusal(responses.get(mine, "resp_2", () => true)), "NotFound")
  }).pipe(Effect.provide(keeping(30, ResponsesMemory.layer)))
)

it.effect("a key is trimmed at its first response in a process, and again after an eighth of its bound", () => {
  const trims: Array<string> = []
  const counting = Layer.mock(ResponseStore, {
    insert: () => Effect.void,
    trim: (keyId, maxBytes) => Effect.sync(() => void trims.push(`${keyId} to ${maxBytes}`))
  })
  return Effect.gen(function* () {
    const responses = yield* StoredResponses
    // Random text shrinks by a quarter at most, so that five responses exceed the eighth.
    const words = Buffer.from(globalThis.crypto.getRandomValues(new Uint8Array(65_536)))
      .toString("base64")
      .repeat(1)
    const large = Array.from({ length: 90 }, (_, at) => `${at}${words}`)
      .join("")
      .slice(0, 8_000_000)
    yield* responses.keep(mine, kept("resp_1"))
    yield* responses.keep(mine, kept("resp_2"))
    yield* responses.keep({ ...mine, keyId: "key_other" }, kept("resp_1"))
    assert.deepStrictEqual(trims, [`key_mine to ${MAX_KEY_BYTES}`, `key_other to ${MAX_KEY_BYTES}`])
    for (let at = 0; at < 6; at++) yield* responses.keep(mine, kept(`resp_large_${at}`, large))
    assert.deepStrictEqual(trims.slice(2), [`key_mine to ${MAX_KEY_BYTES}`])
  }).pipe(Effect.provide(keeping(30, counting)))
})

it.effect("a database that is away refuses to continue, and does not stop an answer from being given", () => {
  const down = Effect.fail(new StoreError({ dependency: "database", cause: "away" }))
  const away = Layer.mock(ResponseStore, {
    insert: () => down,
    find: () => down,
    remove: () => down,
    removeAll: () => down
  })
  return Effect.gen(function* () {
    const responses = yield* StoredResponses
    assert.isFalse(yield* responses.keep(mine, kept("resp_1")))
    assert.strictEqual(yield* refusal(responses.history(mine, "resp_1", () => true)), "DependencyUnavailable")
    assert.strictEqual(yield* refusal(responses.get(mine, "resp_1", () => true)), "DependencyUnavailable")
    assert.strictEqual(yield* refusal(responses.remove(mine.keyId, "resp_1")), "DependencyUnavailable")
    yield* responses.removeAll(mine.keyId)
  }).pipe(Effect.provide(keeping(30, away)))
})

it.effect("an id of another form is not looked up", () =>
  Effect.gen(function* () {
    const responses = yield* StoredResponses
    for (const id of ["", "resp_", "gen_1", "resp_\u0000", "resp_1\n", `resp_${"a".repeat(65)}`]) {
      assert.strictEqual(yield* refusal(responses.get(mine, id, () => true)), "NotFound")
      assert.strictEqual(yield* refusal(responses.remove(mine.keyId, id)), "NotFound")
    }
    assert.isBelow((yield* refusal(responses.history(mine, "x".repeat(1_000_000), () => true))).length, 300)
    // What is quoted is left out of records, so that the id must not end its quotes.
    assert.strictEqual(yield* refusal(responses.history(mine, "it's mine", () => true)), unknown("its mine"))
  }).pipe(Effect.provide(keeping(30, Layer.mock(ResponseStore, {}))))
)

it.effect(
  "the database holds nothing that a reader could read",
  () =>
    Effect.gen(function* () {
      const responses = yield* StoredResponses
      const sql = yield* PgClient.PgClient
      yield* responses.keep(mine, kept("resp_1", "words that nobody may read"))
      const rows = yield* sql`SELECT * FROM responses`
      assert.lengthOf(rows, 1)
      const bytes = rows.flatMap((row) =>
        Object.values(row).map((value) =>
          value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : String(value)
        )
      )
      for (const text of ["words that nobody", "question of", "tg-mine"]) assert.notInclude(bytes.join("\n"), text)
    }).pipe(Effect.provide(keeping(30, Layer.orDie(Layer.provideMerge(ResponsesSql.layer, layerPglite))))),
  60_000
)
