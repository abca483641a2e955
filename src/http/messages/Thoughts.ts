/**
 * Carries reasoning that a provider signed or encrypted through clients of the Messages API, which
 * send a block's `signature` or `data` back byte for byte. Both hold the whole detail, with the
 * provider that made it, so that no other provider gets it. A signature of another origin is
 * Anthropic's own: its detail is `native`, and goes to providers of the vendor's API alone.
 */
import { type Members } from "../../domain/Chat.ts"
import { detailOf } from "../../domain/ThoughtCarrier.ts"

/** Anthropic's own form of `reasoning_details`. */
const ANTHROPIC = "anthropic-claude-v1"

/** A detail of this type holds what a provider wants back with the call of this `id`. */
export const CALL_DETAIL = "tollgate.call"

/**
 * The detail of a call with members beside its name and arguments, such as Gemini's signature; null
 * if it has none.
 */
export const callDetail = (call: Members) => {
  const { custom: _, function: __, id, index: ___, type: ____, ...members } = call
  return Object.keys(members).length === 0 ? null : { type: CALL_DETAIL, id, members }
}

/** Whether a client has to send a detail back: it is more than its visible text. */
export const isCarried = (detail: Members): boolean => "signature" in detail || detail["type"] === "reasoning.summary"

/** The detail of a `thinking` block; null: it is not signed. `index`: its place in the message. */
export const signedThought = (text: string, signature: string, index: number): Members | null => {
  if (signature === "") return null
  const detail = detailOf(signature)
  if (detail === null) return { type: "reasoning.text", text, signature, format: ANTHROPIC, native: true, index }
  const visible = detail["type"] === "reasoning.summary" ? { summary: text } : { text }
  return { ...detail, ...(text === "" ? {} : visible), index }
}

/** The detail of a `redacted_thinking` block. */
export const encryptedThought = (data: string, index: number): Members => ({
  ...(detailOf(data) ?? { type: "reasoning.encrypted", data, format: ANTHROPIC, native: true }),
  index
})
