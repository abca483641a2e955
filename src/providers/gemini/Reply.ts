/**
 * Gemini's answers, read leniently into the domain's: what candidates say, why they ended, what was used. A stream's events have the
 * shape of whole replies, so both are read here. An answer that ended in a fault of the model is no answer; a blocked prompt is
 * the request's fault.
 */
import { type ChatReply, type ReplyChoice, type ToolCallDelta } from "../../domain/Chat.ts"
import { type TokenUsage } from "../../domain/Money.ts"
import { Malformed, Rejected } from "../Provider.ts"
import { remainder, reportedUsage } from "../wire/Usage.ts"
import { countOf, isJsonRecord, stringOf, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"

/** What the reading of an answer has to know of its request. */
export interface Asked {
  /** How many candidates. */
  readonly candidates: number
  /** `parallel_tool_calls` was not false. */
  readonly parallelCalls: boolean
  /** How many calls the conversation held already: made-up ids count on from there. */
  readonly callsBefore: number
}

/**
 * Cached tokens are part of the prompt's; thoughts are paid as completion, and are no part of the candidates'. The API leaves out a
 * count of zero: output that is not told is the rest of the total, and usage without either is none.
 */
export const readUsage = (usage: unknown): TokenUsage | null => {
  if (!isJsonRecord(usage)) return null
  const own = countOf(usage["promptTokenCount"])
  if (own === null) return null
  const prompt = own + (countOf(usage["toolUsePromptTokenCount"]) ?? 0)
  const reasoning = countOf(usage["thoughtsTokenCount"]) ?? 0
  const answer =
    countOf(usage["candidatesTokenCount"]) ?? remainder(countOf(usage["totalTokenCount"]), prompt, reasoning)
  return reportedUsage({
    prompt,
    completion: answer === null ? null : answer + reasoning,
    cached: Math.min(countOf(usage["cachedContentTokenCount"]) ?? 0, own),
    reasoning
  })
}

const withheld = new Set([
  "SAFETY",
  "RECITATION",
  "LANGUAGE",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
  "IMAGE_SAFETY",
  "IMAGE_PROHIBITED_CONTENT",
  "IMAGE_RECITATION"
])

/** A finish reason in OpenAI's words; `Malformed` for faults of the model such as `MALFORMED_FUNCTION_CALL`. */
export const finishOf = (native: string, called: boolean): string | Malformed => {
  if (native === "STOP" || native === "FUNCTION_CALL") return called ? "tool_calls" : "stop"
  if (native === "MAX_TOKENS") return "length"
  return withheld.has(native) ? "content_filter" : new Malformed({ detail: `the model ended with ${native}` })
}

/** Why the prompt was not answered; null when it was not blocked. */
export const blockOf = (body: JsonRecord): Rejected | null => {
  const feedback = body["promptFeedback"]
  const reason = isJsonRecord(feedback) ? stringOf(feedback["blockReason"]) : null
  if (reason === null) return null
  const words = isJsonRecord(feedback) ? stringOf(feedback["blockReasonMessage"]) : null
  const message = `the prompt was blocked: ${words ?? reason}`
  return new Rejected({ status: 400, message, param: "messages", code: "content_filter", contextLength: false })
}

/** What the parts of one candidate say. Calls are numbered on from `calls`. */
interface Said {
  readonly content: string
  readonly reasoning: string
  readonly calls: ReadonlyArray<ToolCallDelta>
}

export const readParts = (
  candidate: JsonRecord,
  responseId: string | null,
  calls: number,
  asked: Asked
): Said | Malformed => {
  const turn = candidate["content"]
  let content = ""
  let reasoning = ""
  const called: Array<ToolCallDelta> = []
  for (const part of isJsonRecord(turn) ? jsonRecordsOf(turn["parts"]) : []) {
    const text = part["text"] ?? null
    if (text !== null && typeof text !== "string") return new Malformed({ detail: "a part without its text" })
    if (text !== null && part["thought"] === true) reasoning += text
    else if (text !== null) content += text
    const call = part["functionCall"]
    const index = calls + called.length
    if (isJsonRecord(call) && (asked.parallelCalls || index === 0))
      called.push(readCall(call, part["thoughtSignature"], index, responseId, asked))
  }
  return { content, reasoning, calls: called }
}

/** A call as OpenAI writes it. The signature lies where Google's own OpenAI endpoint puts it, for the client to send back. */
const readCall = (call: JsonRecord, signature: unknown, index: number, responseId: string | null, asked: Asked) => {
  const made = responseId === null ? `call_${asked.callsBefore + index}` : `call_${responseId}_${index}`
  return {
    index,
    id: stringOf(call["id"]) || made,
    type: "function",
    function: {
      name: stringOf(call["name"]) ?? "",
      arguments: JSON.stringify(isJsonRecord(call["args"]) ? call["args"] : {})
    },
    ...(typeof signature === "string" ? { extra_content: { google: { thought_signature: signature } } } : {})
  }
}

/** Log probabilities in OpenAI's shape; null where none came. */
export const readLogprobs = ({ logprobsResult }: JsonRecord): JsonRecord | null => {
  if (!isJsonRecord(logprobsResult)) return null
  const top = jsonRecordsOf(logprobsResult["topCandidates"])
  const content = jsonRecordsOf(logprobsResult["chosenCandidates"]).map((chosen, at) => ({
    ...readLogprob(chosen),
    top_logprobs: jsonRecordsOf(top[at]?.["candidates"]).map(readLogprob)
  }))
  return content.length === 0 ? null : { content, refusal: null }
}

const readLogprob = (candidate: JsonRecord) => {
  const token = stringOf(candidate["token"]) ?? ""
  const logprob = candidate["logProbability"]
  return { token, logprob: typeof logprob === "number" ? logprob : 0, bytes: [...Buffer.from(token, "utf8")] }
}

export const indexOf = (candidate: JsonRecord, at: number): number =>
  typeof candidate["index"] === "number" ? candidate["index"] : at

/** A whole reply. `Rejected` when the prompt was blocked, `Malformed` when nothing or nonsense came. */
export const readReply = (body: JsonRecord, asked: Asked): ChatReply | Malformed | Rejected => {
  const responseId = stringOf(body["responseId"])
  const candidates = jsonRecordsOf(body["candidates"])
  if (candidates.length === 0) return blockOf(body) ?? new Malformed({ detail: "empty completion" })
  const choices: Array<ReplyChoice> = []
  for (const [at, candidate] of candidates.entries()) {
    const said = readParts(candidate, responseId, 0, asked)
    if (said instanceof Malformed) return said
    const { calls, content, reasoning } = said
    const native = stringOf(candidate["finishReason"])
    const finish = native === null ? null : finishOf(native, calls.length > 0)
    if (finish instanceof Malformed) return finish
    if (finish === null && content === "" && reasoning === "" && calls.length === 0)
      return new Malformed({ detail: "empty completion" })
    const logprobs = readLogprobs(candidate)
    choices.push({
      index: indexOf(candidate, at),
      message: {
        role: "assistant",
        content: content === "" && (calls.length > 0 || finish === "content_filter") ? null : content,
        ...(calls.length > 0 ? { tool_calls: calls.map(({ index: _index, ...call }) => call) } : {}),
        ...(reasoning === "" ? {} : { reasoning })
      },
      ...(logprobs === null ? {} : { logprobs }),
      finish_reason: finish
    })
  }
  return { choices, usage: readUsage(body["usageMetadata"]), systemFingerprint: stringOf(body["modelVersion"]) }
}
