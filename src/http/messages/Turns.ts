/**
 * Turns of the Messages API as messages of a chat completion. Results of tools come first in their
 * turn, in order, because they answer the turn before. An assistant's texts, thoughts and calls are
 * one message.
 */
import { Result } from "effect"
import { resultFn, type StepsOf } from "../../domain/runtime/ResultFn.ts"
import { addAll } from "../../domain/runtime/AddAll.ts"
import { type MessageParam } from "../../api/Messages.ts"
import { type ChatMessage, type Members } from "../../domain/Chat.ts"
import { type Beyond } from "./Beyond.ts"
import {
  blocksIn,
  contentOf,
  marked,
  membersOf,
  needsMessages,
  partsOf,
  partsOfBlock,
  type Read,
  refused,
  textOf
} from "./Blocks.ts"
import { CALL_DETAIL, encryptedThought, signedThought } from "./Thoughts.ts"

export const chatMessages = (messages: ReadonlyArray<MessageParam>, beyond: Beyond): Read<ReadonlyArray<ChatMessage>> =>
  Result.map(
    Result.all(messages.map((message, at) => messagesOf(message, `messages.${at}.content`, beyond))),
    (turns) => turns.flat()
  )

const messagesOf = (
  { content, role }: MessageParam,
  place: string,
  beyond: Beyond
): Read<ReadonlyArray<ChatMessage>> => {
  if (role === "assistant") return Result.map(assistantOf(content, place, beyond), (message) => [message])
  if (typeof content === "string") return Result.succeed([{ role, content }])
  return role === "system"
    ? Result.succeed([{ role, content: contentOf(partsOf(content, place, beyond)) }])
    : userOf(content, place, beyond)
}

const userOf = resultFn(function* (
  content: ReadonlyArray<Members>,
  place: string,
  beyond: Beyond
): StepsOf<Read<ReadonlyArray<ChatMessage>>> {
  const results: Array<ChatMessage> = []
  const parts: Array<Members> = []
  for (const [at, block] of content.entries()) {
    if (block["type"] === "tool_result") results.push(yield* resultOf(block, `${place}.${at}`, beyond))
    else addAll(parts, partsOfBlock(block, `${place}.${at}`, beyond))
  }
  return results.length > 0 && parts.length === 0 ? results : [...results, { role: "user", content: contentOf(parts) }]
})

const resultOf = resultFn(function* (block: Members, place: string, beyond: Beyond): StepsOf<Read<ChatMessage>> {
  const id = block["tool_use_id"]
  if (typeof id !== "string") return yield* refused(`${place}.tool_use_id`, "a result names the call that it answers.")
  const parts = partsOf(block["content"], `${place}.content`, beyond)
  const told = block["is_error"] === true ? [{ type: "text", text: "Error:" }, ...parts] : parts
  const [first] = parts
  const isText = block["is_error"] === true && parts.length === 1 && first?.["type"] === "text"
  return {
    role: "tool",
    tool_call_id: id,
    content: isText ? `Error: ${textOf(first["text"])}` : contentOf(told),
    ...marked(block)
  } as const
})

const assistantOf = resultFn(function* (
  content: MessageParam["content"],
  place: string,
  beyond: Beyond
): StepsOf<Read<ChatMessage>> {
  if (typeof content === "string") return { role: "assistant", content } as const
  const texts: Array<Members> = []
  const details: Array<Members> = []
  const reasoning: Array<string> = []
  const calls: Array<Members> = []
  /** Members that a provider wants back with a call, by the call's id. */
  const ofCalls = new Map<unknown, Members>()
  for (const [at, block] of content.entries()) {
    const index = texts.length + details.length
    switch (block["type"]) {
      case "thinking": {
        const text = textOf(block["thinking"])
        const detail = signedThought(text, textOf(block["signature"]), index)
        if (text !== "") reasoning.push(text)
        if (detail !== null) details.push(detail)
        break
      }
      case "redacted_thinking": {
        const detail = encryptedThought(textOf(block["data"]), index)
        if (detail["type"] === CALL_DETAIL) ofCalls.set(detail["id"], membersOf(detail["members"]))
        else details.push(detail)
        break
      }
      case "tool_use":
        calls.push(yield* callOf(block, `${place}.${at}`))
        break
      case "text":
        addAll(texts, partsOfBlock(block, `${place}.${at}`, beyond))
        break
      default:
        texts.push(...beyond.part(block, `${place}.${at}`, needsMessages(block)))
    }
  }
  return {
    role: "assistant",
    content: texts.length === 0 && (calls.length > 0 || reasoning.length > 0) ? null : contentOf(texts),
    ...(reasoning.length === 0 ? {} : { reasoning: reasoning.join("") }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map((call) => ({ ...call, ...ofCalls.get(call["id"]) })) })
  } as const
})

const callOf = (block: Members, place: string): Read<Members> => {
  const { id, input, name } = block
  if (typeof id !== "string" || typeof name !== "string") return refused(place, "a call has an id and a name.")
  return Result.succeed({ id, type: "function", function: { name, arguments: JSON.stringify(input ?? {}) } })
}

/** The instructions, in front of the conversation. */
export const systemMessages = (system: unknown, beyond: Beyond): ReadonlyArray<ChatMessage> => {
  const blocks = typeof system === "string" ? system : withoutAttribution(blocksIn(system))
  const parts = partsOf(blocks, "system", beyond)
  return parts.length === 0 ? [] : [{ role: "system", content: contentOf(parts) }]
}

/** Claude Code's first block tells its vendor which client this is. It is no instruction. */
const withoutAttribution = ([first, ...rest]: ReadonlyArray<Members>): ReadonlyArray<Members> => {
  if (first === undefined) return []
  return textOf(first["text"]).startsWith("x-anthropic-billing-header:") ? rest : [first, ...rest]
}
