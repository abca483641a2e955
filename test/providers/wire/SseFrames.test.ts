import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { createParser } from "eventsource-parser"
import { SseFrames } from "../../../src/providers/wire/SseFrames.ts"
import { TooLarge } from "../../../src/providers/Provider.ts"

const parse = (chunks: ReadonlyArray<Buffer>): ReadonlyArray<string> => {
  const events = new SseFrames()
  const out: Array<string> = []
  for (const part of [...chunks.map((chunk) => events.feed(chunk)), events.end()]) {
    assert.notInstanceOf(part, TooLarge)
    if (!(part instanceof TooLarge)) out.push(...part)
  }
  return out
}

/** Pieces of streams, and similar text. Without `event: error`, which becomes an error object. */
const pieces = ["\n", "\n", "\n\n", "\n\n", "\r\n", "\r", "data: ", "data: ", "data:", "data", "data: x\n\n"].concat([
  "event: x",
  "event",
  "id: 7",
  "retry: 10",
  ": note",
  "other: x",
  ":",
  " ",
  "one",
  '{"a":1}',
  "é東🗼",
  "\uFEFF"
])
/** Lengths of packets, repeated. */
const Cuts = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 12 })))

const packetsOf = (bytes: Buffer, cuts: ReadonlyArray<number>): ReadonlyArray<Buffer> => {
  if (cuts.length === 0) return [bytes]
  const packets: Array<Buffer> = []
  for (let from = 0, nth = 0; from < bytes.length; nth++) {
    const to = from + (cuts[nth % cuts.length] ?? 1)
    packets.push(bytes.subarray(from, to))
    from = to
  }
  return packets
}

/** Reads a stream like the SDKs of clients. A last event without its blank line counts too. */
const reference = (text: string): ReadonlyArray<string> => {
  const data: Array<string> = []
  const parser = createParser({ onEvent: (event) => data.push(event.data) })
  parser.feed(new TextDecoder().decode(Buffer.from(text)))
  parser.feed("\n\n")
  return data
}

describe("Events", () => {
  const text =
    '\uFEFF: hello\r\nretry: 10\r\nid: 7\r\nevent: x\r\ndata: {"a":"é東🗼"}\r\n\r\ndata:one\r\ndata: two\r\n\r\n:\n\ndata: last'
  const expected = ['{"a":"é東🗼"}', "one\ntwo", "last"]

  it("reads every line ending, comments, retry, data over several lines and an unfinished last event", () => {
    assert.deepStrictEqual(parse([Buffer.from(text)]), expected)
    assert.deepStrictEqual(parse([Buffer.from(text.replaceAll("\r\n", "\n"))]), expected)
    assert.deepStrictEqual(parse([Buffer.from(text.replaceAll("\r\n", "\r"))]), expected)
  })

  it("reads the same events wherever the bytes are cut", () => {
    const bytes = Buffer.from(text)
    for (let at = 0; at <= bytes.length; at++) {
      assert.deepStrictEqual(parse([bytes.subarray(0, at), bytes.subarray(at)]), expected, `cut at ${at}`)
    }
    assert.deepStrictEqual(parse(Array.from(bytes, (byte) => Buffer.of(byte))), expected)
  })

  it("reads packets of whole events among others, wherever they are cut", () => {
    const packets = [
      "data: a\n\n",
      "data: é🗼\n\ndata: c\n\n",
      ": d\n\n",
      "data: e\ndata: f\n\n",
      "data: \n\n",
      "data: g\r\n\r\n"
    ]
    const bytes = Buffer.from([...packets, ...packets].join(""))
    const once = ["a", "é🗼", "c", "e\nf", "", "g"]
    assert.deepStrictEqual(parse([...packets, ...packets].map((packet) => Buffer.from(packet))), [...once, ...once])
    for (let at = 0; at <= bytes.length; at++) {
      assert.deepStrictEqual(parse([bytes.subarray(0, at), bytes.subarray(at)]), [...once, ...once], `cut at ${at}`)
    }
  })

  it.prop(
    "reads what the reference parser reads, of any text in packets of any size",
    { pieces: Schema.Array(Schema.Literals(pieces)), cuts: Cuts },
    ({ cuts, pieces }) => {
      const text = pieces.join("")
      assert.deepStrictEqual(parse(packetsOf(Buffer.from(text), cuts)), reference(text))
    },
    { arbitrary: { size: 30, runs: 1_000 } }
  )

  it("takes an event of 1 MiB and refuses a larger one, complete or not", () => {
    const limit = 1024 * 1024
    assert.strictEqual(parse([Buffer.from(`data: ${"x".repeat(limit)}\n\n`)])[0]?.length, limit)
    assert.instanceOf(new SseFrames().feed(Buffer.from(`data: ${"x".repeat(limit + 1)}\n\n`)), TooLarge)
    assert.instanceOf(new SseFrames().feed(Buffer.from(`data: ${"x".repeat(limit + 1)}`)), TooLarge)
  })
})
