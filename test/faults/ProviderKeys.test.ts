/**
 * Providers with several keys, and providers that rank equally: which key arrives at the vendor.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { errorBody } from "../support/upstream/Bodies.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import { assertWhole } from "./answers.ts"
import { answering, behind, type Gateway, modes, type Reply, useUpstream } from "./gateway.ts"

const upstream = useUpstream()

const failing = (status: number, headers: Readonly<Record<string, string>> = {}): Behaviour => ({
  status,
  headers,
  json: errorBody("no")
})

const keysAt = (gateway: Gateway, slug: string) =>
  Effect.map(gateway.calls(slug), (calls) => calls.map(({ headers }) => headers["authorization"]))

const bearers = (...keys: ReadonlyArray<number>) => keys.map((key) => `Bearer sk-alpha-${key}`)

const attemptsOf = ({ receipt }: Reply) =>
  receipt?.attempts.map(({ error_type: errorType, key, provider, status }) => [provider, key, status, errorType])

describe("a provider with three keys", () => {
  it.live.each(modes)("uses them in turn (%s)", (mode) =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), { alpha: { does: answering(mode), keys: 3 } })
      for (let request = 0; request < 6; request++) assertWhole(mode, yield* gateway.ask(mode), "alpha")
      assert.deepStrictEqual(yield* keysAt(gateway, "alpha"), bearers(1, 2, 3, 1, 2, 3))
    })
  )

  it.live.each(modes)("spreads requests that run at the same time (%s)", (mode) =>
    Effect.gen(function* () {
      const slug = `spread-${mode.toLowerCase()}`
      const gateway = yield* behind(upstream(), {
        [slug]: { does: { ...answering(mode), before: { gate: slug } }, keys: 3 }
      })
      const asking = Effect.forEach(Array.from({ length: 9 }), () => gateway.ask(mode), { concurrency: 9 })
      const fiber = yield* Effect.forkChild(asking, { startImmediately: true })
      yield* Effect.promise(() =>
        upstream().until((requests) => requests.filter(({ model }) => model.startsWith(slug)).length === 9)
      )
      const sent = (yield* keysAt(gateway, slug)).map((bearer) => String(bearer).at(-1))
      for (const key of ["1", "2", "3"])
        assert.lengthOf(
          sent.filter((last) => last === key),
          3
        )
      yield* Effect.promise(() => upstream().open(slug))
      for (const reply of yield* Fiber.join(fiber)) assertWhole(mode, reply, slug)
    })
  )

  it.live.each(modes)("goes to the next key after a 429, before the next provider (%s)", (mode) =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), {
        alpha: { does: [failing(429, { "retry-after": "60" }), answering(mode)], keys: 3 },
        beta: { does: answering(mode) }
      })
      const first = yield* gateway.ask(mode)
      assertWhole(mode, first, "alpha")
      assert.isFalse(first.receipt?.fallback_used)
      assert.deepStrictEqual(attemptsOf(first), [
        ["alpha", 1, "error", "rate_limited"],
        ["alpha", 2, "ok", null]
      ])
      for (let request = 0; request < 4; request++) yield* gateway.ask(mode)
      assert.deepStrictEqual(yield* keysAt(gateway, "alpha"), bearers(1, 2, 3, 2, 3, 2))
      assert.strictEqual(yield* gateway.circuit("alpha"), "closed")
    })
  )

  it.live.each([401, 402, 403])("leaves a key that is refused with %d, and no other", (status) =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), { alpha: { does: [failing(status), answering("JSON")], keys: 2 } })
      for (let request = 0; request < 3; request++) assertWhole("JSON", yield* gateway.ask("JSON"), "alpha")
      assert.deepStrictEqual(yield* keysAt(gateway, "alpha"), bearers(1, 2, 2, 2))
    })
  )

  it.live("tries every key with allow_fallbacks: false, and no other provider", () =>
    Effect.gen(function* () {
      const limited = failing(429, { "retry-after": "60" })
      const gateway = yield* behind(upstream(), {
        alpha: { does: limited, keys: 3 },
        beta: { does: answering("JSON") }
      })
      const sole = { provider: { allow_fallbacks: false } }
      const reply = yield* gateway.ask("JSON", sole)
      assert.strictEqual(reply.status, 429)
      assert.deepStrictEqual(yield* keysAt(gateway, "alpha"), bearers(1, 2, 3))
      // While every key is at its limit, one skipped attempt says so.
      const next = yield* gateway.ask("JSON", sole)
      assert.strictEqual(next.error?.type, "provider_rate_limited")
      assert.deepStrictEqual(attemptsOf(next), [["alpha", 1, "skipped", "rate_limited"]])
      assert.strictEqual((yield* gateway.calls("beta")).length, 0)
    })
  )

  it.live("goes to the next provider after a failure that concerns every key", () =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), {
        alpha: { does: failing(500), keys: 2 },
        beta: { does: answering("JSON") }
      })
      const reply = yield* gateway.ask("JSON")
      assertWhole("JSON", reply, "beta")
      assert.deepStrictEqual(attemptsOf(reply), [
        ["alpha", 1, "error", "server_error"],
        ["beta", undefined, "ok", null]
      ])
    })
  )

  it.live("removes each key from the provider's error message", () =>
    Effect.gen(function* () {
      const quoting = [1, 2].map((key): Behaviour => ({ status: 400, json: errorBody(`bad: Bearer sk-alpha-${key}`) }))
      const gateway = yield* behind(upstream(), { alpha: { does: quoting, keys: 2 } })
      for (const _ of quoting) {
        const reply = yield* gateway.ask("JSON")
        assert.strictEqual(reply.error?.message, "bad: Bearer [key]")
      }
      assert.deepStrictEqual(yield* keysAt(gateway, "alpha"), bearers(1, 2))
    })
  )
})

describe("providers that rank equally", () => {
  it.live("share the requests", () =>
    Effect.gen(function* () {
      const does = answering("JSON")
      const gateway = yield* behind(upstream(), {
        alpha: { does, price: 1 },
        beta: { does, price: 1 },
        gamma: { does, price: 2 }
      })
      for (let request = 0; request < 6; request++) {
        const reply = yield* gateway.ask("JSON")
        assert.isFalse(reply.receipt?.fallback_used)
      }
      const counts = yield* Effect.forEach(["alpha", "beta", "gamma"], (slug) =>
        Effect.map(gateway.calls(slug), ({ length }) => length)
      )
      assert.deepStrictEqual(counts, [3, 3, 0])
      // An order of the client's is followed.
      for (let request = 0; request < 3; request++)
        assertWhole("JSON", yield* gateway.ask("JSON", { provider: { order: ["beta", "alpha"] } }), "beta")
    })
  )
})
