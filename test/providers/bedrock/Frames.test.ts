import { assert, describe, it } from "@effect/vitest"
import { crc32 } from "node:zlib"
import { BedrockFrames } from "../../../src/providers/bedrock/Frames.ts"
import { Malformed, TooLarge } from "../../../src/providers/Provider.ts"
import { event, exception, message } from "../bedrock.ts"
import { fixture } from "../replayedTransport.ts"

const all = (...chunks: ReadonlyArray<Buffer>): ReadonlyArray<string> => {
  const frames = new BedrockFrames()
  return chunks.flatMap((chunk) => {
    const events = frames.feed(chunk)
    return events instanceof Malformed || events instanceof TooLarge ? assert.fail(events._tag) : events
  })
}
const refused = (...chunks: ReadonlyArray<Buffer>): string => {
  const frames = new BedrockFrames()
  for (const chunk of chunks) {
    const events = frames.feed(chunk)
    if (events instanceof Malformed) return events.detail
    if (events instanceof TooLarge) return `above ${events.limitBytes}`
  }
  return assert.fail("nothing was refused")
}
const hello = event("contentBlockDelta", { contentBlockIndex: 0, delta: { text: "Grüße" } })
const changed = (bytes: Buffer, at: number): Buffer => {
  const copy = Buffer.from(bytes)
  copy.writeUInt8(copy.readUInt8(at) ^ 1, at)
  return copy
}

describe("BedrockFrames", () => {
  it("names each payload by its event's type", () => {
    assert.deepStrictEqual(all(Buffer.concat([hello, exception("throttlingException", { message: "slow" })])), [
      '{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"text":"Grüße"}}}',
      '{"throttlingException":{"message":"slow"}}'
    ])
  })

  it("reads past headers of every type", () => {
    assert.deepStrictEqual(all(fixture("bedrock-headers.bin")), ['{"messageStart":{"role":"assistant"}}'])
  })

  it.each(["stream-text", "stream-tools", "stream-reasoning", "stream-throttled"])(
    "%s reads the same cut at every byte boundary",
    (name) => {
      const bytes = fixture(`bedrock-${name}.bin`)
      const whole = all(bytes)
      assert.isAbove(whole.length, 2)
      for (let at = 1; at < bytes.length; at++) {
        assert.deepStrictEqual(all(bytes.subarray(0, at), bytes.subarray(at)), whole, `cut at ${at}`)
      }
      assert.deepStrictEqual(all(...Array.from(bytes, (byte) => Buffer.of(byte))), whole)
    }
  )

  it("refuses whatever one flipped bit spoils", () => {
    for (let at = 0; at < hello.length; at++) {
      assert.match(refused(changed(hello, at), Buffer.alloc(64)), /^bad prelude checksum$|^bad message checksum$/)
    }
  })

  it("refuses messages above 1 MiB and lengths that do not add up, before more is read", () => {
    assert.strictEqual(refused(event("x", "y".repeat(1024 * 1024)).subarray(0, 12)), "above 1048576")
    const short = Buffer.alloc(12)
    short.writeUInt32BE(15, 0)
    short.writeUInt32BE(crc32(short.subarray(0, 8)), 8)
    assert.strictEqual(refused(short), "bad message length")
    const header = message({ ":message-type": "event" }, "{}")
    header.writeUInt8(10, 27)
    header.writeUInt32BE(crc32(header.subarray(0, -4)), header.length - 4)
    assert.strictEqual(refused(header), "bad message headers")
  })

  it("tells errors by their code, and skips what is no event", () => {
    const error = message(
      { ":message-type": "error", ":error-code": "internalServerException", ":error-message": "Oops" },
      ""
    )
    const initial = message({ ":message-type": "event", ":event-type": "initial-response" }, "{}")
    const bare = message({ ":message-type": "event" }, "{}")
    assert.deepStrictEqual(all(initial, bare, error), ['{"internalServerException":{"message":"Oops"}}'])
  })

  it("leaves out what the end cut short", () => {
    const frames = new BedrockFrames()
    assert.deepStrictEqual(frames.feed(hello.subarray(0, -1)), [])
    assert.deepStrictEqual(frames.end(), [])
  })
})
