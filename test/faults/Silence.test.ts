/** Providers that take a request and say nothing, or nothing that counts, before the limit of the first token. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chunkBody, sse } from "../support/upstream/Bodies.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import { assertFallback } from "./answers.ts"
import { answering, behind, type Mode, modes, quick, useUpstream } from "./gateway.ts"

const upstream = useUpstream()

/** Signs of life that are no token, for longer than anybody waits. */
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
      assert.isBelow(reply.tookMs, 10_000)
      // Nobody waits for its answer any more.
      const call = yield* gateway.called("alpha", ({ closedEarly }) => closedEarly)
      assert.isAtLeast((call.closedAtMs ?? 0) - call.receivedAtMs, 250)
      assert.lengthOf(yield* gateway.calls("alpha"), 1)
    })
  )

  it.live.each(cases)("$name, and nobody else: 504, and it is not asked twice ($mode)", ({ does, mode }) =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), { alpha: { does: does(mode), timeouts: quick } })
      const reply = yield* gateway.ask(mode)
      assert.strictEqual(reply.status, 504)
      assert.strictEqual(reply.error?.type, "provider_timeout")
      assert.deepInclude(reply.error?.details.attempts?.[0], timedOut)
      assert.lengthOf(yield* gateway.calls("alpha"), 1)
    })
  )
})
