/** Providers that break off: a partial answer is never presented as a whole one. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { surfaces } from "../support/surfaces.ts"
import { chatBody, chunkBody, sse } from "../support/upstream/Bodies.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import { assertBroken, assertFallback } from "./answers.ts"
import { answering, behindOn, type Gateway, quick, useUpstream } from "./gateway.ts"

const upstream = useUpstream()

const role = sse(chunkBody({ role: "assistant", content: "" }))
const half = [role, sse(chunkBody({ content: "Hel" })), sse(chunkBody({ content: "lo" }))]
/** Breaks off at the gate, after the first part has arrived. */
const breaking = (gate: string, ending: NonNullable<Behaviour["ending"]>, chunks = half): Behaviour => ({
  chunks: [...chunks, { gate }],
  ending
})

/** The answer of a stream whose provider breaks off after the client has received `text`. */
const brokenAfter = (gateway: Gateway, gate: string, text: string) =>
  Effect.gen(function* () {
    const answer = yield* Effect.promise(() => gateway.open("stream"))
    yield* Effect.promise(() => answer.until(text))
    yield* Effect.promise(() => upstream().open(gate))
    return yield* gateway.whole(answer)
  })

describe.each(surfaces)("$name", (surface) => {
  const behind = behindOn(surface)

  describe("in the middle of a stream", () => {
    it.live.each(["reset", "close", "end"] as const)("cut (%s): an error chunk, usage, [DONE]", (ending) =>
      Effect.gen(function* () {
        const gate = `cut-${ending}`
        const gateway = yield* behind(upstream(), {
          alpha: { does: breaking(gate, ending) },
          beta: { does: answering("stream") }
        })
        const reply = yield* brokenAfter(gateway, gate, `"lo"`)
        assertBroken(reply, "Hello", "provider_error")
        assert.strictEqual(reply.provider, "alpha")
        assert.deepInclude(reply.receipt?.attempts[0], { provider: "alpha", status: "error", error_type: "stream_cut" })
        assert.isEmpty(yield* gateway.calls("beta"))
      })
    )

    it.live("stalled past the idle limit: the same, as a timeout, and the call is closed", () =>
      Effect.gen(function* () {
        const gateway = yield* behind(upstream(), {
          alpha: { does: { chunks: half, ending: "hang" }, timeouts: quick },
          beta: { does: answering("stream") }
        })
        const reply = yield* gateway.ask("stream")
        assertBroken(reply, "Hello", "provider_timeout")
        assert.isBelow(reply.tookMs, 10_000)
        assert.deepInclude(reply.receipt?.attempts[0], { provider: "alpha", status: "timeout", error_type: "timeout" })
        yield* gateway.called("alpha", ({ closedEarly }) => closedEarly)
      })
    )

    it.live("an unreadable event is skipped, but a cut after it is an error", () =>
      Effect.gen(function* () {
        const gateway = yield* behind(upstream(), {
          alpha: { does: { chunks: [...half, `data: {"choices":[{"index":0,"delta":{"con`], ending: "end" } }
        })
        assertBroken(yield* gateway.ask("stream"), "Hello", "provider_error")
      })
    )
  })

  describe("inside a tool call's arguments", () => {
    const call = (more: Readonly<Record<string, unknown>>) => sse(chunkBody({ tool_calls: [{ index: 0, ...more }] }))
    const begun = [
      role,
      call({ id: "call_1", type: "function", function: { name: "pay", arguments: "" } }),
      call({ function: { arguments: `{"to":"Ada","amount":1` } })
    ]

    it.live.each(["reset", "close", "end"] as const)(
      "cut (%s): an error, never half a JSON as a complete one",
      (ending) =>
        Effect.gen(function* () {
          const gate = `tools-${ending}`
          const gateway = yield* behind(upstream(), {
            alpha: { does: breaking(gate, ending, begun) },
            beta: { does: answering("stream"), prefill: true }
          })
          const reply = yield* brokenAfter(gateway, gate, "amount")
          assertBroken(reply, "", "provider_error")
          assert.deepStrictEqual(reply.toolArguments, [`{"to":"Ada","amount":1`])
        })
    )

    it.live("cut after some text: the text is not continued, although another provider could", () =>
      Effect.gen(function* () {
        const said = sse(chunkBody({ content: "Let me see." }))
        const gateway = yield* behind(upstream(), {
          alpha: { does: breaking("tools-text", "reset", [role, said, ...begun.slice(1)]) },
          beta: { does: answering("stream"), prefill: true }
        })
        const reply = yield* brokenAfter(gateway, "tools-text", "amount")
        assertBroken(reply, "Let me see.", "provider_error")
        assert.deepStrictEqual(reply.toolArguments, [`{"to":"Ada","amount":1`])
        assert.isEmpty(yield* gateway.calls("beta"))
      })
    )

    it.live("stalled: the same", () =>
      Effect.gen(function* () {
        const gateway = yield* behind(upstream(), {
          alpha: { does: { chunks: begun, ending: "hang" }, timeouts: quick },
          beta: { does: answering("stream"), prefill: true }
        })
        const reply = yield* gateway.ask("stream")
        assertBroken(reply, "", "provider_timeout")
        assert.notInclude(reply.finishReasons, "tool_calls")
      })
    )
  })

  describe("in a whole reply, before anything reached the client", () => {
    const text = JSON.stringify(chatBody({ content: "Hello" }))
    const head = { headers: { "content-type": "application/json" } }

    it.live.each(["reset", "close"] as const)("cut (%s): the fallback answers", (ending) =>
      Effect.gen(function* () {
        const gateway = yield* behind(upstream(), {
          alpha: { does: { ...head, chunks: [text.slice(0, 200)], ending } },
          beta: { does: answering("JSON") }
        })
        assertFallback("JSON", yield* gateway.ask("JSON"), { status: "error", http_status: null })
      })
    )

    it.live("shorter than its content-length: the fallback answers", () =>
      Effect.gen(function* () {
        const headers = { ...head.headers, "content-length": String(text.length) }
        const gateway = yield* behind(upstream(), {
          alpha: { does: { headers, chunks: [text.slice(0, -20)], ending: "close" } },
          beta: { does: answering("JSON") }
        })
        assertFallback("JSON", yield* gateway.ask("JSON"), { status: "error", error_type: "stream_cut" })
      })
    )

    it.live("stalled: the fallback answers", () =>
      Effect.gen(function* () {
        const gateway = yield* behind(upstream(), {
          alpha: { does: { ...head, chunks: [text.slice(0, 200)], ending: "hang" }, timeouts: quick },
          beta: { does: answering("JSON") }
        })
        assertFallback("JSON", yield* gateway.ask("JSON"), { status: "timeout", error_type: "timeout" })
      })
    )
  })
})
