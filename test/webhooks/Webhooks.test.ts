/** Deliveries: body, signature, retries, dead letters, and what the next process delivers. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Metric, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { createHmac } from "node:crypto"
import { createServer } from "node:http"
import { once } from "node:events"
import { type AddressInfo } from "node:net"
import { Events, eventTypes } from "../../src/domain/Events.ts"
import { Ids } from "../../src/domain/Ids.ts"
import { Outbound, type OutboundCall } from "../../src/providers/transport/Outbound.ts"
import { databaseError } from "../../src/store/sql/SqlErrors.ts"
import * as DeadLetterMemory from "../../src/store/webhooks/DeadLetterMemory.ts"
import { DeadLetterStore } from "../../src/store/webhooks/DeadLetterStore.ts"
import { DeliveryQueue } from "../../src/store/webhooks/DeliveryQueue.ts"
import * as Webhooks from "../../src/webhooks/Webhooks.ts"

const secret = "a secret of both sides"
const url = "https://hooks.example.com/a"
const hook = (overrides: Partial<Webhooks.Webhook> = {}): Webhooks.Webhook => ({
  url,
  secret: Redacted.make(secret),
  events: eventTypes,
  ...overrides
})

/** Webhooks whose addresses answer with these statuses in order; the last one repeats. */
const answering = (...statuses: ReadonlyArray<number>) => {
  const calls: Array<OutboundCall> = []
  const outbound = Layer.succeed(Outbound, {
    call: (call) =>
      Effect.sync(() => {
        calls.push(call)
        return { status: statuses[calls.length - 1] ?? statuses.at(-1) ?? 500, headers: {}, text: "" }
      })
  })
  const layerOn = (queue: Layer.Layer<DeliveryQueue>, ...hooks: ReadonlyArray<Webhooks.Webhook>) =>
    Webhooks.layer(hooks).pipe(
      Layer.provideMerge(Layer.mergeAll(outbound, queue, DeadLetterMemory.layer, Ids.layerSequence))
    )
  const layerOf = (...hooks: ReadonlyArray<Webhooks.Webhook>) => layerOn(DeliveryQueue.layerMemory(), ...hooks)
  return { calls, layerOf, layerOn }
}

/** How many deliveries ended so, in a test that counts on its own. */
const counted = (result: string) =>
  Effect.map(Metric.snapshot, (metrics) =>
    metrics
      .filter(({ attributes, id }) => id === "tollgate.webhooks.deliveries" && attributes?.["result"] === result)
      .reduce((sum, metric) => sum + (metric.type === "Counter" ? Number(metric.state.count) : 0), 0)
  )

const deadLetters = Effect.flatMap(DeadLetterStore, (store) => store.list({ limit: 100, cursor: null }))
const signed = (timestamp: string, body: string | null) =>
  `v1=${createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex")}`
const settle = TestClock.adjust("0 millis")
/** Lets a little time pass, again and again, until it is so; a second at most. */
const until = (isSo: Effect.Effect<boolean, unknown, DeadLetterStore>) =>
  Effect.gen(function* () {
    for (let turn = 0; turn < 1_000 && !(yield* Effect.orDie(isSo)); turn++) yield* TestClock.adjust("1 millis")
  })

