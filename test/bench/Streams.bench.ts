/**
 * The way of a stream's bytes: from packets to events, from events to deltas, and from these to the
 * events that go out.
 */
import { assert, describe, it } from "@effect/vitest"
import { type ChatEvent } from "../../src/domain/Chat.ts"
import { type CompletionEvent } from "../../src/gateway/request/Answer.ts"
import { ChunkWriter } from "../../src/http/sse/Chunks.ts"
import { makeReader } from "../../src/providers/openai/Stream.ts"
import { SseFrames } from "../../src/providers/wire/SseFrames.ts"
import { TooLarge } from "../../src/providers/Provider.ts"

const TOKENS = 1_000

const chunk = (at: number) =>
  JSON.stringify({
    id: "chatcmpl-bench",
    object: "chat.completion.chunk",
    created: 1_790_000_000,
    model: "model",
    choices: [{ index: 0, delta: { content: ` token ${at}` }, finish_reason: at === TOKENS - 1 ? "stop" : null }]
  })
const frames = [...Array.from({ length: TOKENS }, (_, at) => chunk(at)), "[DONE]"]
const packets = frames.map((frame) => Buffer.from(`data: ${frame}\n\n`))
const together = Buffer.concat(packets)

const framed = (chunks: ReadonlyArray<Buffer>): number => {
  const events = new SseFrames()
  let count = 0
  for (const one of chunks) {
    const data = events.feed(one)
    if (!(data instanceof TooLarge)) count += data.length
  }
  return count
}

const read = (): ReadonlyArray<ChatEvent> => {
  const reader = makeReader(1, () => "call", "alpha")
  const out: Array<ChatEvent> = []
  for (const frame of frames) reader.step(frame, out)
  const last = reader.close()
  return Array.isArray(last) ? [...out, ...last] : out
}

const head = {
  completionId: "chatcmpl_0",
  generationId: "gen_0",
  createdAtMs: 1_790_000_000_000,
  model: "bench/model",
  provider: "bench",
  cacheHit: false
}
const deltas = read().filter(
  (event): event is Extract<CompletionEvent & ChatEvent, { readonly _tag: "Choices" }> => event._tag === "Choices"
)
const written = (): number => {
  const writer = new ChunkWriter(head, "req_0", false)
  let length = 0
  for (const delta of deltas) length += writer.write(delta).length
  return length
}

describe(`a stream of ${TOKENS} tokens`, () => {
  it("framing", async ({ bench }) => {
    await bench.compare(
      bench("a packet a token", () => void framed(packets)),
      bench("all in one packet", () => void framed([together]))
    )
    assert.strictEqual(framed(packets), TOKENS + 1)
  })

  it("reading the dialect, and writing events", async ({ bench }) => {
    await bench.compare(
      bench("OpenAI's chunks to deltas", () => void read()),
      bench("deltas to Server-Sent Events", () => void written())
    )
    assert.isAbove(written(), TOKENS * 100)
  })
})
