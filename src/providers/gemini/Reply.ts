/**
 * Reads Gemini's answers leniently: content of the candidates, finish reasons, usage. A stream's
 * events have the shape of whole replies, so both are read here. An answer that ended in a model
 * fault is `Malformed`. A blocked prompt is the request's fault.
 */
import { type ChatReply, type ReplyChoice, type ToolCallDelta } from "../../domain/Chat.ts"
import { type TokenUsage } from "../../domain/pricing/Money.ts"
import { Malformed, Rejected } from "../Provider.ts"
import { type ThoughtMaker } from "../wire/Thoughts.ts"
import { groundingMembers } from "./Grounding.ts"
import { signed, signedThought, textSignature } from "./Signatures.ts"
import { remainder, reportedUsage } from "../wire/Usage.ts"
import { countOf, isJsonRecord, stringOf, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"

/** Facts of the request that the readers need. */
export interface RequestFacts {
  /** Number of candidates requested. */
  readonly candidates: number
  /** False if `parallel_tool_calls` was false. */
  readonly parallelCalls: boolean
  /** Number of calls already in the conversation: generated ids continue from it. */
  readonly callsBefore: number
  readonly maker: ThoughtMaker
}

/**
 * Cached tokens are part of the prompt. Thinking is billed as completion, but not part of the
 * candidates' count. The API omits counts of zero: a missing output count is the rest of the total.
 * Null if neither is known. Audio has its own price in a prompt; text, images, video and documents
 * share one.
 */
export const readUsage = (usage: unknown, searches: number): TokenUsage | null => {
  if (!isJsonRecord(usage)) return null
  const own = countOf(usage["promptTokenCount"])
  if (own === null) return null
  const prompt = own + (countOf(usage["toolUsePromptTokenCount"]) ?? 0)
  const reasoning = countOf(usage["thoughtsTokenCount"]) ?? 0
  const answer =
    countOf(usage["candidatesTokenCount"]) ?? remainder(countOf(usage["totalTokenCount"]), prompt, reasoning)
  const cached = Math.min(countOf(usage["cachedContentTokenCount"]) ?? 0, own)
  const cachedAudio = Math.min(ofModality(usage["cacheTokensDetails"], "AUDIO"), cached)
  const audio =
    ofModality(usage["promptTokensDetails"], "AUDIO") + ofModality(usage["toolUsePromptTokensDetails"], "AUDIO")
  return reportedUsage({
    prompt,
    completion: answer === null ? null : answer + reasoning,
    cached,
    reasoning,
    rare: {
      prompt_audio: Math.max(0, audio - cachedAudio),
      cached_audio: cachedAudio,
      completion_audio: ofModality(usage["candidatesTokensDetails"], "AUDIO"),
      completion_image: ofModality(usage["candidatesTokensDetails"], "IMAGE"),
      web_search: searches
    }
  })
}

const ofModality = (details: unknown, modality: string): number =>
  jsonRecordsOf(details).reduce(
    (sum, { modality: name, tokenCount }) => sum + (name === modality ? (countOf(tokenCount) ?? 0) : 0),
    0
  )

/** Searches that the vendor bills: each query, but one for a whole prompt up to Gemini 2.5. */
export const readSearches = (candidates: ReadonlyArray<JsonRecord>, modelVersion: string | null): number => {
  const queries = candidates.reduce((sum, { groundingMetadata: grounding }) => {
    const asked = isJsonRecord(grounding) ? grounding["webSearchQueries"] : null
    return sum + (Array.isArray(asked) ? asked.length : 0)
  }, 0)
  return modelVersion !== null && /^gemini-[12]\b/.test(modelVersion) ? Math.min(1, queries) : queries
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

/**
 * A finish reason in OpenAI's terms. `Malformed` for model faults such as
 * `MALFORMED_FUNCTION_CALL`.
 */
export const finishOf = (native: string, called: boolean): string | Malformed => {
  if (native === "STOP" || native === "FUNCTION_CALL") return called ? "tool_calls" : "stop"
  if (native === "MAX_TOKENS") return "length"
  return withheld.has(native) ? "content_filter" : new Malformed({ detail: `the model ended with ${native}` })
}

/** The rejection of a blocked prompt, or null. */
export const blockOf = (body: JsonRecord): Rejected | null => {
  const feedback = body["promptFeedback"]
  const reason = isJsonRecord(feedback) ? stringOf(feedback["blockReason"]) : null
  if (reason === null) return null
  const words = isJsonRecord(feedback) ? stringOf(feedback["blockReasonMessage"]) : null
  const message = `the prompt was blocked: ${words ?? reason}`
  return new Rejected({ status: 400, message, param: "messages", code: "content_filter", contextLength: false })
}

/** The content of one candidate's parts. */
interface CandidateParts {
  readonly content: string
  readonly reasoning: string
  readonly calls: ReadonlyArray<ToolCallDelta>
  /** Signatures of texts and thoughts, as reasoning details. */
  readonly details: ReadonlyArray<JsonRecord>
  readonly images: ReadonlyArray<JsonRecord>
}

/**
 * What a candidate has had before: numbers continue from it. `length`: of the content, in UTF-16
 * code units.
 */
export interface Before {
  readonly calls: number
  readonly details: number
  readonly images: number
  readonly length: number
}

export const nothingBefore: Before = { calls: 0, details: 0, images: 0, length: 0 }

/** True if there is nothing to pass on. */
export const isEmpty = ({ calls, content, details, images, reasoning }: CandidateParts): boolean =>
  content === "" && reasoning === "" && calls.length + details.length + images.length === 0

/** The members of a message or delta beside its content and its calls. */
export const membersOf = ({ details, images, reasoning }: CandidateParts) => ({
  ...(reasoning === "" ? {} : { reasoning }),
  ...(details.length === 0 ? {} : { reasoning_details: details }),
  ...(images.length === 0 ? {} : { images })
})

export const readParts = (
  candidate: JsonRecord,
  responseId: string | null,
  before: Before,
  asked: RequestFacts
): CandidateParts | Malformed => {
  const { maker } = asked
  const turn = candidate["content"]
  let content = ""
  let reasoning = ""
  const called: Array<ToolCallDelta> = []
  const details: Array<JsonRecord> = []
  const images: Array<JsonRecord> = []
  for (const part of isJsonRecord(turn) ? jsonRecordsOf(turn["parts"]) : []) {
    const text = part["text"] ?? null
    if (text !== null && typeof text !== "string") return new Malformed({ detail: "a part without its text" })
    const isThought = part["thought"] === true
    const call = part["functionCall"]
    const data = part["inlineData"]
    const signature = stringOf(part["thoughtSignature"])
    const at = before.details + details.length
    if (isJsonRecord(call)) {
      const index = before.calls + called.length
      if (asked.parallelCalls || index === 0) called.push(readCall(call, signature, index, responseId, asked))
    } else if (isJsonRecord(data)) {
      const image = isThought ? null : readImage(data, before.images + images.length)
      if (image !== null) images.push({ ...image, ...signed(signature, maker) })
    } else if (isThought) {
      reasoning += text ?? ""
      if (signature !== null) details.push(signedThought(maker, at, text ?? "", signature))
    } else {
      const from = before.length + content.length
      content += text ?? ""
      if (signature !== null) details.push(textSignature(maker, at, signature, from, before.length + content.length))
    }
  }
  return { content, reasoning, calls: called, details, images }
}

/** An image in OpenRouter's form, or null for other media. */
const readImage = ({ data, mimeType }: JsonRecord, index: number): JsonRecord | null =>
  typeof data === "string" && typeof mimeType === "string" && mimeType.startsWith("image/")
    ? { type: "image_url", image_url: { url: `data:${mimeType};base64,${data}` }, index }
    : null

/** A call in OpenAI's form. */
const readCall = (
  call: JsonRecord,
  signature: string | null,
  index: number,
  responseId: string | null,
  asked: RequestFacts
) => {
  const made = responseId === null ? `call_${asked.callsBefore + index}` : `call_${responseId}_${index}`
  return {
    index,
    id: stringOf(call["id"]) || made,
    type: "function",
    function: {
      name: stringOf(call["name"]) ?? "",
      arguments: JSON.stringify(isJsonRecord(call["args"]) ? call["args"] : {})
    },
    ...signed(signature, asked.maker)
  }
}

/** Log probabilities in OpenAI's form, or null. */
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

/**
 * Reads a whole reply. `Rejected` if the prompt was blocked, `Malformed` if the reply is empty or
 * invalid.
 */
export const readReply = (body: JsonRecord, asked: RequestFacts): ChatReply | Malformed | Rejected => {
  const responseId = stringOf(body["responseId"])
  const candidates = jsonRecordsOf(body["candidates"])
  if (candidates.length === 0) return blockOf(body) ?? new Malformed({ detail: "empty completion" })
  const choices: Array<ReplyChoice> = []
  for (const [at, candidate] of candidates.entries()) {
    const read = readParts(candidate, responseId, nothingBefore, asked)
    if (read instanceof Malformed) return read
    const { calls, content } = read
    const native = stringOf(candidate["finishReason"])
    const finish = native === null ? null : finishOf(native, calls.length > 0)
    if (finish instanceof Malformed) return finish
    if (finish === null && isEmpty(read)) return new Malformed({ detail: "empty completion" })
    const logprobs = readLogprobs(candidate)
    choices.push({
      index: indexOf(candidate, at),
      message: {
        role: "assistant",
        content: content === "" && (calls.length > 0 || finish === "content_filter") ? null : content,
        ...(calls.length > 0 ? { tool_calls: calls.map(({ index: _index, ...call }) => call) } : {}),
        ...membersOf(read),
        ...groundingMembers(candidate["groundingMetadata"], content)
      },
      ...(logprobs === null ? {} : { logprobs }),
      finish_reason: finish
    })
  }
  const modelVersion = stringOf(body["modelVersion"])
  const usage = readUsage(body["usageMetadata"], readSearches(candidates, modelVersion))
  return { choices, usage, systemFingerprint: modelVersion }
}
