import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import { type Dispatcher } from "undici"
import { HttpExchange } from "../../../src/providers/transport/HttpExchange.ts"
import { Cut, TimedOut, Unreachable } from "../../../src/providers/Provider.ts"

const nextTick = () => new Promise<void>((resolve) => process.nextTick(resolve))

const begin = () => {
  const seen: Array<string> = []
  const controller: Dispatcher.DispatchController = {
    aborted: false,
    paused: false,
    reason: null,
    abort: () => void seen.push("abort"),
    pause: () => void seen.push("pause"),
    resume: () => void seen.push("resume")
  }
  const exchange = new HttpExchange()
  exchange.onRequestStart(controller)
  exchange.onResponseStart(controller, 200, {})
  return { exchange, controller, seen }
}

describe("Exchange", () => {
  it("stops the socket at 64 KiB unread and lets it go on when they are taken", () => {
    const { controller, exchange, seen } = begin()
    for (let at = 0; at < 4; at++) exchange.onResponseData(controller, Buffer.alloc(16_384))
    assert.deepStrictEqual(seen, ["pause"])
    assert.strictEqual(exchange.take().length, 4)
    assert.deepStrictEqual(seen, ["pause", "resume"])
  })

  it("wakes the one who waits, once, with all that came together", async () => {
    const { controller, exchange } = begin()
    let woken = 0
    exchange.await("data", 60_000, "idle", () => woken++)
    exchange.onResponseData(controller, Buffer.from("a"))
    exchange.onResponseData(controller, Buffer.from("b"))
    assert.strictEqual(woken, 0)
    await nextTick()
    assert.strictEqual(woken, 1)
    assert.strictEqual(Buffer.concat([...exchange.take()]).toString(), "ab")
    exchange.onResponseEnd()
    exchange.await("data", 60_000, "idle", () => woken++)
    assert.strictEqual(woken, 2)
    assert.isTrue(exchange.ended)
  })

  it("wakes at once for the end, and not again for what came before it", async () => {
    const { controller, exchange } = begin()
    const woken: Array<string> = []
    const wait = () =>
      exchange.await("data", 60_000, "idle", () => void woken.push(Buffer.concat([...exchange.take()]).toString()))
    wait()
    exchange.onResponseData(controller, Buffer.from("a"))
    exchange.onResponseEnd()
    assert.deepStrictEqual(woken, ["a"])
    await nextTick()
    assert.deepStrictEqual(woken, ["a"])
  })

  it("wakes nobody for what was read already", async () => {
    const { controller, exchange } = begin()
    const woken: Array<string> = []
    const wait = (name: string) => exchange.await("data", 60_000, "idle", () => void woken.push(name))
    wait("first")
    exchange.onResponseData(controller, Buffer.from("a"))
    exchange.take()
    wait("second")
    await nextTick()
    assert.deepStrictEqual(woken, [])
    exchange.onResponseData(controller, Buffer.from("b"))
    await nextTick()
    assert.deepStrictEqual(woken, ["second"])
    exchange.abort()
  })

  it("keeps what came before a failure", () => {
    const { controller, exchange } = begin()
    exchange.onResponseData(controller, Buffer.from("a"))
    exchange.onResponseError(controller, new Error("socket gone"))
    assert.instanceOf(exchange.failure, Cut)
    assert.strictEqual(exchange.take().length, 1)
  })

  it("tells a connection that never answered from one that broke, by its code alone", () => {
    const exchange = new HttpExchange()
    const error = Object.assign(new Error("connect ECONNREFUSED 10.0.0.1:443"), { code: "ECONNREFUSED" })
    exchange.onResponseError(begin().controller, error)
    assert.deepStrictEqual(exchange.failure, new Unreachable({ detail: "ECONNREFUSED" }))
  })

  it("aborts a request that starts after it was given up", () => {
    const { controller, seen } = begin()
    const exchange = new HttpExchange()
    exchange.abort()
    exchange.onRequestStart(controller)
    assert.deepStrictEqual(seen, ["abort"])
  })

  it("drains without keeping anything, and is not aborted then", () => {
    const { controller, exchange, seen } = begin()
    exchange.drain()
    exchange.onResponseData(controller, Buffer.alloc(200_000))
    exchange.abort()
    exchange.onResponseEnd()
    assert.deepStrictEqual(seen, [])
    assert.strictEqual(exchange.take().length, 0)
  })
})

describe("the time limit of a wait", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }))
  afterEach(() => void vi.useRealTimers())

  it("ends the exchange, and counts each wait from its own beginning", async () => {
    const { controller, exchange, seen } = begin()
    for (let at = 0; at < 50; at++) {
      exchange.await("data", 100, "idle", () => exchange.take())
      assert.strictEqual(vi.getTimerCount(), 1)
      vi.advanceTimersByTime(60)
      exchange.onResponseData(controller, Buffer.from("a"))
      await nextTick()
    }
    exchange.await("data", 20, "first_token", () => undefined)
    vi.advanceTimersByTime(19)
    assert.isNull(exchange.failure)
    vi.advanceTimersByTime(1)
    assert.deepStrictEqual(exchange.failure, new TimedOut({ phase: "first_token" }))
    assert.deepStrictEqual(seen, ["abort"])
  })

  it("leaves no timer behind, and does not run while nobody waits", async () => {
    const { controller, exchange } = begin()
    exchange.await("data", 100, "idle", () => undefined)
    exchange.onResponseData(controller, Buffer.from("a"))
    await nextTick()
    assert.strictEqual(vi.getTimerCount(), 0)
    exchange.take()
    exchange.await("data", 100, "idle", () => undefined)
    exchange.abort()
    assert.strictEqual(vi.getTimerCount(), 0)
    assert.isNull(exchange.failure)
  })
})
