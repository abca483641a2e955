/**
 * Reads whole replies of the OpenAI dialect leniently: completions and embeddings in every vendor's
 * variant.
 */
import { type ChatReply, type ReplyChoice } from "../../domain/Chat.ts"
import { type EmbeddingReply } from "../../domain/Embedding.ts"
import { type TokenUsage } from "../../domain/pricing/Money.ts"
import { Malformed } from "../Provider.ts"
import { promptUsage, remainder, reportedUsage } from "../wire/Usage.ts"
import { type CallIds } from "../wire/CallIds.ts"
import { withArguments } from "./Calls.ts"
import { replyExtra, usageExtra } from "./Extra.ts"
import { countOf, isJsonRecord, stringOf, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"

/**
 * Reads usage. Cached tokens are found where OpenAI, DeepSeek or Moonshot put them. Reasoning is
 * part of the completion, also if a vendor counts it separately, as xAI does: then the total shows
 * it. Zero is a valid count. A missing output count is the total minus the prompt. Null without
 * `prompt_tokens`, or without both of the others. `tier`: the reply's `service_tier`.
 */
export const readUsage = (usage: unknown, tier?: unknown): TokenUsage | null => {
  if (!isJsonRecord(usage)) return null
  const prompt = countOf(usage["prompt_tokens"])
  const total = countOf(usage["total_tokens"])
  const ofPrompt = usage["prompt_tokens_details"]
  const ofOutput = usage["completion_tokens_details"]
  const cached =
    detailOf(ofPrompt, "cached_tokens") ??
    countOf(usage["prompt_cache_hit_tokens"]) ??
    countOf(usage["cached_tokens"]) ??
    0
  const completion = countOf(usage["completion_tokens"]) ?? remainder(total, prompt)
  const reasoning = detailOf(ofOutput, "reasoning_tokens") ?? 0
  const isApart = reasoning > 0 && remainder(total, prompt, completion, reasoning) === 0
  return reportedUsage({
    prompt,
    completion: isApart && completion !== null ? completion + reasoning : completion,
    cached,
    reasoning,
    rare: {
      cache_write: detailOf(ofPrompt, "cache_write_tokens") ?? 0,
      prompt_audio: detailOf(ofPrompt, "audio_tokens") ?? 0,
      completion_audio: detailOf(ofOutput, "audio_tokens") ?? 0,
      completion_image: detailOf(ofOutput, "image_tokens") ?? 0,
      web_search: searchesOf(usage)
    },
    tier
  })
}

const detailOf = (details: unknown, member: string): number | null =>
  isJsonRecord(details) ? countOf(details[member]) : null

/** Searches that the vendor ran, in the words of OpenRouter, Perplexity or xAI. */
const searchesOf = ({ num_search_queries, num_sources_used, server_tool_use }: JsonRecord): number =>
  detailOf(server_tool_use, "web_search_requests") ?? countOf(num_search_queries) ?? countOf(num_sources_used) ?? 0

/**
 * Normalises the text members of a message or delta in place: `reasoning_content` becomes
 * `reasoning`, content in parts is joined, and reasoning details name their `maker`, the provider's
 * slug. `Malformed` if the content is not text in any form.
 */
export const readText = (message: JsonRecord, maker: string): Malformed | null => {
  if (message["reasoning_details"] !== undefined)
    message["reasoning_details"] = jsonRecordsOf(message["reasoning_details"]).map((detail) => ({
      ...detail,
      provider: maker
    }))
  const reasoning = message["reasoning_content"]
  if (reasoning !== undefined) {
    if (typeof reasoning === "string") message["reasoning"] ??= reasoning
    delete message["reasoning_content"]
  }
  const content = message["content"]
  if (typeof content === "string" || content === null || content === undefined) return null
  if (!Array.isArray(content)) return new Malformed({ detail: "content that is not text" })
  const parts = jsonRecordsOf(content)
  const thought = parts.flatMap((part) => (part["type"] === "thinking" ? jsonRecordsOf(part["thinking"]) : []))
  message["content"] = joined(parts)
  if (thought.length > 0) message["reasoning"] ??= joined(thought)
  return null
}

const joined = (parts: ReadonlyArray<JsonRecord>): string => parts.map((part) => stringOf(part["text"]) ?? "").join("")

/** A completion. `Malformed` if no choice has content. */
export const readReply = (body: JsonRecord, ids: CallIds, maker: string): ChatReply | Malformed => {
  const choices: Array<ReplyChoice> = []
  for (const choice of jsonRecordsOf(body["choices"])) {
    const read = readChoice(choice, choices.length, ids, body["id"], maker)
    if (read instanceof Malformed) return read
    choices.push(read)
  }
  if (choices.every(isEmpty)) return new Malformed({ detail: "empty completion" })
  const extra = replyExtra(body)
  const reported = usageExtra(body["usage"])
  return {
    choices,
    ...(extra === null ? {} : { extra }),
    usage: readUsage(body["usage"], body["service_tier"]),
    ...(reported === null ? {} : { usageExtra: reported }),
    systemFingerprint: stringOf(body["system_fingerprint"])
  }
}

/** The message of a choice. Some replies have a delta or a bare text instead. */
export const messageOf = ({ delta, message, text }: JsonRecord): JsonRecord =>
  isJsonRecord(message) ? message : isJsonRecord(delta) ? delta : typeof text === "string" ? { content: text } : {}

const readChoice = (
  wireChoice: JsonRecord,
  at: number,
  ids: CallIds,
  replyId: unknown,
  maker: string
): ReplyChoice | Malformed => {
  const wire = messageOf(wireChoice)
  const fault = readText(wire, maker)
  if (fault !== null) return fault
  const { delta: _delta, message: _message, text: _text, ...choice } = wireChoice
  const { reasoning, refusal, tool_calls, ...rest } = wire
  const calls = jsonRecordsOf(tool_calls).map((call, index) => ({
    ...withArguments(call),
    id: ids(call["id"], replyId, index)
  }))
  return {
    ...choice,
    index: typeof choice["index"] === "number" ? choice["index"] : at,
    message: {
      ...rest,
      role: "assistant",
      content: stringOf(wire["content"]),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
      ...(refusal === undefined ? {} : { refusal: stringOf(refusal) }),
      ...(typeof reasoning === "string" ? { reasoning } : {})
    },
    finish_reason: stringOf(choice["finish_reason"]) || null
  }
}

const isEmpty = ({ finish_reason, message }: ReplyChoice): boolean =>
  finish_reason === null &&
  !message.content &&
  !message.refusal &&
  !message.reasoning &&
  message.tool_calls === undefined &&
  message["audio"] === undefined &&
  message["function_call"] === undefined

/**
 * Vectors in the order of the inputs, from arrays of numbers or base64 of little-endian float32.
 * `expected`: the number of inputs.
 */
export const readEmbeddings = (body: JsonRecord, expected: number): EmbeddingReply | Malformed => {
  const vectors: Array<ReadonlyArray<number> | undefined> = Array.from({ length: expected })
  for (const [at, item] of jsonRecordsOf(body["data"]).entries()) {
    const index = typeof item["index"] === "number" ? item["index"] : at
    const vector = readVector(item["embedding"])
    if (vector === null || !(index in vectors) || vectors[index] !== undefined)
      return new Malformed({ detail: "bad embedding" })
    vectors[index] = vector
  }
  const whole = vectors.filter((vector) => vector !== undefined)
  if (whole.length !== expected) return new Malformed({ detail: "embeddings missing" })
  const usage = body["usage"]
  return { vectors: whole, usage: promptUsage(isJsonRecord(usage) ? countOf(usage["prompt_tokens"]) : null) }
}

const readVector = (value: unknown): ReadonlyArray<number> | null => {
  if (typeof value === "string") {
    const bytes = Buffer.from(value, "base64")
    if (bytes.length === 0 || bytes.length % 4 !== 0) return null
    return Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4))
  }
  if (!Array.isArray(value) || value.length === 0) return null
  return value.every((number): number is number => typeof number === "number") ? value : null
}
