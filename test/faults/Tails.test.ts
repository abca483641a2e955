/**
 * Streams that stay open after their content or without any: the end is waited for two seconds, the
 * next token for `total_ms`.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chunkBody, sse, streamChunks, usageChunkBody } from "../support/upstream/Bodies.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import { assertBroken, assertWhole, healthyText } from "./answers.ts"
import { answering, behind, healthy, useUpstream } from "./gateway.ts"

const upstream = useUpstream()

/** Much longer than any limit. */
const dribble = (piece: string) => Array.from({ length: 60 }, () => [piece, { waitMs: 300 }]).flat()
const finished = streamChunks(["Hello ", "from ", "the other side"], healthy).slice(0, -2)
const alive: Readonly<Record<string, string>> = {
  comments: ": ping\n\n",
  "empty deltas": sse(chunkBody({})),
  "chunks without a choice": sse({ ...chunkBody({}), choices: [] })
}

describe("after the finish reason", () => {
  it.live.each(Object.entries(alive))("%s are read for two seconds (stream)", ([, piece]) =>
    Effect.gen(function* () {
      const does: Behaviour = { chunks: [...finished, ...dribble(piece)], ending: "hang" }
      const gateway = yield* behind(upstream(), { alpha: { does } })
      const reply = yield* gateway.ask("stream")
      assert.strictEqual(reply.content, healthyText)
      assert.deepStrictEqual(reply.finishReasons, ["stop"])
      assert.isUndefined(reply.error)
      assert.strictEqual(reply.receipt?.usage_source, "counted")
      assert.isTrue(reply.isDone)
      assert.isBelow(reply.tookMs, 8_000)
    })
  )

  it.live.each(Object.entries(alive))("%s do not affect a collected answer (JSON)", ([, piece]) =>
    Effect.gen(function* () {
      const does: Behaviour = { chunks: [...finished, ...dribble(piece)], ending: "hang" }
      const gateway = yield* behind(upstream(), {
        alpha: { does, maxCompletionTokens: null, timeouts: { firstTokenMs: 1_000, totalMs: 10_000 } },
        beta: { does: answering("JSON") }
      })
      const reply = yield* gateway.ask("JSON")
      assert.strictEqual(reply.content, healthyText)
      assert.strictEqual(reply.receipt?.provider, "alpha")
      assert.isBelow(reply.tookMs, 8_000)
    })
  )

  it.live("usage that arrives a moment later is used", () =>
    Effect.gen(function* () {
      const late = [...finished, ": ping\n\n", { waitMs: 600 }, sse(usageChunkBody(healthy)), ": ping\n\n"]
      const gateway = yield* behind(upstream(), { alpha: { does: { chunks: late, ending: "hang" } } })
      assertWhole("stream", yield* gateway.ask("stream"), "alpha")
    })
  )
})

describe("in the middle of the text", () => {
  const empty: ReadonlyArray<readonly [string, string]> = [
    ["empty deltas", sse(chunkBody({}))],
    ["empty texts", sse(chunkBody({ content: "" }))]
  ]
  it.live.each(empty)("%s alone count as silence after total_ms", ([, piece]) =>
    Effect.gen(function* () {
      const begun = [sse(chunkBody({ role: "assistant", content: "Hel" })), ...dribble(piece)]
      const gateway = yield* behind(upstream(), {
        alpha: { does: { chunks: begun, ending: "hang" }, timeouts: { totalMs: 1_000 } }
      })
      const reply = yield* gateway.ask("stream")
      assertBroken(reply, "Hel", "provider_timeout")
      assert.isAtLeast(reply.tookMs, 990)
      assert.isBelow(reply.tookMs, 8_000)
    })
  )

  it.live("total_ms does not limit a stream that goes on sending tokens", () =>
    Effect.gen(function* () {
      const slow = streamChunks(["Hello ", "from ", "the other side"], healthy).flatMap((chunk) => [
        chunk,
        { waitMs: 250 }
      ])
      const gateway = yield* behind(upstream(), { alpha: { does: { chunks: slow }, timeouts: { totalMs: 800 } } })
      assertWhole("stream", yield* gateway.ask("stream"), "alpha")
    })
  )
})
