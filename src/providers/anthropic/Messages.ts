/**
 * Lowers a conversation to the Messages API: separate instructions, alternating turns, content in
 * blocks. All system messages become instructions, wherever they are, as in the vendor's
 * compatibility layer. Adjacent messages of one role form one turn, so results of parallel calls
 * stay together. Empty texts are dropped, because the API rejects them. Content without a matching
 * block is `Unsupported`.
 */
import { Result } from "effect"
import { type ChatMessage } from "../../domain/Chat.ts"
import { Unsupported } from "../Provider.ts"
import { inCommonRoles } from "../wire/CommonRoles.ts"
import { parseJson } from "../../domain/Json.ts"
import { isJsonRecord, stringOf, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"
import { type Block, blockOf, textBlock } from "./Parts.ts"

export interface Turn {
  readonly role: "user" | "assistant"
  readonly content: Array<Block>
}

export interface Conversation {
  readonly system: ReadonlyArray<Block>
  readonly turns: ReadonlyArray<Turn>
  /** True if it ends with assistant text that the model must continue. */
  readonly isPrefilled: boolean
  /** True if the last assistant turn called tools. Its thinking blocks are not available here. */
  readonly lastCalledTools: boolean
}

type Lowered<A> = Result.Result<A, Unsupported>

const unsupported = (message: string) => Result.fail(new Unsupported({ param: "messages", message }))

export const lowerMessages = (messages: ReadonlyArray<ChatMessage>): Lowered<Conversation> =>
  Result.gen(function* () {
    const system: Array<Block> = []
    const turns: Array<Turn> = []
    const addTurn = (role: Turn["role"], blocks: ReadonlyArray<Block>): void => {
      const last = turns.at(-1)
      if (blocks.length === 0) return
      if (last?.role === role) last.content.push(...blocks)
      else turns.push({ role, content: [...blocks] })
    }
    for (const message of inCommonRoles(messages)) {
      switch (message.role) {
        case "system":
          system.push(...(yield* blocksOf(message)))
          break
        case "user":
          addTurn("user", yield* blocksOf(message))
          break
        case "assistant":
          addTurn("assistant", [...(yield* blocksOf(message)), ...refusalOf(message), ...(yield* callsOf(message))])
          break
        case "tool":
          addTurn("user", [yield* resultOf(message)])
      }
    }
    // The API requires a turn: a conversation of instructions alone becomes a user turn.
    if (turns.length === 0) addTurn("user", system.splice(0))
    const last = turns.at(-1)
    const isPrefilled = last?.role === "assistant" && last.content.every((block) => block["type"] === "text")
    if (isPrefilled) trimEnd(last.content)
    return { system, turns, isPrefilled, lastCalledTools: callsTools(turns) }
  })

const blocksOf = ({ content, role }: ChatMessage): Lowered<ReadonlyArray<Block>> => {
  if (typeof content === "string") return Result.succeed(textBlock(content))
  return Result.map(Result.all((content ?? []).map((part) => blockOf(part, role))), (blocks) => blocks.flat())
}

const refusalOf = ({ refusal }: ChatMessage): ReadonlyArray<Block> => textBlock(refusal ?? "")

const callsOf = ({ tool_calls }: ChatMessage): Lowered<ReadonlyArray<Block>> =>
  Result.all(jsonRecordsOf(tool_calls).map(callOf))

const callOf = (call: JsonRecord): Lowered<Block> => {
  const called = isJsonRecord(call["function"]) ? call["function"] : {}
  const [id, name] = [stringOf(call["id"]), stringOf(called["name"])]
  if (id === null || name === null) return unsupported("a tool call needs an id and a function's name")
  const text = stringOf(called["arguments"]) ?? ""
  const input = text.trim() === "" ? {} : parseJson(text)
  if (!isJsonRecord(input)) return unsupported(`the arguments of ${name} are not a JSON object`)
  return Result.succeed({ type: "tool_use", id: callId(id), name, input })
}

const resultOf = (message: ChatMessage): Lowered<Block> => {
  const { tool_call_id: id } = message
  if (typeof id !== "string") return unsupported("a tool message needs a tool_call_id")
  return Result.map(blocksOf(message), (content) => ({
    type: "tool_result",
    tool_use_id: callId(id),
    ...(content.length === 0 ? {} : { content })
  }))
}

/** The API rejects some characters in other vendors' ids. */
const callId = (id: string): string => id.replaceAll(/[^\w-]/g, "_")

const callsTools = (turns: ReadonlyArray<Turn>): boolean =>
  turns.findLast(({ role }) => role === "assistant")?.content.some((block) => block["type"] === "tool_use") ?? false

/** The API rejects a prefill that ends with whitespace. */
const trimEnd = (content: Array<Block>): void => {
  const text = stringOf(content.at(-1)?.["text"])
  if (text !== null) content.push({ ...content.pop(), text: text.trimEnd() })
}
