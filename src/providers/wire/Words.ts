/**
 * Whether an answer says anything. One that ends well without a word, though the provider counted words, is none: what it said was
 * lost on the way, and nobody should pay for it.
 */
import { type ChatEvent, type ChatReply } from "../../domain/Chat.ts"
import { type TokenUsage } from "../../domain/Money.ts"
import { Malformed } from "../Provider.ts"

/** A model that has nothing to say ends its turn, and providers count the tokens of that. */
const END_OF_TURN_TOKENS = 3

/** Any member but the role that is neither null nor empty. */
export const saysSomething = (message: Readonly<Record<string, unknown>>): boolean => {
  for (const name in message) {
    const value = message[name]
    if (name === "role" || value === null || value === undefined || value === "") continue
    if (!Array.isArray(value) || value.length > 0) return true
  }
  return false
}

export const saysWords = (event: ChatEvent): boolean =>
  event._tag === "Choices" && event.choices.some(({ delta }) => saysSomething(delta))

/** What is wrong with an answer that said nothing; null: that may be. */
export const wordless = (
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

/** A whole reply, if it says something or may say nothing. */
export const withWords = (reply: ChatReply): ChatReply | Malformed => {
  if (reply.choices.some(({ message }) => saysSomething(message))) return reply
  return (
    wordless(
      reply.choices.map(({ finish_reason: reason }) => reason),
      reply.usage
    ) ?? reply
  )
}
