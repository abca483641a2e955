/**
 * Detects empty answers. An answer that ends normally without text, although the provider counted
 * output tokens, is invalid: its text was lost on the way, and the client must not pay for it.
 */
import { type ChatEvent, type ChatReply } from "../../domain/Chat.ts"
import { bringsPart } from "../../domain/Native.ts"
import { type TokenUsage } from "../../domain/pricing/Money.ts"
import { Malformed } from "../Provider.ts"

/** Tokens that providers count for a model that ends its turn without text. */
const END_OF_TURN_TOKENS = 3

/** True if any member except the role is neither null nor empty. */
export const hasContent = (message: Readonly<Record<string, unknown>>): boolean => {
  for (const name in message) {
    const value = message[name]
    if (name === "role" || value === null || value === undefined || value === "") continue
    if (!Array.isArray(value) || value.length > 0) return true
  }
  return false
}

export const bringsContent = (event: ChatEvent): boolean =>
  event._tag === "Choices" &&
  (event.choices.some(({ delta }) => hasContent(delta)) || (event.native !== undefined && bringsPart(event.native)))

/** The failure of an answer without content, or null if an empty answer is plausible. */
export const emptyAnswer = (
  finishReasons: ReadonlyArray<string | null>,
  usage: TokenUsage | null | undefined
): Malformed | null =>
  usage !== null &&
  usage !== undefined &&
  usage.completionTokens > END_OF_TURN_TOKENS &&
  (usage.reasoningTokens ?? 0) === 0 &&
  finishReasons.every((reason) => reason === "stop" || reason === "tool_calls")
    ? new Malformed({ detail: "an answer without the words that it counts" })
    : null

/** The reply, or `Malformed` if its content is missing. */
export const rejectEmpty = (reply: ChatReply): ChatReply | Malformed => {
  if (reply.native !== undefined || reply.choices.some(({ message }) => hasContent(message))) return reply
  return (
    emptyAnswer(
      reply.choices.map(({ finish_reason: reason }) => reason),
      reply.usage
    ) ?? reply
  )
}
