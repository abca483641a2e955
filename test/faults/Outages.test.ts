/**
 * Providers that are down for a while, or all at once: circuits, the client's error, and the
 * recovery.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Random } from "effect"
import { TestClock } from "effect/testing"
import { errorBody, streamChunks } from "../support/upstream/Bodies.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import { assertWhole } from "./answers.ts"
import { answering, behind, modes, quick, useUpstream } from "./gateway.ts"

const upstream = useUpstream()

const failing: Behaviour = { status: 500, json: errorBody("oops", { type: "server_error" }) }
const alphaFirst = { provider: { order: ["alpha"] } }

describe("a provider that comes and goes", () => {
  it.live.each(modes)("fails every other time: every request is answered (%s)", (mode) =>
    Effect.gen(function* () {
      const flapping = Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? failing : answering(mode)))
      const gateway = yield* behind(upstream(), { alpha: { does: flapping }, beta: { does: answering(mode) } })
      const providers = new Set<string | undefined>()
      for (let count = 0; count < 20; count++) {
        const reply = yield* gateway.ask(mode, alphaFirst)
        assertWhole(mode, reply, reply.provider ?? "")
        providers.add(reply.provider)
      }
      assert.deepStrictEqual(providers, new Set(["alpha", "beta"]))
      // It never failed often enough in a row to open the circuit.
      assert.lengthOf(yield* gateway.calls("alpha"), 20)
      assert.strictEqual(yield* gateway.circuit("alpha"), "closed")
    })
  )

  it.effect.each(modes)("is back within thirty seconds of its recovery, however long it was down (%s)", (mode) =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), { alpha: { does: failing }, beta: { does: answering(mode) } })
      const ask = Effect.tap(gateway.ask(mode, alphaFirst), (reply) =>
        Effect.sync(() => assertWhole(mode, reply, reply.provider ?? ""))
      )
      for (let count = 0; count < 5; count++) yield* ask
      assert.strictEqual(yield* gateway.circuit("alpha"), "open")
      assert.lengthOf(yield* gateway.calls("alpha"), 5)
      const skipped = yield* ask
      assert.deepInclude(skipped.receipt?.attempts[0], {
        provider: "alpha",
        status: "skipped",
        error_type: "circuit_open"
      })
      assert.lengthOf(yield* gateway.calls("alpha"), 5)

      // Ten minutes of outage with a request every ten seconds: the pauses between probes grow up
      // to their limit.
      for (let count = 0; count < 60; count++) {
        yield* TestClock.adjust("10 seconds")
        yield* ask
      }
      const probes = (yield* gateway.calls("alpha")).length - 5
      assert.isAtLeast(probes, 18)
      assert.isBelow(probes, 40)

      yield* gateway.rescript("alpha", answering(mode))
      yield* TestClock.adjust("30 seconds")
      const recovered = yield* ask
      assert.strictEqual(recovered.provider, "alpha")
      assert.isFalse(recovered.receipt?.fallback_used)
      assert.strictEqual(yield* gateway.circuit("alpha"), "closed")
      assert.strictEqual((yield* ask).provider, "alpha")
    })
  )
})

describe("a provider whose streams break off after their first tokens", () => {
  const [head = "", piece = ""] = streamChunks(["Hel"])

  it.live.each([
    { how: "and none continues", prefill: false },
    { how: "and another continues", prefill: true }
  ])("is left out after five of them ($how)", ({ prefill }) =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), {
        alpha: { does: { chunks: [head, piece], ending: "close" }, prefill },
        beta: { does: answering("stream"), prefill }
      })
      for (let count = 0; count < 5; count++) {
        assert.strictEqual(yield* gateway.circuit("alpha"), "closed")
        const reply = yield* gateway.ask("stream", alphaFirst)
        assert.strictEqual(reply.error === undefined, prefill, reply.text)
        assert.deepInclude(reply.receipt?.attempts[0], { provider: "alpha", status: "error", error_type: "stream_cut" })
      }
      assert.strictEqual(yield* gateway.circuit("alpha"), "open")
      const reply = yield* gateway.ask("stream", alphaFirst)
      assertWhole("stream", reply, "beta")
      assert.deepInclude(reply.receipt?.attempts[0], { provider: "alpha", status: "skipped" })
      assert.lengthOf(yield* gateway.calls("alpha"), 5)
    })
  )

  it.live("keeps its place if clients leave", () =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), {
        alpha: { does: { chunks: [head, piece], ending: "hang" } },
        beta: { does: answering("stream") }
      })
      for (let count = 0; count < 6; count++) {
        const answer = yield* Effect.promise(() => gateway.open("stream", alphaFirst))
        yield* Effect.promise(() => answer.until("Hel"))
        answer.leave()
        yield* gateway.receipts.pipe(Effect.repeat({ until: (receipts) => receipts.length > count }))
      }
      assert.strictEqual(yield* gateway.circuit("alpha"), "closed")
      assert.lengthOf(yield* gateway.calls("alpha"), 6)
    })
  )
})

describe("a provider that failed for long and now sorts after more expensive ones", () => {
  it.effect("is used again within thirty seconds of its recovery, on a busy gateway", () =>
    Effect.gen(function* () {
      const mode = "JSON"
      const gateway = yield* behind(upstream(), { alpha: { does: failing }, beta: { does: answering(mode) } })
      const ask = Effect.tap(gateway.ask(mode), (reply) =>
        Effect.sync(() => assertWhole(mode, reply, reply.provider ?? ""))
      )
      for (let count = 0; count < 30; count++) {
        yield* ask
        yield* TestClock.adjust("1 second")
      }
      assert.strictEqual((yield* ask).provider, "beta")

      yield* gateway.rescript("alpha", answering(mode))
      // Ten requests a second.
      const found = yield* Effect.andThen(TestClock.adjust("100 millis"), ask).pipe(
        Effect.repeat({ until: ({ provider }) => provider === "alpha", times: 299 })
      )
      assert.strictEqual(found.provider, "alpha")
    }).pipe(Random.withSeed("the tests' own"))
  )
})

describe("no provider answers", () => {
  it.live.each(modes)("every provider fails in its own way: 502 with every attempt (%s)", (mode) =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), {
        alpha: { does: failing },
        beta: { does: { ending: "silence" }, timeouts: quick },
        gamma: { does: { ending: "reset_at_once" } }
      })
      const reply = yield* gateway.ask(mode)
      assert.strictEqual(reply.status, 502)
      assert.deepInclude(reply.error, { type: "provider_error", retryable: true })
      assert.deepStrictEqual(
        reply.error?.details.attempts?.map(({ error_type: type, http_status: status, provider }) => [
          provider,
          type,
          status
        ]),
        [
          ["alpha", "server_error", 500],
          ["beta", "timeout", null],
          ["gamma", "unreachable", null],
          // The last one is retried.
          ["gamma", "unreachable", null]
        ]
      )
      assert.strictEqual(reply.receipt?.error_type, "provider_error")
      assert.strictEqual(reply.receipt?.cost.billed_usd, 0)
    })
  )

  it.live.each(modes)("every provider is silent: 504 with every attempt (%s)", (mode) =>
    Effect.gen(function* () {
      const silent = { does: { ending: "silence" }, timeouts: quick } as const
      const gateway = yield* behind(upstream(), { alpha: silent, beta: silent })
      const reply = yield* gateway.ask(mode)
      assert.strictEqual(reply.status, 504)
      assert.deepInclude(reply.error, { type: "provider_timeout", retryable: true })
      assert.deepStrictEqual(
        reply.error?.details.attempts?.map(({ provider, status }) => [provider, status]),
        [
          ["alpha", "timeout"],
          ["beta", "timeout"]
        ]
      )
    })
  )

  it.live.each(modes)(
    "our key is refused everywhere: 502 at once, which says that a retry does not help (%s)",
    (mode) =>
      Effect.gen(function* () {
        const refusing: Behaviour = { status: 401, json: errorBody("no such key") }
        const gateway = yield* behind(upstream(), { alpha: { does: refusing }, beta: { does: refusing } })
        assert.strictEqual((yield* gateway.ask(mode)).status, 502)
        const reply = yield* gateway.ask(mode)
        assert.strictEqual(reply.status, 502)
        assert.deepInclude(reply.error, { type: "provider_error", retryable: false, retry_after: null })
        assert.strictEqual(reply.headers.get("x-should-retry"), "false")
        assert.isNull(reply.headers.get("retry-after"))
        assert.deepStrictEqual(
          reply.error?.details.attempts?.map(({ provider, status }) => [provider, status]),
          [
            ["alpha", "skipped"],
            ["beta", "skipped"]
          ]
        )
        assert.lengthOf(yield* gateway.calls("alpha"), 1)
      })
  )

  it.live.each(modes)("fallbacks are not allowed and the first is down: 503 at once (%s)", (mode) =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), { alpha: { does: failing }, beta: { does: answering(mode) } })
      const reply = yield* gateway.ask(mode, { provider: { allow_fallbacks: false } })
      assert.strictEqual(reply.status, 503)
      assert.deepInclude(reply.error, { type: "provider_unavailable", retryable: true })
      assert.deepStrictEqual(
        reply.error?.details.attempts?.map(({ error_type: type, provider }) => [provider, type]),
        [["alpha", "server_error"]]
      )
      assert.isBelow(reply.tookMs, 5_000)
      assert.lengthOf(yield* gateway.calls("alpha"), 1)
      assert.isEmpty(yield* gateway.calls("beta"))
    })
  )
})
