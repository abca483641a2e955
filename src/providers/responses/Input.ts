/**
 * Lowers a conversation to the Responses API: instructions and a list of items. The system messages
 * before the first other message are the instructions; later ones are developer messages. Each tool
 * call and each result is an item of its own. Item ids are not sent: the API looks them up, and
 * nothing is stored. Names of participants are dropped.
 */
import { Result } from "effect"
import { resultFn, type StepsOf } from "../../domain/runtime/ResultFn.ts"
import { addAll } from "../../domain/runtime/AddAll.ts"
import { hash } from "node:crypto"
import { type ChatMessage } from "../../domain/Chat.ts"
import { inCommonRoles } from "../wire/CommonRoles.ts"
import { isJsonRecord, stringOf, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"
import { inputParts, type Lowered, outputParts, refusalPart, unsupported } from "./Parts.ts"
import { reasoningItems } from "./Reasoning.ts"

export interface Conversation {
  readonly instructions: string | null
  readonly input: ReadonlyArray<JsonRecord>
}

/** In characters. The API refuses longer ids. */
const LONGEST_CALL_ID = 64

/**
 * `maker`: the provider's slug. Only reasoning that it made is sent back. `hasInstructions`: false
 * keeps every message in the input.
 */
export const lowerMessages = resultFn(function* (
  sent: ReadonlyArray<ChatMessage>,
  maker: string,
  hasInstructions: boolean
): StepsOf<Lowered<Conversation>> {
  const messages = inCommonRoles(sent)
  const leading = hasInstructions ? leadingTexts(messages) : []
  const customCalls = new Set<string>()
  const input: Array<JsonRecord> = []
  for (const message of messages.slice(leading.length)) {
    switch (message.role) {
      case "system":
        addAll(input, messageOf("developer", yield* inputParts(message.content)))
        break
      case "user":
        addAll(input, messageOf("user", yield* inputParts(message.content)))
        break
      case "assistant":
        addAll(input, yield* assistantItems(message, maker, customCalls))
        break
      case "tool":
        input.push(yield* outputOf(message, customCalls))
    }
  }
  return { instructions: leading.length === 0 ? null : leading.join("\n\n"), input }
})

/**
 * The texts of the leading system messages. Empty if one has other parts, or if the conversation
 * has no other messages: the API requires an input.
 */
const leadingTexts = (messages: ReadonlyArray<ChatMessage>): ReadonlyArray<string> => {
  const end = messages.findIndex(({ role }) => role !== "system")
  if (end < 1) return []
  const texts = messages.slice(0, end).map(({ content }) => plainText(content))
  return texts.every((text) => text !== null) ? texts : []
}

const plainText = (content: ChatMessage["content"]): string | null => {
  if (content === null || content === undefined || typeof content === "string") return content ?? ""
  return content.every(({ type }) => type === "text")
    ? content.map(({ text }) => stringOf(text) ?? "").join("\n\n")
    : null
}

const messageOf = (role: string, content: ReadonlyArray<JsonRecord>): ReadonlyArray<JsonRecord> =>
  content.length === 0 ? [] : [{ type: "message", role, content }]

/** Reasoning, then text, then calls. Reasoning alone is left out: the API refuses it. */
const assistantItems = resultFn(function* (
  message: ChatMessage,
  maker: string,
  customCalls: Set<string>
): StepsOf<Lowered<ReadonlyArray<JsonRecord>>> {
  const content = [...(yield* outputParts(message.content)), ...refusalPart(message.refusal ?? "")]
  const phase = stringOf(message["phase"])
  const said = messageOf("assistant", content).map((item) => (phase === null ? item : { ...item, phase }))
  const calls = yield* Result.all(jsonRecordsOf(message.tool_calls).map((call) => callOf(call, customCalls)))
  const items = [...said, ...calls]
  return items.length === 0 ? [] : [...reasoningItems(message, maker), ...items]
})

const callOf = (call: JsonRecord, customCalls: Set<string>): Lowered<JsonRecord> => {
  const { custom, function: called, id } = call
  if (typeof id !== "string") return unsupported("messages", "a tool call without an id")
  const call_id = callId(id)
  if (isJsonRecord(custom)) {
    customCalls.add(id)
    const input = stringOf(custom["input"]) ?? ""
    return Result.succeed({ type: "custom_tool_call", call_id, name: stringOf(custom["name"]) ?? "", input })
  }
  const { arguments: given, name } = isJsonRecord(called) ? called : {}
  if (typeof name !== "string") return unsupported("messages", "a tool call without a function's name")
  return Result.succeed({ type: "function_call", call_id, name, arguments: stringOf(given) || "{}" })
}

const outputOf = (message: ChatMessage, customCalls: ReadonlySet<string>): Lowered<JsonRecord> => {
  const { content, tool_call_id: id } = message
  if (typeof id !== "string") return unsupported("messages", "a tool message needs a tool_call_id")
  const type = customCalls.has(id) ? "custom_tool_call_output" : "function_call_output"
  const item = (output: unknown): JsonRecord => ({ type, call_id: callId(id), output })
  return typeof content === "string"
    ? Result.succeed(item(content))
    : Result.map(inputParts(content), (parts) => item(parts.length === 0 ? "" : parts))
}

/** A longer id, of another vendor, is hashed: the same for a call and its result. */
const callId = (id: string): string =>
  id.length <= LONGEST_CALL_ID ? id : `call_${hash("sha256", id, "hex").slice(0, 48)}`
