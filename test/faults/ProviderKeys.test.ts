/**
 * Providers with several keys, and providers that rank equally: which key arrives at the vendor.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { chunkBody, errorBody, sse } from "../support/upstream/Bodies.ts"
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

  it.live("leaves a key whose limit was reached within a stream", () =>
    Effect.gen(function* () {
      const limited = { error: { message: "Please try again in 60s.", type: "rate_limit_error", code: 429 } }
      const does: Behaviour = { chunks: [sse(chunkBody({ role: "assistant", content: "Hel" })), sse(limited)] }
      const gateway = yield* behind(upstream(), { alpha: { does: [does, answering("stream")], keys: 2 } })
      const broken = yield* gateway.ask("stream")
      assert.deepStrictEqual([broken.content, broken.finishReasons], ["Hel", ["error"]])
      assert.deepStrictEqual(attemptsOf(broken), [["alpha", 1, "error", "stream_cut"]])
      for (let request = 0; request < 3; request++) assertWhole("stream", yield* gateway.ask("stream"), "alpha")
      assert.deepStrictEqual(yield* keysAt(gateway, "alpha"), bearers(1, 2, 2, 2))
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

describe("a conversation", () => {
  const turns = (subject: string, count: number) => ({
    messages: [
      { role: "system", content: "You are helpful." },
      ...Array.from({ length: count }, (_, turn) => [
        { role: "user", content: turn === 0 ? subject : "And then?" },
        { role: "assistant", content: "Well." }
      ]).flat(),
      { role: "user", content: count === 0 ? subject : "Go on." }
    ]
  })
  const stickyOf = ({ receipt }: Reply) => receipt?.sticky

  it.live.each(modes)("stays with the key that it warmed, while others are spread (%s)", (mode) =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), { alpha: { does: answering(mode), keys: 3 } })
      for (const ask of [
        (turn: number) => gateway.ask(mode, turns("foxes", turn)),
        (turn: number) => gateway.ask(mode, { ...turns(`a ${turn}`, 0), prompt_cache_key: "one" }),
        (turn: number) => gateway.ask(mode, { ...turns(`b ${turn}`, 0), session_id: "two" })
      ]) {
        const states = yield* Effect.forEach([0, 1, 2], (turn) => Effect.map(ask(turn), stickyOf))
        assert.deepStrictEqual(states, ["new", "hit", "hit"])
      }
      assert.deepStrictEqual(yield* keysAt(gateway, "alpha"), bearers(1, 1, 1, 2, 2, 2, 3, 3, 3))
    })
  )

  it.live.each(["x-session-id", "session-id", "session_id", "conversation_id"])(
    "is named by the header %s, and belongs to the client's key",
    (header) =>
      Effect.gen(function* () {
        const gateway = yield* behind(upstream(), { alpha: { does: answering("JSON"), keys: 3 } })
        const other = yield* gateway.app.issueKey()
        for (const [at, key] of [gateway.key, gateway.key, other.secret, gateway.key].entries()) {
          const headers = { [header]: `${header} three`, "cache-control": "no-store" }
          const { status } = yield* gateway.app.chat(gateway.body("JSON", turns(`c ${at}`, 0)), { key, headers })
          assert.strictEqual(status, 200)
        }
        assert.deepStrictEqual(yield* keysAt(gateway, "alpha"), bearers(1, 1, 2, 1))
      })
  )

  it.live("stays with the provider that answered it, until that provider fails", () =>
    Effect.gen(function* () {
      const does = answering("JSON")
      const gateway = yield* behind(upstream(), {
        alpha: { does: [failing(500), does], price: 1 },
        beta: { does, price: 10 }
      })
      const ask = (turn: number, more: object = {}) => gateway.ask("JSON", { ...turns("owls", turn), ...more })
      const first = yield* ask(0)
      assertWhole("JSON", first, "beta")
      assert.strictEqual(stickyOf(first), "new")
      // The cheaper provider works again.
      assertWhole("JSON", yield* gateway.ask("JSON", turns("larks", 0)), "alpha")
      const second = yield* ask(1)
      assertWhole("JSON", second, "beta")
      assert.strictEqual(stickyOf(second), "hit")
      assert.isFalse(second.receipt?.fallback_used)
      // The client's own order and sort are followed.
      for (const provider of [{ sort: "price" }, { order: ["alpha"] }]) {
        const chosen = yield* ask(1, { provider })
        assertWhole("JSON", chosen, "alpha")
        assert.isUndefined(stickyOf(chosen))
      }
      yield* gateway.rescript("beta", failing(500))
      const moved = yield* ask(2)
      assertWhole("JSON", moved, "alpha")
      assert.strictEqual(stickyOf(moved), "moved")
      yield* gateway.rescript("beta", does)
      assert.strictEqual(stickyOf(yield* ask(3)), "hit")
    })
  )

  it.live("moves on from a key at its rate limit, and stays with the next", () =>
    Effect.gen(function* () {
      const does = answering("JSON")
      const gateway = yield* behind(upstream(), {
        alpha: { does: [does, failing(429, { "retry-after": "60" }), does], keys: 3 }
      })
      const states = yield* Effect.forEach([0, 1, 2, 3], (turn) =>
        Effect.map(gateway.ask("JSON", turns("wolves", turn)), stickyOf)
      )
      assert.deepStrictEqual(states, ["new", "moved", "hit", "hit"])
      assert.deepStrictEqual(yield* keysAt(gateway, "alpha"), bearers(1, 1, 2, 2, 2))
    })
  )

  it.live("of which nothing could move has no state on its receipt", () =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), { alpha: { does: answering("JSON") } })
      assert.isUndefined(stickyOf(yield* gateway.ask("JSON", turns("hares", 1))))
    })
  )
})