describe("a webhook", () => {
  it.live("is posted what it asked for, signed so that it can tell who it is from", () =>
    Effect.gen(function* () {
      const received: Array<{ readonly headers: Readonly<Record<string, unknown>>; readonly body: string }> = []
      let heard: () => void = () => undefined
      const first = new Promise<void>((resolve) => (heard = resolve))
      const server = createServer((request, response) => {
        let body = ""
        request.on("data", (chunk: Buffer) => (body += chunk.toString()))
        request.on("end", () => {
          received.push({ headers: { ...request.headers, path: request.url }, body })
          response.writeHead(204).end()
          heard()
        })
      })
      server.listen(0, "127.0.0.1")
      yield* Effect.promise(() => once(server, "listening"))
      const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/a`
      yield* Effect.gen(function* () {
        const { publish } = yield* Events
        yield* publish("key.created", { key_id: "key_1" })
        yield* publish("circuit.opened", { provider: "alpha" })
        yield* Effect.promise(() => first)
      }).pipe(
        Effect.provide(
          Webhooks.layer([hook({ url: address, events: ["circuit.opened"] })]).pipe(
            Layer.provide(
              Layer.mergeAll(Outbound.layer, DeliveryQueue.layerMemory(), DeadLetterMemory.layer, Ids.layer)
            )
          )
        )
      )
      server.closeAllConnections()
      server.close()
      assert.lengthOf(received, 1)
      const { body, headers } = received[0] ?? { body: "", headers: {} }
      const event = JSON.parse(body) as Readonly<Record<string, unknown>>
      assert.deepStrictEqual([event["type"], event["data"]], ["circuit.opened", { provider: "alpha" }])
      assert.match(String(event["id"]), /^evt_[0-9a-f]{32}$/)
      const timestamp = String(headers["x-tollgate-timestamp"])
      assert.isBelow(Math.abs(Number(timestamp) * 1000 - Date.now()), 60_000)
      assert.deepInclude(headers, {
        path: "/hooks/a",
        "content-type": "application/json",
        "x-tollgate-event": "circuit.opened",
        "x-tollgate-delivery": event["id"],
        "x-tollgate-signature": signed(timestamp, body)
      })
    })
  )

  it.effect("that fails is tried again, later each time, with the same event and a new signature", () => {
    const { calls, layerOf } = answering(500, 302, 200)
    return Effect.gen(function* () {
      const { publish } = yield* Events
      yield* publish("key.created", { key_id: "key_1" })
      yield* settle
      assert.lengthOf(calls, 1)
      yield* TestClock.adjust("1500 millis")
      assert.lengthOf(calls, 2)
      yield* TestClock.adjust("3 seconds")
      assert.lengthOf(calls, 3)
      yield* TestClock.adjust("1 hour")
      assert.lengthOf(calls, 3)
      const header = (name: string) => calls.map(({ headers }) => headers[name])
      assert.strictEqual(new Set(header("x-tollgate-delivery")).size, 1)
      // The third was sent at least two seconds after the first.
      assert.isAbove(new Set(header("x-tollgate-signature")).size, 1)
      for (const { body, headers } of calls) {
        assert.strictEqual(headers["x-tollgate-signature"], signed(String(headers["x-tollgate-timestamp"]), body))
      }
      assert.deepStrictEqual((yield* deadLetters).letters, [])
    }).pipe(Effect.provide(layerOf(hook())))
  })

  it.effect("that never takes an event is given up, and the event kept; another one has it all the same", () => {
    const { calls, layerOf } = answering(500)
    return Effect.gen(function* () {
      const { publish } = yield* Events
      yield* publish("key.revoked", { key_id: "key_1" })
      yield* TestClock.adjust("1 hour")
      const [letter, ...others] = (yield* deadLetters).letters
      assert.deepStrictEqual(others, [])
      assert.deepInclude(letter, { url, type: "key.revoked", attempts: 11, lastError: "status 500" })
      assert.strictEqual(letter?.body, calls[0]?.body)
      const spanMs = (letter?.failedAtMs ?? 0) - (letter?.createdAtMs ?? 0)
      assert.isTrue(spanMs > 10 * 60_000 && spanMs < 25 * 60_000, `${spanMs} ms`)
    }).pipe(Effect.provide(layerOf(hook(), hook({ url: "https://hooks.example.com/b", events: ["key.created"] }))))
  })

  it.effect("gets what it did not take yet from the next process", () => {
    const [refusing, taking] = [answering(503), answering(200)]
    return Effect.gen(function* () {
      // What the processes share.
      const database = Layer.succeed(DeliveryQueue, yield* DeliveryQueue)
      const published = Effect.gen(function* () {
        const { publish } = yield* Events
        for (let number = 0; number < 10; number++) yield* publish("key.created", { number })
      })
      yield* Effect.provide(published, refusing.layerOn(database, hook()))
      yield* Effect.gen(function* () {
        yield* TestClock.adjust("1 minute")
        assert.lengthOf(taking.calls, 10)
        assert.strictEqual(new Set(taking.calls.map(({ headers }) => headers["x-tollgate-delivery"])).size, 10)
        assert.deepStrictEqual((yield* deadLetters).letters, [])
      }).pipe(Effect.provide(taking.layerOn(database, hook())))
    }).pipe(Effect.provide(DeliveryQueue.layerMemory()))
  })

  it.effect("that cannot keep up loses nothing: what does not fit is a dead letter at once", () => {
    const { layerOn } = answering(503)
    return Effect.gen(function* () {
      const { publish } = yield* Events
      for (let number = 0; number < 30; number++) yield* publish("key.created", { number })
      yield* until(Effect.map(deadLetters, ({ letters }) => letters.length === 10))
      const { letters } = yield* deadLetters
      assert.lengthOf(letters, 10)
      for (const { attempts, lastError } of letters) {
        assert.deepStrictEqual([attempts, lastError], [0, "too many queued events"])
      }
    }).pipe(Effect.provide(layerOn(DeliveryQueue.layerMemory({ mostWaiting: 20 }), hook())))
  })

  it.effect("that the settings do not have any more is not asked: what waits for it becomes a dead letter", () => {
    const { calls, layerOn } = answering(503)
    return Effect.gen(function* () {
      const database = Layer.succeed(DeliveryQueue, yield* DeliveryQueue)
      const asked = Effect.gen(function* () {
        yield* (yield* Events).publish("key.created", {})
        yield* settle
      })
      yield* Effect.provide(asked, layerOn(database, hook()))
      assert.lengthOf(calls, 1)
      yield* Effect.gen(function* () {
        yield* TestClock.adjust("1 hour")
        const [letter] = (yield* deadLetters).letters
        assert.deepInclude(letter, { url, attempts: 11, lastError: "no webhook has this address" })
        assert.lengthOf(calls, 1)
      }).pipe(Effect.provide(layerOn(database, hook({ url: "https://hooks.example.com/b" }))))
    }).pipe(Effect.provide(DeliveryQueue.layerMemory()))
  })
})

describe("a database that is away", () => {
  const away = { isAway: true }
  const failing = Layer.effect(
    DeliveryQueue,
    Effect.map(DeliveryQueue, (queue) => ({
      ...queue,
      offer: (delivery) => (away.isAway ? Effect.fail(databaseError("away")) : queue.offer(delivery))
    }))
  ).pipe(Layer.provide(DeliveryQueue.layerMemory()))

  it.effect("is waited for in memory; beyond a bound events are lost, and counted", () => {
    const { calls, layerOn } = answering(200)
    return Effect.gen(function* () {
      away.isAway = true
      const { publish } = yield* Events
      for (let number = 0; number < Webhooks.MOST_IN_MEMORY + 7; number++) yield* publish("key.created", { number })
      yield* publish("key.created", { text: "a".repeat(Webhooks.MOST_CHARACTERS) })
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual([calls.length, yield* counted("lost")], [0, 8])
      away.isAway = false
      yield* TestClock.adjust("1 second")
      yield* until(Effect.sync(() => calls.length === Webhooks.MOST_IN_MEMORY))
      assert.strictEqual(calls.length, Webhooks.MOST_IN_MEMORY)
      assert.strictEqual(yield* counted("lost"), 8)
    }).pipe(Effect.provide(layerOn(failing, hook())), Effect.provideService(Metric.MetricRegistry, new Map()))
  })

  it.effect("until the process stops loses what is in memory, and that is counted", () => {
    const { layerOn } = answering(200)
    return Effect.gen(function* () {
      away.isAway = true
      yield* Effect.provide(
        Effect.flatMap(Events, ({ publish }) => publish("key.created", {})),
        layerOn(failing, hook())
      )
      assert.strictEqual(yield* counted("lost"), 1)
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  })
})

it.effect("without its layer nobody listens, and saying something does nothing", () =>
  Effect.gen(function* () {
    const { publish } = yield* Events
    assert.isUndefined(yield* publish("key.created", {}))
  })
)
