/**
 * Providers that break off in the middle of a text that another can continue: the client gets the
 * whole text as one stream.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { responsesSurface, surfaces } from "../support/surfaces.ts"
import { chunkBody, DONE, errorBody, sse, streamChunks } from "../support/upstream/Bodies.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import { assertBroken, healthyText } from "./answers.ts"
import { behindOn, type Gateway, healthy, quick, type Reply, useUpstream } from "./gateway.ts"

const upstream = useUpstream()

const role = sse(chunkBody({ role: "assistant", content: "" }))
const begun = [role, sse(chunkBody({ content: "Hello " })), sse(chunkBody({ content: "from " }))]
const rest: Behaviour = { chunks: streamChunks(["the other ", "side"], healthy) }
const broken = (gate: string, ending: NonNullable<Behaviour["ending"]>, chunks = begun): Behaviour => ({
  chunks: [...chunks, { gate }],
  ending
})

/**
 * The answer of a stream whose provider breaks off at the gate, after the client has received the
 * first part.
 */
const brokenAt = (gateway: Gateway, gate: string) =>
  Effect.gen(function* () {
    const answer = yield* Effect.promise(() => gateway.open("stream"))
    yield* Effect.promise(() => answer.until("from "))
    yield* Effect.promise(() => upstream().open(gate))
    return yield* gateway.whole(answer)
  })

describe.each(surfaces)("$name", (surface) => {
  const behind = behindOn(surface)

  const assertContinued = (reply: Reply, failed: "error" | "timeout", by = "beta"): void => {
    assert.strictEqual(reply.status, 200)
    assert.isUndefined(reply.error)
    assert.strictEqual(reply.content, healthyText)
    assert.deepStrictEqual(reply.finishReasons, ["stop"])
    assert.isTrue(reply.isDone)
    // One stream: the same id throughout, one role.
    assert.lengthOf(new Set(reply.text.match(/"id":"(?:chatcmpl|msg)[^"]*"/g)), 1)
    // Responses tell an item again at its end.
    if (reply.surface !== responsesSurface) assert.lengthOf(reply.text.split(`"role":"assistant"`), 2)
    assert.isTrue(reply.receipt?.fallback_used)
    assert.strictEqual(reply.receipt?.provider, by)
    assert.deepInclude(reply.receipt?.attempts[0], { provider: "alpha", status: failed })
    assert.deepInclude(reply.receipt?.attempts.at(-1), { provider: by, status: "ok" })
    // The usage contains both calls: more than the second one alone reported.
    assert.isAbove(reply.usage?.prompt_tokens ?? 0, healthy.prompt_tokens)
    assert.isAbove(reply.usage?.completion_tokens ?? 0, healthy.completion_tokens)
    const { completion_tokens, prompt_tokens } = reply.receipt?.usage ?? {}
    assert.deepInclude(reply.usage, { completion_tokens, prompt_tokens })
  }

  it.live.each(["reset", "close", "end"] as const)("cut (%s): another continues", (ending) =>
    Effect.gen(function* () {
      const gate = `on-${ending}`
      const gateway = yield* behind(upstream(), {
        alpha: { does: broken(gate, ending) },
        beta: { does: rest, prefill: true }
      })
      assertContinued(yield* brokenAt(gateway, gate), "error")
      const [call] = yield* gateway.calls("beta")
      const body = call?.body as { readonly messages: ReadonlyArray<unknown> } | undefined
      assert.deepStrictEqual(body?.messages, [
        { role: "user", content: "Hello?" },
        { role: "assistant", content: "Hello from" }
      ])
    })
  )

  it.live("stalled past the idle limit: another continues, and the first call is closed", () =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), {
        alpha: { does: { chunks: begun, ending: "hang" }, timeouts: quick },
        beta: { does: rest, prefill: true }
      })
      assertContinued(yield* gateway.ask("stream"), "timeout")
      yield* gateway.called("alpha", ({ closedEarly }) => closedEarly)
    })
  )

  it.live("an error in the middle of the stream: another continues", () =>
    Effect.gen(function* () {
      const chunks = [...begun, sse(errorBody("overloaded", { type: "server_error" })), DONE]
      const gateway = yield* behind(upstream(), { alpha: { does: { chunks } }, beta: { does: rest, prefill: true } })
      assertContinued(yield* gateway.ask("stream"), "error")
    })
  )

  it.live("a provider that begins by repeating the text: the repeat is removed", () =>
    Effect.gen(function* () {
      const chunks = streamChunks(["Hel", "lo from the", " other side"], healthy)
      const gateway = yield* behind(upstream(), {
        alpha: { does: { chunks: begun, ending: "close" } },
        beta: { does: { chunks }, prefill: true }
      })
      assertContinued(yield* gateway.ask("stream"), "error")
    })
  )

  it.live("the second fails or breaks off as well: the third continues", () =>
    Effect.gen(function* () {
      const failing: Behaviour = { status: 500, json: errorBody("oops") }
      const gateway = yield* behind(upstream(), {
        alpha: { does: { chunks: begun, ending: "close" } },
        beta: { does: failing, prefill: true },
        gamma: { does: { chunks: [role, sse(chunkBody({ content: "the other " }))], ending: "close" }, prefill: true },
        delta: { does: { chunks: streamChunks(["side"], healthy) }, prefill: true }
      })
      const reply = yield* gateway.ask("stream")
      assertContinued(reply, "error", "delta")
      assert.deepStrictEqual(
        reply.receipt?.attempts.map(({ error_type: type, provider }) => [provider, type]),
        [
          ["alpha", "stream_cut"],
          ["beta", "server_error"],
          ["gamma", "stream_cut"],
          ["delta", null]
        ]
      )
    })
  )

  it.live("no provider can continue: an error, never a clean end", () =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), {
        alpha: { does: { chunks: begun, ending: "close" } },
        beta: { does: { status: 500, json: errorBody("oops") }, prefill: true },
        gamma: { does: rest }
      })
      assertBroken(yield* gateway.ask("stream"), "Hello from ", "provider_error")
      assert.isEmpty(yield* gateway.calls("gamma"))
    })
  )

  it.live("the client leaves after the change: the second call is closed, and both are charged", () =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), {
        alpha: { does: { chunks: begun, ending: "close" } },
        beta: { does: { chunks: [role, sse(chunkBody({ content: "the other " }))], ending: "hang" }, prefill: true }
      })
      const answer = yield* Effect.promise(() => gateway.open("stream"))
      yield* Effect.promise(() => answer.until("other"))
      const leftAtMs = Date.now()
      answer.leave()
      const call = yield* gateway.called("beta", ({ closedEarly }) => closedEarly)
      assert.isBelow((call.closedAtMs ?? Number.POSITIVE_INFINITY) - leftAtMs, 1_000)
      const [receipt] = yield* gateway.receipts.pipe(Effect.repeat({ until: (receipts) => receipts.length > 0 }))
      assert.deepInclude(receipt, { provider: "beta", cancelled: true, fallback_used: true, usage_source: "counted" })
      // Four words, and the tokens of spaces at the ends of parts.
      assert.isAtLeast(receipt?.usage.completion_tokens ?? 0, 4)
    })
  )
})
