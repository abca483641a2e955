/**
 * Reads whole replies of the Messages API leniently. Text blocks become content, thinking blocks
 * reasoning with its signatures, tool use tool calls, citations the members of Citations.ts. Blocks
 * of the vendor's own tools are dropped.
 */
import { type ChatReply } from "../../domain/Chat.ts"
import { type TokenUsage } from "../../domain/pricing/Money.ts"
import { Malformed } from "../Provider.ts"
import { reportedUsage } from "../wire/Usage.ts"
import { countOf, isJsonRecord, stringOf, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"
import { ANSWER_TOOL } from "./Tools.ts"
import { type CallIds } from "../wire/CallIds.ts"
import { type CitedMembers, citedMembers, joinCited } from "../wire/Citations.ts"
import { encryptedThought, type ThoughtMaker, thoughtMembers, thoughtText } from "../wire/Thoughts.ts"

/** Facts of the request that the readers need. */
export interface RequestFacts {
  /** The content comes as the arguments of a tool. */
  readonly answersByTool: boolean
  readonly ids: CallIds
  readonly maker: ThoughtMaker
}

const finishReasons: Readonly<Record<string, string>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "content_filter"
}

/**
 * `called`: a tool of the client was called. A call of the gateway's answer tool does not count.
 * Some models end their turn beside their calls: the calls count.
 */
export const finishReason = (stopReason: string, called: boolean): string => {
  if (called && stopReason === "end_turn") return "tool_calls"
  const reason = finishReasons[stopReason] ?? "stop"
  return reason === "tool_calls" && !called ? "stop" : reason
}

/**
 * Prompt tokens are the sum of uncached tokens, tokens written to the cache and tokens read from
 * it, which the vendor counts separately. Null without `input_tokens` or `output_tokens`.
 */
export const readUsage = (usage: unknown): TokenUsage | null => {
  const input = isJsonRecord(usage) ? countOf(usage["input_tokens"]) : null
  if (!isJsonRecord(usage) || input === null) return null
  const cached = countOf(usage["cache_read_input_tokens"]) ?? 0
  const hour = countIn(usage["cache_creation"], "ephemeral_1h_input_tokens")
  const short = countIn(usage["cache_creation"], "ephemeral_5m_input_tokens")
  const written = countOf(usage["cache_creation_input_tokens"]) ?? hour + short
  return reportedUsage({
    prompt: input + written + cached,
    completion: countOf(usage["output_tokens"]),
    cached,
    rare: {
      cache_write: Math.max(0, written - hour),
      cache_write_1h: Math.min(hour, written),
      web_search: countIn(usage["server_tool_use"], "web_search_requests")
    },
    tier: tierOf(usage)
  })
}

const countIn = (details: unknown, member: string): number =>
  (isJsonRecord(details) ? countOf(details[member]) : null) ?? 0

/**
 * What changes the prices of all tokens: fast mode, and inference in one region. The vendor's
 * `priority` is capacity that was paid ahead, so it counts as the standard tier.
 */
const tierOf = ({ inference_geo: region, speed }: JsonRecord): string | null => {
  const words = [
    ...(typeof speed === "string" && speed !== "standard" ? [speed] : []),
    ...(typeof region === "string" && !anywhere.has(region) ? [region] : [])
  ]
  return words.length === 0 ? null : words.join("+")
}

const anywhere = new Set(["", "global", "not_available"])

/** The provider's explanation of its refusal, or null. */
export const explanationOf = (details: unknown): string | null =>
  isJsonRecord(details) ? stringOf(details["explanation"]) : null

/** The members for the citations of a text block, whose text is `content` from `start` to `end`. */
export const citedBlock = (citations: ReadonlyArray<JsonRecord>, start: number, end: number): CitedMembers =>
  citedMembers(
    citations.map((citation) => ({ citation, url: urlOf(citation), title: stringOf(citation["title"]) })),
    start,
    end
  )

const urlOf = ({ source, url }: JsonRecord): string | null => {
  const address = stringOf(url) ?? stringOf(source)
  return address !== null && /^https?:\/\//.test(address) ? address : null
}

/** The thought of a block, or none. `index` counts the blocks of the reply. */
const thoughtOf = (maker: ThoughtMaker, block: JsonRecord, index: number): ReadonlyArray<JsonRecord> => {
  const data = stringOf(block["data"])
  if (block["type"] === "redacted_thinking") return data === null ? [] : [encryptedThought(maker, index, data)]
  if (block["type"] !== "thinking") return []
  return [thoughtText(maker, index, stringOf(block["thinking"]) ?? "", stringOf(block["signature"]) || null)]
}

/** `Malformed` if there are no blocks and no stop reason. */
export const readReply = (body: JsonRecord, { answersByTool, ids, maker }: RequestFacts): ChatReply | Malformed => {
  const stopReason = stringOf(body["stop_reason"])
  if (!Array.isArray(body["content"])) return new Malformed({ detail: "no content" })
  if (stopReason === null && body["content"].length === 0) return new Malformed({ detail: "empty completion" })
  const blocks = jsonRecordsOf(body["content"])
  const isAnswer = ({ name }: JsonRecord): boolean => answersByTool && name === ANSWER_TOOL
  const uses = blocks.filter(({ type }) => type === "tool_use")
  const calls = uses.filter((use) => !isAnswer(use))
  const cited: Array<CitedMembers> = []
  let content = ""
  for (const block of blocks) {
    if (block["type"] !== "text") continue
    const start = content.length
    content += stringOf(block["text"]) ?? ""
    cited.push(citedBlock(jsonRecordsOf(block["citations"]), start, content.length))
  }
  content += uses.filter(isAnswer).map(argumentsOf).join("")
  const thoughts = blocks.flatMap((block, index) => thoughtOf(maker, block, index))
  const refusal = stopReason === "refusal" ? explanationOf(body["stop_details"]) : null
  return {
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: content === "" && (calls.length > 0 || refusal !== null) ? null : content,
          ...(calls.length > 0
            ? { tool_calls: calls.map((use, at) => callOf(use, ids(use["id"], body["id"], at))) }
            : {}),
          ...(refusal === null ? {} : { refusal }),
          ...thoughtMembers(thoughts),
          ...joinCited(cited)
        },
        finish_reason: finishReason(stopReason ?? "", calls.length > 0)
      }
    ],
    usage: readUsage(body["usage"]),
    systemFingerprint: null
  }
}

const callOf = (use: JsonRecord, id: string) => ({
  id,
  type: "function",
  function: { name: stringOf(use["name"]) ?? "", arguments: argumentsOf(use) }
})

const argumentsOf = ({ input }: JsonRecord): string => JSON.stringify(input ?? {})
