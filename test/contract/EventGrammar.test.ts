/** The order of events that ours are held to is the one of the vendors' recorded streams. */
import { assert, describe, it } from "@effect/vitest"
import { fixture } from "../providers/replayedTransport.ts"
import { assembledMessage } from "../support/messageEvents.ts"
import { assembledResponse } from "../support/responseEvents.ts"

const text = (file: string) =>
  fixture(file)
    .toString("utf8")
    .replaceAll(/^:.*\n+/gm, "")

/** The events whose lack or repetition is not noticed. */
const unnoticed = (file: string, assemble: (text: string) => unknown): ReadonlyArray<string> => {
  const frames = text(file).split(/(?<=\n\n)/)
  const isFine = (changed: ReadonlyArray<string>): boolean => {
    try {
      assemble(changed.join(""))
      return true
    } catch {
      return false
    }
  }
  return frames.filter(
    (frame, at) =>
      isFine(frames.toSpliced(at, 0, frame)) ||
      // Without its last event a stream breaks off, which is no fault of its form.
      (at < frames.length - 1 && isFine(frames.toSpliced(at, 1)))
  )
}

describe("Messages", () => {
  it.each(["answer-tool", "citations", "refusal", "text", "thinking", "tools"])(
    "a recorded stream is well formed: %s",
    (name) => {
      assert.strictEqual(assembledMessage(text(`anthropic-stream-${name}.sse`)).ending, "message_stop")
    }
  )

  it("no event can be left out or repeated, but a ping and a piece of a text", () => {
    const passed = unnoticed("anthropic-stream-thinking.sse", assembledMessage)
    assert.isEmpty(passed.filter((frame) => !/"type":"ping"|_delta"/.test(frame)))
  })
})

describe("Responses", () => {
  it.each(["annotations", "custom", "reasoning", "refusal", "text", "tools"])(
    "a recorded stream is well formed: %s",
    (name) => {
      assert.strictEqual(assembledResponse(text(`responses-stream-${name}.sse`)).ending, "response.completed")
    }
  )

  it("no event can be left out or repeated", () => {
    assert.isEmpty(unnoticed("responses-stream-reasoning.sse", assembledResponse))
  })
})
