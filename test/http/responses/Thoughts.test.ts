/**
 * Reasoning items as details of a message: what a client sends back leads to the provider that made
 * it.
 */
import { assert, it } from "@effect/vitest"
import { encryptedContent, thoughtsOfItem } from "../../../src/http/responses/Thoughts.ts"

const summary = (...texts: ReadonlyArray<string>) => texts.map((text) => ({ type: "summary_text", text }))
const marks = { format: "openai-responses-v1", provider: "openai", id: "rs_1" }

it("a signed text comes back with its signature and its provider", () => {
  const signature = { type: "reasoning.text", signature: "sig", format: "anthropic-claude-v1", provider: "claude" }
  const encrypted_content = encryptedContent({ ...signature, text: "Let me see.", index: 0 })
  assert.deepStrictEqual(thoughtsOfItem({ type: "reasoning", summary: summary("Let me see."), encrypted_content }), {
    reasoning: "Let me see.",
    details: [{ ...signature, text: "Let me see." }],
    ofCall: null
  })
  assert.isNull(encryptedContent({ type: "reasoning.text", text: "Let me see." }))
})

it("encrypted reasoning comes back with each text of its summary", () => {
  const sealed = { type: "reasoning.encrypted", data: "gAAA", ...marks }
  const encrypted_content = encryptedContent({ ...sealed, index: 2 })
  assert.deepStrictEqual(thoughtsOfItem({ summary: summary("One", "Two"), encrypted_content }), {
    reasoning: "One\n\nTwo",
    details: [
      { type: "reasoning.summary", summary: "One", ...marks },
      { type: "reasoning.summary", summary: "Two", ...marks },
      sealed
    ],
    ofCall: null
  })
})

it("OpenAI's own encrypted content belongs to OpenAI's format, and a visible text to nobody", () => {
  const own = { id: "rs_9", format: "openai-responses-v1", native: true }
  assert.deepStrictEqual(thoughtsOfItem({ id: "rs_9", summary: [], encrypted_content: "gAAA" }).details, [
    { type: "reasoning.encrypted", data: "gAAA", ...own }
  ])
  const visible = { summary: [], content: [{ type: "reasoning_text", text: "Hm." }] }
  assert.deepStrictEqual(thoughtsOfItem(visible), { reasoning: "Hm.", details: [], ofCall: null })
})

it("members of a call come back with the call's id", () => {
  const members = { extra_content: { google: { thought_signature: "g" } } }
  const encrypted_content = encryptedContent({ type: "tollgate.call", id: "call_1", members })
  assert.deepStrictEqual(thoughtsOfItem({ summary: [], encrypted_content }), {
    reasoning: "",
    details: [],
    ofCall: { id: "call_1", members }
  })
})
