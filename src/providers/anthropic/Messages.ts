/**
 * A conversation in the Messages API's terms: instructions apart from it, turns that alternate, contents in blocks. All
 * system messages become instructions, wherever they stand, as the vendor's own compatibility layer has it. Neighbours
 * of one role are one turn, so that the results of parallel calls come together. Empty texts are left out because the
 * API refuses them. Contents that it has no block for are `Unsupported`.
 */
import { Result } from "effect"
import { type ChatMessage } from "../../domain/Chat.ts"
import { Unsupported } from "../Provider.ts"
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
  /** Ends with an assistant's text, to be continued. */
  readonly isPrefilled: boolean
  /** The last assistant turn called tools; the thoughts that led there are not known here. */
  readonly lastCalledTools: boolean
}

type Lowered<A> = Result.Result<A, Unsupported>

const unsupported = (message: string) => Result.fail(new Unsupported({ param: "messages", message }))

export const lowerMessages = (messages: ReadonlyArray<ChatMessage>): Lowered<Conversation> =>
  Result.gen(function* () {
    const system: Array<Block> = []
    const turns: Array<Turn> = []
    const say = (role: Turn["role"], blocks: ReadonlyArray<Block>): void => {
      const last = turns.at(-1)
      if (blocks.length === 0) return
      if (last?.role === role) last.content.push(...blocks)
      else turns.push({ role, content: [...blocks] })
    }
    for (const message of messages) {
      switch (message.role) {
        case "system":
          system.push(...(yield* blocksOf(message)))
          break
        case "user":
          say("user", yield* blocksOf(message))
          break
        case "assistant":
          say("assistant", [...(yield* blocksOf(message)), ...refusalOf(message), ...(yield* callsOf(message))])
          break
        case "tool":
          say("user", [yield* resultOf(message)])
      }
    }
    // The API wants at least one turn: instructions alone are what the user says.
    if (turns.length === 0) say("user", system.splice(0))
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

/** Other vendors' ids have characters that the API refuses. */
const callId = (id: string): string => id.replaceAll(/[^\w-]/g, "_")

const callsTools = (turns: ReadonlyArray<Turn>): boolean =>
  turns.findLast(({ role }) => role === "assistant")?.content.some((block) => block["type"] === "tool_use") ?? false

/** The API refuses a text to be continued that ends with white space. */
const trimEnd = (content: Array<Block>): void => {
  const text = stringOf(content.at(-1)?.["text"])
  if (text !== null) content.push({ ...content.pop(), text: text.trimEnd() })
}
