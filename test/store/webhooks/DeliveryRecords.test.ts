/** What an operator sees of deliveries, in both databases. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Sql } from "../../../src/store/sql/Sql.ts"
import * as DeadLetterSql from "../../../src/store/webhooks/DeadLetterSql.ts"
import { DeadLetterStore } from "../../../src/store/webhooks/DeadLetterStore.ts"
import { type Delivery, DeliveryQueue } from "../../../src/store/webhooks/DeliveryQueue.ts"
import { temporaryDataDir } from "../../support/Pglite.ts"
import { freshDatabase } from "../../support/Postgres.ts"

const url = "https://hooks.example.com/a"
const other = "https://hooks.example.com/b"
const delivery = (number: number, overrides: Partial<Delivery> = {}): Delivery => ({
  eventId: `evt_${number}`,
  type: "key.created",
  url,
  body: "{}",
  createdAtMs: 1_000,
  ...overrides
})

class Failed {
  readonly _tag = "DeliveryFailed"
  readonly why = "status 503"
}

const checks = Effect.gen(function* () {
  const queue = yield* DeliveryQueue
  const letters = yield* DeadLetterStore
  const letter = {
    id: "dlv_2",
    eventId: "evt_2",
    type: "key.created",
    url,
    body: "{}",
    attempts: 11,
    lastError: "status 500",
    createdAtMs: 1_000,
    failedAtMs: 2_000,
    retriedAtMs: null
  } as const
  const end = (to: string, number: Delivery, ending: Effect.Effect<void, Failed> = Effect.void) =>
    Effect.andThen(queue.offer(number), Effect.ignore(queue.take(to, () => ending)))

  yield* end(url, delivery(1))
  yield* end(url, delivery(2))
  yield* letters.add(letter)
  yield* end(other, delivery(3, { url: other }), Effect.fail(new Failed()))
  const states = Effect.map(queue.list({ limit: 10, cursor: null }), (found) =>
    found.map(({ attempts, eventId, lastError, state }) => [eventId, state, attempts, lastError])
  )
  assert.deepStrictEqual(yield* states, [
    ["evt_3", "pending", 1, "status 503"],
    ["evt_2", "dead", 1, null],
    ["evt_1", "delivered", 1, null]
  ])
  const retried = { letterId: "dlv_2", failedAtMs: 2_000 }
  yield* letters.markRetried("dlv_2", 3_000)
  yield* end(url, delivery(2, { retried }))
  assert.deepStrictEqual((yield* states)[0], ["evt_2", "delivered", 1, null])
  yield* letters.add(letter)
  assert.deepStrictEqual((yield* states)[0], ["evt_2", "dead", 1, null])

  const [first, second] = yield* queue.list({ limit: 2, cursor: null })
  assert.isNull(first?.nextAttemptMs)
  assert.isAbove(second?.nextAttemptMs ?? 0, (second?.updatedAtMs ?? 0) - 1)
  const found = (query: Partial<Parameters<typeof queue.list>[0]>) =>
    Effect.map(queue.list({ limit: 10, cursor: null, ...query }), (page) => page.map(({ eventId }) => eventId))
  assert.deepStrictEqual(yield* found({ cursor: second?.position ?? 0 }), ["evt_2", "evt_1"])
  assert.deepStrictEqual(yield* found({ state: "dead", limit: 1 }), ["evt_2"])
  assert.deepStrictEqual(yield* found({ url: other }), ["evt_3"])

  const summaries = (yield* queue.summaries).toSorted((a, b) => (a.url < b.url ? -1 : 1))
  assert.deepStrictEqual(
    summaries.map(({ dead, delivered, lastError, pending }) => [pending, delivered, dead, lastError]),
    [
      [0, 1, 2, null],
      [1, 0, 0, "status 503"]
    ]
  )
  const nowMs = Date.now()
  assert.isBelow(Math.abs((summaries[0]?.lastDeliveredMs ?? 0) - nowMs), 60_000)
  assert.isNotNull(summaries[0]?.lastFailedMs)
  assert.isNull(summaries[1]?.lastDeliveredMs)
  assert.isNotNull(summaries[1]?.lastFailedMs)
})

const stores = Layer.merge(DeliveryQueue.layer(), DeadLetterSql.layer)

it.live("states, errors, pages and sums, in Postgres", () =>
  Effect.flatMap(freshDatabase, (database) =>
    Effect.provide(checks, Layer.provide(stores, Sql.layerPostgres({ url: database })))
  ).pipe(Effect.scoped)
)

it.live("states, errors, pages and sums, in the embedded database", () =>
  Effect.flatMap(temporaryDataDir, (dataDir) =>
    Effect.provide(checks, Layer.provide(stores, Sql.layerEmbedded({ dataDir })))
  ).pipe(Effect.scoped)
)
