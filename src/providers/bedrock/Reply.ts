/**
 * Reads whole replies of Bedrock's Converse, and the parts that streams share: usage, finish
 * reasons, signed reasoning. `reasoning_details` holds signed reasoning in OpenRouter's form. If
 * the client sends it back with the message, the model can continue its thinking.
 */
import { type ChatReply } from "../../domain/Chat.ts"
import { type TokenUsage } from "../../domain/Money.ts"
import { Malformed } from "../Provider.ts"
import { reportedUsage } from "../wire/Usage.ts"
import { type CallIds } from "../wire/CallIds.ts"
import { countOf, isJsonRecord, stringOf, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"

/**
 * Bedrock counts tokens read from and written to its cache separately from the input tokens; here
 * they are part of the prompt. Null without `inputTokens` or `outputTokens`. `tier`: the
 * `serviceTier` beside the usage.
 */
export const readUsage = (usage: unknown, tier?: unknown): TokenUsage | null => {
  if (!isJsonRecord(usage)) return null
  const inputTokens = countOf(usage["inputTokens"])
  if (inputTokens === null) return null
  const cached = countOf(usage["cacheReadInputTokens"]) ?? 0
  const written = countOf(usage["cacheWriteInputTokens"]) ?? 0
  const hour = jsonRecordsOf(usage["cacheDetails"]).reduce(
    (sum, { inputTokens: tokens, ttl }) => sum + (ttl === "1h" ? (countOf(tokens) ?? 0) : 0),
    0
  )
  return reportedUsage({
    prompt: inputTokens + cached + written,
    completion: countOf(usage["outputTokens"]),
    cached,
    rare: { cache_write: Math.max(0, written - hour), cache_write_1h: Math.min(hour, written) },
    tier: isJsonRecord(tier) ? tier["type"] : null
  })
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

/**
 * `answered`: the called tool was the answer tool. `Malformed` if Bedrock could not parse the
 * model's output.
 */
export const readFinish = (stopReason: unknown, answered: boolean): string | Malformed => {
  if (stopReason === "malformed_model_output" || stopReason === "malformed_tool_use")
    return new Malformed({ detail: stopReason })
  const reason = reasons[stringOf(stopReason) ?? ""] ?? "stop"
  return answered && reason === "tool_calls" ? "stop" : reason
}

/** Reasoning signed by its model. */
export const signedThought = (
  index: number,
  members: { readonly text?: string; readonly signature?: string }
): JsonRecord => ({
  type: "reasoning.text",
  ...members,
  index
})

/** Reasoning encrypted by its model, in base64. */
export const encryptedThought = (index: number, data: string): JsonRecord => ({
  type: "reasoning.encrypted",
  data,
  index
})

/**
 * Reads a whole reply. `Malformed` if it is empty. `answerTool`: the tool whose arguments are the
 * content.
 */
export const readReply =
  (answerTool: string | null, ids: CallIds) =>
  (body: JsonRecord): ChatReply | Malformed => {
    const message = isJsonRecord(body["output"]) ? body["output"]["message"] : null
    const blocks = isJsonRecord(message) ? jsonRecordsOf(message["content"]) : []
    if (blocks.length === 0 && stringOf(body["stopReason"]) === null)
      return new Malformed({ detail: "empty completion" })
    const texts = blocks.map((block) => textOf(block, answerTool)).filter((text) => text !== null)
    const calls = blocks
      .flatMap((block) => callOf(block, answerTool))
      .map((call, at) => ({ ...call, id: ids(call["id"], null, at) }))
    const thoughts = blocks.flatMap((block, index) => thoughtOf(block, index))
    const finish = readFinish(body["stopReason"], calls.length === 0)
    if (finish instanceof Malformed) return finish
    const reasoning = thoughts.map(({ text }) => stringOf(text) ?? "").join("")
    const hasDetails = thoughts.some((thought) => "signature" in thought || "data" in thought)
    return {
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: texts.length === 0 && calls.length > 0 ? null : texts.join(""),
            ...(calls.length > 0 ? { tool_calls: calls } : {}),
            ...(reasoning === "" ? {} : { reasoning }),
            ...(hasDetails ? { reasoning_details: thoughts } : {})
          },
          finish_reason: finish
        }
      ],
      usage: readUsage(body["usage"], body["serviceTier"]),
      systemFingerprint: null
    }
  }

const isAnswer = (toolUse: JsonRecord, answerTool: string | null): boolean =>
  answerTool !== null && toolUse["name"] === answerTool

/** The text that a block adds to the content, or null. Text with citations comes in pieces. */
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
  if (typeof redactedContent === "string") return [encryptedThought(index, redactedContent)]
  if (!isJsonRecord(reasoningText)) return []
  const [text, signature] = [stringOf(reasoningText["text"]), stringOf(reasoningText["signature"])]
  return [signedThought(index, { text: text ?? "", ...(signature === null ? {} : { signature }) })]
}
