/** Restoring streams in the form of the client's own API: each text by itself, within bounds. */
import { assert, it } from "@effect/vitest"
import { makeRestorer } from "../../../src/gateway/privacy/restoring/Restoring.ts"
import { PlaceholderMap } from "../../../src/gateway/privacy/PlaceholderMap.ts"
import { NativeBuffers, restoredNative } from "../../../src/gateway/privacy/restoring/RestoredNative.ts"

const placeholders = new PlaceholderMap()
placeholders.placeholder("email", "ann@example.com")
const restorer = makeRestorer(placeholders)
const delta = (index: number, text: string) => ({
  type: "content_block_delta",
  index,
  delta: { type: "text_delta", text }
})

it("keeps the texts of two blocks apart, and sends the rest of one before it ends", () => {
  const buffers = new NativeBuffers(restorer)
  assert.deepStrictEqual(buffers.push([delta(0, "a [EM"), delta(1, "b [EMAIL_1")]), [delta(0, "a "), delta(1, "b ")])
  assert.deepStrictEqual(buffers.push([delta(1, "]")]), [delta(1, "ann@example.com")])
  const stop = { type: "content_block_stop", index: 0 }
  assert.deepStrictEqual(buffers.push([stop]), [delta(0, "[EM"), stop])
})

it("restores pieces of the Responses API by item, and their whole texts", () => {
  const buffers = new NativeBuffers(restorer)
  const piece = (delta: string) => ({ type: "response.output_text.delta", output_index: 0, item_id: "m", delta })
  assert.deepStrictEqual(buffers.push([piece("[EMAIL"), piece("_1]!")]), [piece("ann@example.com!")])
  const done = { type: "response.output_text.done", output_index: 0, item_id: "m", text: "[EMAIL_1]!" }
  assert.deepStrictEqual(buffers.push([done]), [{ ...done, text: "ann@example.com!" }])
  const thought = { type: "response.reasoning_summary_text.delta", output_index: 1, delta: "[EMAIL_1]" }
  assert.deepStrictEqual(buffers.push([thought]), [thought])
})

it("holds the texts of 64 blocks, and no more", () => {
  const buffers = new NativeBuffers(restorer)
  for (let index = 0; index < 1_000; index++) buffers.push([delta(index, "[EM")])
  assert.lengthOf(buffers.flush(), 64)
})

it("leaves thoughts, signatures and encrypted parts as they are", () => {
  const kept = [
    { type: "thinking", thinking: "[EMAIL_1]", signature: "[EMAIL_1]" },
    { type: "reasoning", summary: [{ text: "[EMAIL_1]" }], encrypted_content: "[EMAIL_1]" },
    { type: "web_search_result", encrypted_content: "[EMAIL_1]" }
  ]
  assert.deepStrictEqual(restoredNative({ content: [...kept, { type: "text", text: "[EMAIL_1]" }] }, restorer), {
    content: [...kept, { type: "text", text: "ann@example.com" }]
  })
})
