/** The gateway's memory with providers that send too much and clients that read too slowly. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { gzipSync } from "node:zlib"
import { answering, behind, type Mode, useUpstream } from "../faults/gateway.ts"
import { openReader } from "../faults/reader.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import { chunkBody, DONE, sse } from "../support/upstream/Bodies.ts"
import { liveBytes, peakWhile } from "./memory.ts"

const upstream = useUpstream()

const MEBI = 1024 * 1024
const megabyte = "x".repeat(MEBI)
const json = { headers: { "content-type": "application/json" } }
const [head = "", tail = ""] = JSON.stringify({
  choices: [{ message: { content: "|" }, finish_reason: "stop" }]
}).split("|")
const whole: Behaviour = { ...json, chunks: [head, { repeat: megabyte, times: 50 }, tail] }
const packed: Behaviour = {
  headers: { ...json.headers, "content-encoding": "gzip" },
  body: gzipSync(head + "x".repeat(50 * MEBI) + tail)
}
const event = [`data: {"choices":[{"index":0,"delta":{"content":"`, { repeat: megabyte, times: 10 }, `"}}]}\n\n`, DONE]

/** `limit`: the mebibytes that are read before the reply is refused. */
const cases: ReadonlyArray<{
  readonly name: string
  readonly mode: Mode
  readonly does: Behaviour
  readonly limit: number
}> = [
  { name: "a reply of 50 MB", mode: "JSON", does: whole, limit: 32 },
  { name: "a reply of 50 MB, compressed to 50 kB", mode: "JSON", does: packed, limit: 32 },
  { name: "a reply of 50 MB instead of events", mode: "stream", does: whole, limit: 32 },
  { name: "an event of 10 MB", mode: "stream", does: { chunks: event }, limit: 1 }
]

describe("memory", () => {
  it.live.each(cases)("$name ($mode) takes little more than the part that is read", ({ does, limit, mode }) =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), {
        alpha: { does: [answering(mode), does] },
        beta: { does: answering(mode) }
      })
      // The first request loads code, which does not count.
      yield* gateway.ask(mode)
      const { answer, peakBytes } = yield* peakWhile(gateway.ask(mode))
      assert.strictEqual(answer.status, 200)
      assert.isBelow(peakBytes, (limit + 8) * MEBI)
    })
  )

  it.live("a stream of 50 MB leaves nothing in memory", () =>
    Effect.gen(function* () {
      // Most of it is an unknown member, because counting the tokens of so much text takes time.
      const { choices, ...chunk } = chunkBody({ content: "word " })
      const piece = sse({ ...chunk, choices: [{ ...choices[0], padding: "x".repeat(65_536) }] })
      const chunks = [{ repeat: piece, times: 800 }, sse(chunkBody({}, "stop")), DONE]
      const gateway = yield* behind(upstream(), { alpha: { does: { chunks } } })
      const passing = Effect.promise(async () => (await openReader(gateway)).readAll())
      const { answer, peakBytes } = yield* peakWhile(passing)
      assert.isAtLeast(answer.bytes, 50 * MEBI)
      assert.isBelow(peakBytes, 32 * MEBI)
    })
  )

  it.live("little is buffered for a client that does not read", () =>
    Effect.gen(function* () {
      const chunks = [{ repeat: sse(chunkBody({ content: "word ".repeat(4_000) })), times: 1_050 }, DONE]
      const gateway = yield* behind(upstream(), { alpha: { does: [answering("stream"), { chunks }] } })
      yield* gateway.ask("stream")
      const before = liveBytes()
      const client = yield* Effect.promise(() => openReader(gateway))
      yield* gateway.called("alpha", ({ isBlocked }) => isBlocked)
      assert.isBelow(liveBytes() - before, 8 * MEBI)
      client.leave()
    })
  )
})
