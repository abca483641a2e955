/** Deliveries are handed out until a handler succeeds, and survive the process: on every layer. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { Sql } from "../../../src/store/sql/Sql.ts"
import { type Delivery, DeliveryQueue, type DeliveryQueueOptions } from "../../../src/store/webhooks/DeliveryQueue.ts"
import { temporaryDataDir } from "../../support/Pglite.ts"
import { freshDatabase } from "../../support/Postgres.ts"

const url = "https://hooks.example.com/a"
const other = `https://hooks.example.com/${"b".repeat(2_000)}`
const delivery = (number: number, to = url): Delivery => ({
  eventId: `evt_${number}`,
  type: "key.created",
  url: to,
  body: `{"text":"“quoted” \\u0000 ${number}"}`,
  createdAtMs: 1_000
})

const opened = (options: DeliveryQueueOptions = { mostWaiting: 50 }) => ({
  "in memory": Effect.succeed(DeliveryQueue.layerMemory(options)),
  "in Postgres": Effect.map(freshDatabase, (url) =>
    DeliveryQueue.layer(options).pipe(Layer.provide(Sql.layerPostgres({ url })))
  ),
  "in the embedded database": Effect.map(temporaryDataDir, (dataDir) =>
    DeliveryQueue.layer(options).pipe(Layer.provide(Sql.layerEmbedded({ dataDir })))
  )
})

const build = <E>(layer: Layer.Layer<DeliveryQueue, E>) =>
  Effect.flatMap(Layer.build(Layer.fresh(layer)), (context) => Effect.provideContext(DeliveryQueue, context))

for (const [place, open] of Object.entries(opened())) {
  describe(place, () => {
    it.live(
      "a delivery is handed out until it succeeds, and not again",
      () =>
        Effect.gen(function* () {
          const queue = yield* build(yield* open)
          const taken: Array<readonly [Delivery, number]> = []
          const take = (to: string, ending: Effect.Effect<void, "refused">) =>
            queue.take(to, (delivery, attempt) =>
              Effect.suspend(() => {
                taken.push([delivery, attempt])
                return ending
              })
            )

          assert.isTrue(yield* queue.offer(delivery(1)))
          assert.isTrue(yield* queue.offer(delivery(1)), "the same again")
          assert.isTrue(yield* queue.offer(delivery(2, other)))
          assert.deepStrictEqual((yield* queue.addresses).toSorted(), [url, other])

          assert.strictEqual(yield* Effect.flip(take(url, Effect.fail("refused"))), "refused")
          yield* take(other, Effect.void)
          yield* take(url, Effect.void)
          assert.deepStrictEqual(taken.splice(0), [
            [delivery(1), 1],
            [delivery(2, other), 1],
            [delivery(1), 2]
          ])
          assert.deepStrictEqual(yield* queue.addresses, [])

          // An interrupted delivery is due again at once, and does not count as an attempt.
          yield* queue.offer(delivery(3))
          const begun = yield* Deferred.make<void>()
          const hanging = yield* Effect.forkChild(
            take(url, Effect.andThen(Deferred.succeed(begun, undefined), Effect.never))
          )
          yield* Deferred.await(begun)
          yield* Fiber.interrupt(hanging)
          yield* take(url, Effect.void)
          assert.deepStrictEqual(taken, [
            [delivery(3), 1],
            [delivery(3), 1]
          ])
        }).pipe(Effect.scoped),
      60_000
    )

    it.live(
      "queues at most as many deliveries per address as the bound",
      () =>
        Effect.gen(function* () {
          const queue = yield* build(yield* open)
          for (let number = 0; number < 50; number++) assert.isTrue(yield* queue.offer(delivery(number)))
          assert.isFalse(yield* queue.offer(delivery(50)))
          assert.isTrue(yield* queue.offer(delivery(50, other)))
          yield* queue.take(url, () => Effect.void)
          assert.isTrue(yield* queue.offer(delivery(51)))
          assert.isFalse(yield* queue.offer(delivery(52)))
        }).pipe(Effect.scoped),
      60_000
    )
  })
}

describe("in Postgres, by several processes", () => {
  it.live(
    "takes each delivery once, and another process takes those that one leaves",
    () =>
      Effect.gen(function* () {
        const layer = DeliveryQueue.layer().pipe(Layer.provide(Sql.layerPostgres({ url: yield* freshDatabase })))
        const leaving = yield* Scope.make()
        // They start concurrently, and one of them creates the table.
        const [first, second] = yield* Effect.all([Scope.provide(build(layer), leaving), build(layer)], {
          concurrency: "unbounded"
        })
        const COUNT = 40
        for (let number = 0; number < COUNT; number++)
          yield* (number % 2 === 0 ? first : second).offer(delivery(number))
        const taken: Array<string> = []
        const handle = ({ eventId }: Delivery) =>
          Effect.andThen(
            Effect.sync(() => void taken.push(eventId)),
            Effect.yieldNow
          )
        const taking = (queue: DeliveryQueue["Service"], times: number) =>
          Effect.forEach(Array.from({ length: times }), () => queue.take(url, handle), { concurrency: 8 })
        yield* Effect.all([taking(first, COUNT / 4), taking(second, COUNT / 4)], { concurrency: "unbounded" })
        yield* Scope.close(leaving, Exit.void)
        yield* taking(second, COUNT / 2)
        assert.lengthOf(taken, COUNT)
        assert.strictEqual(new Set(taken).size, COUNT)
      }).pipe(Effect.scoped),
    60_000
  )
})
