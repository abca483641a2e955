/**
 * Reads whole replies of Bedrock's Converse, and the parts that streams share: usage, finish
 * reasons, citations.
 */
import { type ChatReply } from "../../domain/Chat.ts"
import { type TokenUsage } from "../../domain/pricing/Money.ts"
import { Malformed } from "../Provider.ts"
import { reportedUsage } from "../wire/Usage.ts"
import { type CallIds } from "../wire/CallIds.ts"
import { type CitedMembers, citedMembers, joinCited } from "../wire/Citations.ts"
import { encryptedThought, type ThoughtMaker, thoughtMembers, thoughtText } from "../wire/Thoughts.ts"
import { imagesOf } from "./Images.ts"
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
 * `called`: a tool of the client was called. Some models end their turn beside their calls: the
 * calls count. `Malformed` if Bedrock could not parse the model's output.
 */
export const readFinish = (stopReason: unknown, called: boolean): string | Malformed => {
  if (stopReason === "malformed_model_output" || stopReason === "malformed_tool_use")
    return new Malformed({ detail: stopReason })
  if (called && stopReason === "end_turn") return "tool_calls"
  const reason = reasons[stringOf(stopReason) ?? ""] ?? "stop"
  return !called && reason === "tool_calls" ? "stop" : reason
}

/** Facts of the request that the readers need. */
export interface RequestFacts {
  /** The tool whose arguments are the content. Null if the content is text. */
  readonly answerTool: string | null
  readonly ids: CallIds
  readonly maker: ThoughtMaker
}

/** Reads a whole reply. `Malformed` if it is empty. */
export const readReply =
  ({ answerTool, ids, maker }: RequestFacts) =>
  (body: JsonRecord): ChatReply | Malformed => {
    const message = isJsonRecord(body["output"]) ? body["output"]["message"] : null
    const blocks = isJsonRecord(message) ? jsonRecordsOf(message["content"]) : []
    if (blocks.length === 0 && stringOf(body["stopReason"]) === null)
      return new Malformed({ detail: "empty completion" })
    const cited: Array<CitedMembers> = []
    let content = ""
    for (const block of blocks) {
      const start = content.length
      content += textOf(block, answerTool)
      const { citationsContent } = block
      const sources = isJsonRecord(citationsContent) ? jsonRecordsOf(citationsContent["citations"]) : []
      cited.push(citedBlock(sources, start, content.length))
    }
    const calls = blocks
      .flatMap((block) => callOf(block, answerTool))
      .map((call, at) => ({ ...call, id: ids(call["id"], null, at) }))
    const thoughts = blocks.flatMap((block, index) => thoughtOf(maker, block, index))
    const images = imagesOf(blocks)
    const finish = readFinish(body["stopReason"], calls.length > 0)
    if (finish instanceof Malformed) return finish
    return {
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: content === "" && calls.length > 0 ? null : content,
            ...(calls.length > 0 ? { tool_calls: calls } : {}),
            ...thoughtMembers(thoughts),
            ...joinCited(cited),
            ...(images.length > 0 ? { images } : {})
          },
          finish_reason: finish
        }
      ],
      usage: readUsage(body["usage"], body["serviceTier"]),
      systemFingerprint: null
    }
  }

/** The members for the citations of a text, which is `content` from `start` to `end`. */
export const citedBlock = (citations: ReadonlyArray<JsonRecord>, start: number, end: number): CitedMembers =>
  citedMembers(
    citations.map((citation) => ({ citation, url: urlOf(citation), title: stringOf(citation["title"]) })),
    start,
    end
  )

const urlOf = ({ location }: JsonRecord): string | null =>
  isJsonRecord(location) && isJsonRecord(location["web"]) ? stringOf(location["web"]["url"]) : null

const isAnswer = (toolUse: JsonRecord, answerTool: string | null): boolean =>
  answerTool !== null && toolUse["name"] === answerTool

/** The text that a block adds to the content. Text with citations comes in pieces. */
const textOf = ({ citationsContent, text, toolUse }: JsonRecord, answerTool: string | null): string => {
  if (isJsonRecord(toolUse)) return isAnswer(toolUse, answerTool) ? JSON.stringify(toolUse["input"] ?? {}) : ""
  if (!isJsonRecord(citationsContent)) return stringOf(text) ?? ""
  return jsonRecordsOf(citationsContent["content"])
    .map((piece) => stringOf(piece["text"]) ?? "")
    .join("")
}

const callOf = ({ toolUse }: JsonRecord, answerTool: string | null): ReadonlyArray<JsonRecord> => {
  if (!isJsonRecord(toolUse) || isAnswer(toolUse, answerTool)) return []
  const called = { name: stringOf(toolUse["name"]) ?? "", arguments: JSON.stringify(toolUse["input"] ?? {}) }
  return [{ id: toolUse["toolUseId"], type: "function", function: called }]
}

const thoughtOf = (maker: ThoughtMaker, { reasoningContent: thought }: JsonRecord, index: number) => {
  if (!isJsonRecord(thought)) return []
  const { reasoningText, redactedContent } = thought
  if (typeof redactedContent === "string") return [encryptedThought(maker, index, redactedContent)]
  if (!isJsonRecord(reasoningText)) return []
  return [thoughtText(maker, index, stringOf(reasoningText["text"]) ?? "", stringOf(reasoningText["signature"]))]
}
