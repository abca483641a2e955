/**
 * Providers that send too much: refused with a clear error. Their use of memory is in
 * test/limits/Memory.limits.ts.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { gzipSync } from "node:zlib"
import { chunkBody, DONE, sse } from "../support/upstream/Bodies.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import { assertFallback } from "./answers.ts"
import { answering, behind, type Mode, useUpstream } from "./gateway.ts"
import { openReader } from "./reader.ts"

const upstream = useUpstream()

const MEBI = 1024 * 1024
const megabyte = "x".repeat(MEBI)
const json = { headers: { "content-type": "application/json" } }
const [head = "", tail = ""] = JSON.stringify({
  choices: [{ message: { content: "|" }, finish_reason: "stop" }]
}).split("|")
const whole: Behaviour = { ...json, chunks: [head, { repeat: megabyte, times: 50 }, tail] }
const event = (mebibytes: number) => [
  `data: {"choices":[{"index":0,"delta":{"content":"`,
  { repeat: megabyte, times: mebibytes },
  `"}}]}\n\n`
]
const packed: Behaviour = {
  headers: { ...json.headers, "content-encoding": "gzip" },
  body: gzipSync(head + "x".repeat(50 * MEBI) + tail)
}

const cases: ReadonlyArray<{
  readonly name: string
  readonly mode: Mode
  readonly does: Behaviour
}> = [
  { name: "a reply of 50 MB", mode: "JSON", does: whole },
  { name: "a reply of 50 MB, compressed to 50 kB", mode: "JSON", does: packed },
  { name: "a reply of 50 MB instead of events", mode: "stream", does: whole },
  { name: "an event of 10 MB", mode: "stream", does: { chunks: [...event(10), DONE] } }
]

describe("too large", () => {
  it.live.each(cases)("$name: the fallback answers ($mode)", ({ does, mode }) =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), {
        alpha: { does },
        beta: { does: answering(mode) }
      })
      const answer = yield* gateway.ask(mode)
      assertFallback(mode, answer, { status: "error", error_type: "too_large", http_status: null })
    })
  )

  it.live.each(cases)("$name without a fallback: 502 that says so, and no retry ($mode)", ({ does, mode }) =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), { alpha: { does } })
      const reply = yield* gateway.ask(mode)
      assert.strictEqual(reply.status, 502)
      assert.strictEqual(reply.error?.type, "provider_error")
      assert.deepStrictEqual(
        reply.error?.details.attempts?.map(({ error_type: type }) => type),
        ["too_large"]
      )
    })
  )

  it.live("a whole reply of 20 MB instead of events is read, as for JSON", () =>
    Effect.gen(function* () {
      const does: Behaviour = { ...json, chunks: [head, { repeat: megabyte, times: 20 }, tail] }
      const gateway = yield* behind(upstream(), { alpha: { does } })
      const reply = yield* gateway.ask("stream")
      assert.isUndefined(reply.error)
      assert.strictEqual(reply.content.length, 20 * MEBI)
      assert.isTrue(reply.isDone)
    })
  )

  it.live("an event of 10 MB after good ones: an error, never a clean end", () =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), {
        alpha: { does: { chunks: [sse(chunkBody({ role: "assistant", content: "Hel" })), ...event(10), DONE] } }
      })
      const reply = yield* gateway.ask("stream")
      assert.strictEqual(reply.content, "Hel")
      assert.deepStrictEqual(reply.finishReasons, ["error"])
      assert.strictEqual(reply.error?.type, "provider_error")
      assert.isTrue(reply.isDone)
    })
  )

  it.live.each(["JSON", "stream"] as const)("an error page of 50 MB: the status counts (%s)", (mode) =>
    Effect.gen(function* () {
      const does = { ...whole, status: 500 }
      const gateway = yield* behind(upstream(), { alpha: { does }, beta: { does: answering(mode) } })
      const reply = yield* gateway.ask(mode)
      assertFallback(mode, reply, { status: "error", http_status: mode === "JSON" ? null : 500 })
      // It is not read to its end.
      const call = yield* gateway.called("alpha", ({ closedEarly }) => closedEarly)
      assert.isBelow(call.sentBytes, 48 * MEBI)
    })
  )

  it.live("a stream of 50 MB in events of moderate size passes", () =>
    Effect.gen(function* () {
      // Most of it is an unknown member, because counting the tokens of so much text takes time.
      const { choices, ...chunk } = chunkBody({ content: "word " })
      const piece = sse({ ...chunk, choices: [{ ...choices[0], padding: "x".repeat(65_536) }] })
      const chunks = [{ repeat: piece, times: 800 }, sse(chunkBody({}, "stop")), DONE]
      const gateway = yield* behind(upstream(), { alpha: { does: { chunks } } })
      const answer = yield* Effect.promise(async () => (await openReader(gateway)).readAll())
      assert.isAtLeast(answer.bytes, 50 * MEBI)
      assert.isTrue(answer.tail.endsWith(DONE))
    })
  )
})
