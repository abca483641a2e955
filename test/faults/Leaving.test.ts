/**
 * A client that leaves at each stage of an answer: the call to the provider is closed at once,
 * measured by the provider's clock, and its output is settled.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { request } from "node:http"
import { chatSurface, surfaces } from "../support/surfaces.ts"
import { chatBody, chunkBody, sse } from "../support/upstream/Bodies.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import { answering, behind, behindOn, type Gateway, type Mode, modes, type Receipt, useUpstream } from "./gateway.ts"

const upstream = useUpstream()

/**
 * How long a whole reply is read after its client has left, because its output is unknown until the
 * end.
 */
const LISTENED_MS = 5_000
/** Less than that, and far more than closing a call takes. */
const AT_ONCE_MS = 4_000
const role = sse(chunkBody({ role: "assistant", content: "" }))
const FILLER_BYTES = 32 * 1_048_576
/** Comments, which are not tokens. */
const filler = { repeat: `:${" ".repeat(1_021)}\n\n`, times: FILLER_BYTES / 1_024 }
const begun = { headers: { "content-type": "application/json" }, chunks: [JSON.stringify(chatBody()).slice(0, 200)] }
const beforeAnything: ReadonlyArray<readonly [string, Mode, Behaviour]> = [
  ...modes.map((mode) => ["before the provider's headers", mode, { ending: "silence" }] as const),
  ["before the first token", "stream", { chunks: [role], ending: "hang" }],
  ["in the middle of the provider's body", "JSON", { ...begun, ending: "hang" }]
]
// A whole reply is read for seconds, by the same code for every surface.
const cases = beforeAnything.flatMap(([name, mode, does]) =>
  (mode === "stream" ? surfaces : [chatSurface]).map((surface) => ({ name, mode, does, surface }))
)

/** Starts a request and returns a function that leaves it and returns the time. */
const start = (gateway: Gateway, mode: Mode): (() => number) => {
  const asking = request(`${gateway.app.url}${gateway.surface.path}`, {
    agent: false,
    method: "POST",
    headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json", "cache-control": "no-store" }
  })
  asking.on("error", () => undefined)
  asking.end(JSON.stringify(gateway.body(mode)))
  return () => {
    asking.destroy()
    return Date.now()
  }
}

/** How long after the client left the call was closed, in milliseconds. */
const closedAfter = (gateway: Gateway, leftAtMs: number): Effect.Effect<number> =>
  Effect.map(
    gateway.called("alpha", ({ closedEarly }) => closedEarly),
    ({ closedAtMs }) => (closedAtMs ?? Number.POSITIVE_INFINITY) - leftAtMs
  )

/** The receipt, once it is there. */
const settled = (gateway: Gateway): Effect.Effect<Receipt | undefined> =>
  gateway.receipts.pipe(
    Effect.repeat({ until: (receipts) => receipts.length > 0 }),
    Effect.map(([receipt]) => receipt)
  )

describe("the client leaves", () => {
  it.live.each(cases)("$name ($surface.name, $mode)", ({ does, mode, surface }) =>
    Effect.gen(function* () {
      const gateway = yield* behindOn(surface)(upstream(), { alpha: { does } })
      const leave = start(gateway, mode)
      yield* gateway.called("alpha")
      const tookMs = yield* closedAfter(gateway, leave())
      const receipt = yield* settled(gateway)
      assert.deepInclude(receipt, { provider: "alpha", cancelled: true, finish_reason: null, error_type: null })
      assert.deepStrictEqual(
        receipt?.attempts.map(({ status }) => status),
        ["cancelled"]
      )
      if (mode === "stream") {
        assert.deepInclude(receipt, { usage_source: "counted" })
        assert.strictEqual(receipt?.usage.completion_tokens, 0)
        assert.isBelow(tookMs, AT_ONCE_MS)
        return
      }
      assert.deepInclude(receipt, { usage_source: "estimated" })
      assert.strictEqual(receipt?.usage.completion_tokens, 10)
      // The two clocks belong to two processes.
      assert.isAtLeast(tookMs, LISTENED_MS - 100)
      assert.isBelow(tookMs, LISTENED_MS + AT_ONCE_MS)
    })
  )

  it.live.each(surfaces)("$name: in the middle of a stream: the output is charged", (surface) =>
    Effect.gen(function* () {
      const chunks = [role, ...["one ", "two ", "three"].map((content) => sse(chunkBody({ content })))]
      const gateway = yield* behindOn(surface)(upstream(), { alpha: { does: { chunks, ending: "hang" } } })
      const answer = yield* Effect.promise(() => gateway.open("stream"))
      yield* Effect.promise(() => answer.until("three"))
      answer.leave()
      const tookMs = yield* closedAfter(gateway, Date.now())
      const receipt = yield* settled(gateway)
      assert.deepInclude(receipt, { provider: "alpha", cancelled: true, usage_source: "counted", error_type: null })
      assert.strictEqual(receipt?.usage.completion_tokens, 3)
      assert.isAbove(receipt?.cost.billed_usd ?? 0, 0)
      assert.isBelow(tookMs, AT_ONCE_MS)
    })
  )

  it.live("in the middle of a whole reply that is streamed internally", () =>
    Effect.gen(function* () {
      const chunks = [role, ...["one ", "two ", "three"].map((content) => sse(chunkBody({ content }))), filler]
      const unbounded = { maxCompletionTokens: null, timeouts: { totalMs: 600_000 } }
      const gateway = yield* behind(upstream(), {
        alpha: { does: { chunks, ending: "hang" }, ...unbounded },
        beta: { does: answering("JSON") }
      })
      const leave = start(gateway, "JSON")
      // More bytes than the socket buffers hold: the gateway has read the tokens.
      yield* gateway.called("alpha", ({ sentBytes }) => sentBytes > FILLER_BYTES / 2)
      const tookMs = yield* closedAfter(gateway, leave())
      const receipt = yield* settled(gateway)
      assert.deepInclude(receipt, { provider: "alpha", cancelled: true, usage_source: "counted", error_type: null })
      assert.isAtMost(receipt?.usage.completion_tokens ?? 4, 3)
      assert.isEmpty(yield* gateway.calls("beta"))
      assert.isBelow(tookMs, AT_ONCE_MS)
    })
  )

  it.live("during the pause before a retry: there is no retry", () =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), {
        alpha: { does: { status: 429, headers: { "retry-after": "5" }, json: {} } }
      })
      const leave = start(gateway, "JSON")
      yield* gateway.called("alpha", ({ closedAtMs }) => closedAtMs !== null)
      leave()
      const receipt = yield* settled(gateway)
      assert.isTrue(receipt?.cancelled)
      assert.lengthOf(yield* gateway.calls("alpha"), 1)
    })
  )
})
