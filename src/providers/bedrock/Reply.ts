/**
 * Whole replies of Bedrock's Converse, and what they share with streams: usage, finish reasons, the form in which sealed
 * thoughts travel. `reasoning_details` holds thoughts with their signatures, as OpenRouter's clients know it; a client that
 * sends it back with the message lets the model go on thinking where it was.
 */
import { type ChatReply } from "../../domain/Chat.ts"
import { type TokenUsage } from "../../domain/Money.ts"
import { Malformed } from "../Provider.ts"
import { reportedUsage } from "../wire/Usage.ts"
import { type CallIds } from "../wire/CallIds.ts"
import { countOf, isJsonRecord, stringOf, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"

/**
 * Bedrock counts what it read from its cache, and what it wrote there, beside the input tokens; here they are part of the
 * prompt. Usage without `inputTokens` or `outputTokens` is none.
 */
export const readUsage = (usage: unknown): TokenUsage | null => {
  if (!isJsonRecord(usage)) return null
  const inputTokens = countOf(usage["inputTokens"])
  if (inputTokens === null) return null
  const cached = countOf(usage["cacheReadInputTokens"]) ?? 0
  const prompt = inputTokens + cached + (countOf(usage["cacheWriteInputTokens"]) ?? 0)
  return reportedUsage({ prompt, completion: countOf(usage["outputTokens"]), cached })
}

const reasons: Readonly<Record<string, string>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  guardrail_intervened: "content_filter",
  content_filtered: "content_filter"
}

/** `answered`: the tool that was called was the answer. `Malformed` where the model's own words could not be read. */
export const readFinish = (stopReason: unknown, answered: boolean): string | Malformed => {
  if (stopReason === "malformed_model_output" || stopReason === "malformed_tool_use")
    return new Malformed({ detail: stopReason })
  const reason = reasons[stringOf(stopReason) ?? ""] ?? "stop"
  return answered && reason === "tool_calls" ? "stop" : reason
}

/** Thoughts that their model signed. */
export const signedThought = (
  index: number,
  members: { readonly text?: string; readonly signature?: string }
): JsonRecord => ({
  type: "reasoning.text",
  ...members,
  index
})

/** Thoughts that nobody but their model may read, in base64. */
export const sealedThought = (index: number, data: string): JsonRecord => ({ type: "reasoning.encrypted", data, index })

/** A whole reply. `Malformed` when it says nothing at all. `answerTool`: the tool whose arguments are the content. */
export const readReply =
  (answerTool: string | null, ids: CallIds) =>
  (body: JsonRecord): ChatReply | Malformed => {
    const message = isJsonRecord(body["output"]) ? body["output"]["message"] : null
    const blocks = isJsonRecord(message) ? jsonRecordsOf(message["content"]) : []
    if (blocks.length === 0 && stringOf(body["stopReason"]) === null)
      return new Malformed({ detail: "empty completion" })
    const said = blocks.map((block) => textOf(block, answerTool)).filter((text) => text !== null)
    const calls = blocks
      .flatMap((block) => callOf(block, answerTool))
      .map((call, at) => ({ ...call, id: ids(call["id"], null, at) }))
    const thoughts = blocks.flatMap((block, index) => thoughtOf(block, index))
    const finish = readFinish(body["stopReason"], calls.length === 0)
    if (finish instanceof Malformed) return finish
    const reasoning = thoughts.map(({ text }) => stringOf(text) ?? "").join("")
    const isSealed = thoughts.some((thought) => "signature" in thought || "data" in thought)
    return {
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: said.length === 0 && calls.length > 0 ? null : said.join(""),
            ...(calls.length > 0 ? { tool_calls: calls } : {}),
            ...(reasoning === "" ? {} : { reasoning }),
            ...(isSealed ? { reasoning_details: thoughts } : {})
          },
          finish_reason: finish
        }
      ],
      usage: readUsage(body["usage"]),
      systemFingerprint: null
    }
  }

const isAnswer = (toolUse: JsonRecord, answerTool: string | null): boolean =>
  answerTool !== null && toolUse["name"] === answerTool

/** What a block adds to the content; null: nothing. Text with its sources comes in pieces. */
const textOf = ({ citationsContent, text, toolUse }: JsonRecord, answerTool: string | null): string | null => {
  if (isJsonRecord(toolUse)) return isAnswer(toolUse, answerTool) ? JSON.stringify(toolUse["input"] ?? {}) : null
  if (!isJsonRecord(citationsContent)) return stringOf(text)
  return jsonRecordsOf(citationsContent["content"])
    .map((piece) => stringOf(piece["text"]) ?? "")
    .join("")
}

const callOf = ({ toolUse }: JsonRecord, answerTool: string | null): ReadonlyArray<JsonRecord> => {
  if (!isJsonRecord(toolUse) || isAnswer(toolUse, answerTool)) return []
  const called = { name: stringOf(toolUse["name"]) ?? "", arguments: JSON.stringify(toolUse["input"] ?? {}) }
  return [{ id: toolUse["toolUseId"], type: "function", function: called }]
}

const thoughtOf = ({ reasoningContent: thought }: JsonRecord, index: number): ReadonlyArray<JsonRecord> => {
  if (!isJsonRecord(thought)) return []
  const { reasoningText, redactedContent } = thought
  if (typeof redactedContent === "string") return [sealedThought(index, redactedContent)]
  if (!isJsonRecord(reasoningText)) return []
  const [text, signature] = [stringOf(reasoningText["text"]), stringOf(reasoningText["signature"])]
  return [signedThought(index, { text: text ?? "", ...(signature === null ? {} : { signature }) })]
}
