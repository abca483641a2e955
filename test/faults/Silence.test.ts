/**
 * Providers that accept a request and send nothing, or nothing that counts, before the first-token
 * limit.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chunkBody, sse } from "../support/upstream/Bodies.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import { assertFallback, assertWhole } from "./answers.ts"
import { answering, behind, type Mode, modes, quick, useUpstream } from "./gateway.ts"

const upstream = useUpstream()

/** Data without tokens, for longer than any limit. */
const dribble = (piece: string) => Array.from({ length: 200 }, () => [piece, { waitMs: 50 }]).flat()

const silences: Readonly<Record<string, (mode: Mode) => Behaviour>> = {
  "accepts and never answers": () => ({ ending: "silence" }),
  "sends headers and nothing more": (mode) => ({
    headers: { "content-type": mode === "JSON" ? "application/json" : "text/event-stream" },
    chunks: [],
    ending: "hang"
  }),
  "is slow to begin": (mode) => ({
    before: { gate: "never" },
    ...answering(mode)
  }),
  "keeps the connection alive and says nothing": (mode) =>
    mode === "JSON"
      ? { headers: { "content-type": "application/json" }, chunks: dribble("\n") }
      : { chunks: [sse(chunkBody({ role: "assistant", content: "" })), ...dribble(": processing\n\n")] }
}
const cases = modes.flatMap((mode) => Object.entries(silences).map(([name, does]) => ({ mode, name, does })))
/** A reply without a tight limit. */
const unbounded = { maxCompletionTokens: null, timeouts: { totalMs: 600_000 } }
const timedOut = { status: "timeout", error_type: "timeout", http_status: null }

describe("a provider that", () => {
  it.live.each(cases)("$name: the fallback answers within the limit ($mode)", ({ does, mode }) =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), {
        alpha: { does: does(mode), timeouts: quick },
        beta: { does: answering(mode) }
      })
      const reply = yield* gateway.ask(mode)
      assertFallback(mode, reply, timedOut)
      assert.isAtLeast(reply.tookMs, 290)
      assert.isBelow(reply.tookMs, 10_000)
      // Its call was closed.
      yield* gateway.called("alpha", ({ closedEarly }) => closedEarly)
      assert.lengthOf(yield* gateway.calls("alpha"), 1)
    })
  )

  it.live.each(cases)("$name, without a fallback: 504, and no retry ($mode)", ({ does, mode }) =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), { alpha: { does: does(mode), timeouts: quick } })
      const reply = yield* gateway.ask(mode)
      assert.strictEqual(reply.status, 504)
      assert.strictEqual(reply.error?.type, "provider_timeout")
      assert.deepInclude(reply.error?.details.attempts?.[0], timedOut)
      assert.lengthOf(yield* gateway.calls("alpha"), 1)
    })
  )

  const lengths = [{ maxCompletionTokens: null }, { maxCompletionTokens: 100_000 }]
  const long = Object.entries(silences).flatMap(([name, does]) => lengths.map((length) => ({ name, does, ...length })))

  it.live.each(long)(
    "$name: the fallback answers within the limit, even if the reply may have $maxCompletionTokens tokens (JSON)",
    ({ does, maxCompletionTokens }) =>
      Effect.gen(function* () {
        const gateway = yield* behind(upstream(), {
          alpha: { does: does("stream"), timeouts: quick, maxCompletionTokens },
          beta: { does: answering("JSON"), maxCompletionTokens }
        })
        const reply = yield* gateway.ask("JSON")
        assertFallback("JSON", reply, timedOut)
        assert.isAtLeast(reply.tookMs, 290)
        const call = yield* gateway.called("alpha", ({ closedEarly }) => closedEarly)
        assert.isBelow((call.closedAtMs ?? Number.POSITIVE_INFINITY) - call.receivedAtMs, 2_000)
        assert.lengthOf(yield* gateway.calls("alpha"), 1)
      })
  )

  it.live("works on a long reply: its stream is collected into the reply (JSON)", () =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), {
        alpha: { does: answering("stream"), ...unbounded },
        beta: { does: answering("JSON") }
      })
      const watched = yield* gateway.ask("JSON")
      assertWhole("JSON", watched, "alpha")
      assert.isFalse(watched.receipt?.fallback_used)
      const [call] = yield* gateway.calls("alpha")
      assert.deepInclude(call?.body, { stream: true, stream_options: { include_usage: true } })

      const whole = yield* behind(upstream(), { alpha: { does: answering("JSON"), ...unbounded } })
      const plain = yield* whole.ask("JSON")
      const [other] = yield* whole.calls("alpha")
      assert.deepInclude(other?.body, { stream: false })
      const withoutIds = ({ text }: { readonly text: string }) => {
        const { created: _created, generation_id: _generation, id: _id, ...rest } = JSON.parse(text)
        return rest
      }
      assert.deepStrictEqual(withoutIds(watched), withoutIds(plain))
    })
  )

  it.live("breaks off in the middle of a long reply: the fallback answers (JSON)", () =>
    Effect.gen(function* () {
      const half = [sse(chunkBody({ role: "assistant", content: "Hel" }))]
      const gateway = yield* behind(upstream(), {
        alpha: { does: { chunks: half, ending: "reset" }, ...unbounded },
        beta: { does: answering("JSON") }
      })
      assertFallback("JSON", yield* gateway.ask("JSON"), { status: "error", error_type: "stream_cut" })
    })
  )
})
