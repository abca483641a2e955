/**
 * Lowers a conversation to the Messages API: separate instructions, alternating turns, content in
 * blocks. All system messages become instructions, wherever they are, as in the vendor's
 * compatibility layer. Adjacent messages of one role form one turn, in which tool results come
 * first. Thoughts that this provider signed go back to their places. Empty texts are dropped,
 * because the API rejects them. Content without a matching block is `Unsupported`.
 */
import { Result } from "effect"
import { resultFn, type StepsOf } from "../../domain/runtime/ResultFn.ts"
import { addAll } from "../../domain/runtime/AddAll.ts"
import { type ChatMessage } from "../../domain/Chat.ts"
import { Unsupported } from "../Provider.ts"
import { inCommonRoles } from "../wire/CommonRoles.ts"
import { parseJson } from "../../domain/json/Json.ts"
import { isJsonRecord, stringOf, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"
import { ownThoughts, type PlacedBlock, type ThoughtMaker, withThoughts } from "../wire/Thoughts.ts"
import { type Block, blockOf, cached, textBlock } from "./Parts.ts"

export interface Turn {
  readonly role: "user" | "assistant"
  content: Array<Block>
}

export interface Conversation {
  readonly system: ReadonlyArray<Block>
  readonly turns: ReadonlyArray<Turn>
  /** True if it ends with assistant text that the model must continue. */
  readonly isPrefilled: boolean
  /** True if the model is in the middle of calling tools and its thinking blocks are missing. */
  readonly lacksThoughts: boolean
}

type Lowered<A> = Result.Result<A, Unsupported>

const unsupported = (message: string) => Result.fail(new Unsupported({ param: "messages", message }))

/** `maker`: marks the thoughts that this provider made. Null: the model takes none. */
export const lowerMessages = resultFn(function* (
  messages: ReadonlyArray<ChatMessage>,
  maker: ThoughtMaker | null
): StepsOf<Lowered<Conversation>> {
  const system: Array<Block> = []
  const turns: Array<Turn> = []
  const addTurn = (role: Turn["role"], blocks: ReadonlyArray<Block>): void => {
    const last = turns.at(-1)
    if (blocks.length === 0) return
    if (last?.role === role) addAll(last.content, blocks)
    else turns.push({ role, content: [...blocks] })
  }
  for (const message of inCommonRoles(messages)) {
    switch (message.role) {
      case "system":
        addAll(system, yield* blocksOf(message))
        break
      case "user":
        addTurn("user", yield* blocksOf(message))
        break
      case "assistant":
        addTurn(
          "assistant",
          marked(
            withThoughts(
              thoughtsOf(message, maker),
              [...(yield* partsOf(message)), ...refusalOf(message)],
              yield* callsOf(message)
            ),
            message
          )
        )
        break
      case "tool":
        addTurn("user", [yield* resultOf(message)])
    }
  }
  // The API requires a turn: a conversation of instructions alone becomes a user turn.
  if (turns.length === 0) addTurn("user", system.splice(0))
  const last = turns.at(-1)
  const isPrefilled = last?.role === "assistant" && last.content.every((block) => !isCall(block))
  if (isPrefilled) last.content = trimmed(last.content)
  for (const turn of turns) if (turn.role === "user") turn.content = resultsFirst(turn.content)
  return { system, turns, isPrefilled, lacksThoughts: lacksThoughts(turns) }
})

const blocksOf = (message: ChatMessage): Lowered<ReadonlyArray<Block>> =>
  Result.map(partsOf(message), (blocks) => marked(blocks, message))

const partsOf = ({ content, role }: ChatMessage): Lowered<ReadonlyArray<Block>> => {
  if (typeof content === "string") return Result.succeed(textBlock(content))
  return Result.map(Result.all((content ?? []).map((part) => blockOf(part, role))), (blocks) => blocks.flat())
}

/** A message's `cache_control` is that of its last block. */
const marked = (blocks: ReadonlyArray<Block>, message: ChatMessage): ReadonlyArray<Block> => {
  const last = blocks.at(-1)
  return last === undefined || !isJsonRecord(message["cache_control"])
    ? blocks
    : [...blocks.slice(0, -1), cached(last, message)]
}

const thoughtsOf = (message: ChatMessage, maker: ThoughtMaker | null): ReadonlyArray<PlacedBlock> =>
  (maker === null ? [] : ownThoughts(message, maker)).flatMap((detail): ReadonlyArray<PlacedBlock> => {
    const { data, index, signature, text } = detail
    if (typeof data === "string") return [{ at: index, block: { type: "redacted_thinking", data } }]
    if (typeof signature !== "string") return []
    return [{ at: index, block: { type: "thinking", thinking: stringOf(text) ?? "", signature } }]
  })

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
  return Result.map(partsOf(message), (parts) => {
    const content = parts.map(({ cache_control: _control, ...part }) => part)
    const result = { type: "tool_result", tool_use_id: callId(id), ...(content.length === 0 ? {} : { content }) }
    // Only whole blocks of a turn can be cached.
    return cached(result, isJsonRecord(message["cache_control"]) ? message : (parts.findLast(isMarked) ?? {}))
  })
}

const isMarked = (block: Block): boolean => isJsonRecord(block["cache_control"])

/** The API rejects some characters in other vendors' ids. */
const callId = (id: string): string => id.replaceAll(/[^\w-]/g, "_")

const isCall = (block: Block): boolean => block["type"] === "tool_use"
const isResult = (block: Block): boolean => block["type"] === "tool_result"
const isThought = ({ type }: Block): boolean => type === "thinking" || type === "redacted_thinking"

/** The API rejects results that do not come first in their turn. */
const resultsFirst = (content: Array<Block>): Array<Block> =>
  content.some(isResult) ? [...content.filter(isResult), ...content.filter((block) => !isResult(block))] : content

/**
 * The turns since the user last spoke are one to the API, which wants a thought at its beginning.
 */
const lacksThoughts = (turns: ReadonlyArray<Turn>): boolean => {
  const spoken = turns.findLastIndex(({ content, role }) => role === "user" && !content.some(isResult))
  const answers = turns.slice(spoken + 1).filter(({ role }) => role === "assistant")
  const begins = ({ content: [first] }: Turn): boolean => first !== undefined && isThought(first)
  return (answers.at(-1)?.content.some(isCall) ?? false) && !answers.some(begins)
}

/** The API rejects a prefill that contains thoughts or ends with whitespace. */
const trimmed = (content: ReadonlyArray<Block>): Array<Block> => {
  const kept = content.filter((block) => !isThought(block))
  const text = stringOf(kept.at(-1)?.["text"])
  if (text !== null) kept.push({ ...kept.pop(), text: text.trimEnd() })
  return kept
}
