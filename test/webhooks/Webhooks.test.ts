/**
 * Deliveries: body, signature, retries, dead letters, and what is stored when the process stops.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Redacted, Scope } from "effect"
import { TestClock } from "effect/testing"
import { createHmac } from "node:crypto"
import { createServer } from "node:http"
import { once } from "node:events"
import { type AddressInfo } from "node:net"
import { Events, eventTypes } from "../../src/domain/Events.ts"
import { Ids } from "../../src/domain/Ids.ts"
import { Outbound, type OutboundCall } from "../../src/providers/transport/Outbound.ts"
import { Notices } from "../../src/store/notices/Notices.ts"
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
  const layerOf = (...hooks: ReadonlyArray<Webhooks.Webhook>) =>
    Webhooks.layer(hooks).pipe(Layer.provideMerge(Layer.mergeAll(outbound, Notices.layerMemory, Ids.layerSequence)))
  return { calls, layerOf }
}

const buried = Effect.flatMap(Notices, (notices) => notices.buried({ limit: 100, cursor: null }))
const signed = (timestamp: string, body: string | null) =>
  `v1=${createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex")}`
const settle = TestClock.adjust("0 millis")

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
            Layer.provide(Layer.mergeAll(Outbound.layer, Notices.layerMemory, Ids.layer))
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
      assert.deepStrictEqual((yield* buried).letters, [])
    }).pipe(Effect.provide(layerOf(hook())))
  })

  it.effect("that never takes an event is given up, and the event kept; another one has it all the same", () => {
    const { calls, layerOf } = answering(500)
    return Effect.gen(function* () {
      const { publish } = yield* Events
      yield* publish("key.revoked", { key_id: "key_1" })
      yield* TestClock.adjust("1 hour")
      const [letter, ...others] = (yield* buried).letters
      assert.deepStrictEqual(others, [])
      assert.deepInclude(letter, { url, type: "key.revoked", attempts: 11, lastError: "status 500" })
      assert.strictEqual(letter?.body, calls[0]?.body)
      const spanMs = (letter?.failedAtMs ?? 0) - (letter?.createdAtMs ?? 0)
      assert.isTrue(spanMs > 10 * 60_000 && spanMs < 25 * 60_000, `${spanMs} ms`)
    }).pipe(Effect.provide(layerOf(hook(), hook({ url: "https://hooks.example.com/b", events: ["key.created"] }))))
  })

  it.effect("gets what it did not take yet kept as a dead letter when the process stops", () => {
    const { calls, layerOf } = answering(503)
    return Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(layerOf(hook()), scope)
      const { publish } = yield* Effect.provideContext(Events, context)
      // More than can be sent at once: some are being sent, some are queued.
      for (let number = 0; number < 10; number++) yield* publish("key.created", { number })
      yield* settle
      assert.lengthOf(calls, 8)
      yield* Scope.close(scope, Exit.void)
      const { letters } = yield* Effect.provideContext(buried, context)
      assert.lengthOf(letters, 10)
      assert.deepStrictEqual(letters.map(({ attempts, lastError }) => `${attempts} ${lastError}`).toSorted(), [
        ...Array.from({ length: 2 }, () => "0 the gateway stopped"),
        ...Array.from({ length: 8 }, () => "1 status 503")
      ])
    })
  })

  it.effect("that cannot keep up loses nothing: what does not fit is a dead letter at once", () => {
    const { layerOf } = answering(503)
    return Effect.gen(function* () {
      const { publish } = yield* Events
      for (let number = 0; number < 1_010; number++) yield* publish("key.created", { number })
      yield* settle
      const { letters } = yield* buried
      assert.isAtLeast(letters.length, 2)
      for (const { lastError } of letters) assert.strictEqual(lastError, "too many queued events")
    }).pipe(Effect.provide(layerOf(hook())))
  })
})

it.effect("without its layer nobody listens, and saying something does nothing", () =>
  Effect.gen(function* () {
    const { publish } = yield* Events
    assert.isUndefined(yield* publish("key.created", {}))
  })
)
