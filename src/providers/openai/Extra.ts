/**
 * Members of replies, chunks and usage of the OpenAI dialect that the gateway does not know. They
 * are passed on. Members that the gateway writes itself are left out, and so is what the operator
 * pays.
 */
import { type Members } from "../../domain/Chat.ts"
import { isJsonRecord, type JsonRecord } from "../wire/Json.ts"

const ofChunk = new Set([
  "id",
  "object",
  "created",
  "model",
  "provider",
  "choices",
  "usage",
  "cache_hit",
  "generation_id",
  "error"
])

/** A reply's fingerprint is read as its own member. */
const ofReply = new Set([...ofChunk, "system_fingerprint"])

const ofUsage = new Set(["prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens", "cache_hit", "is_byok"])
/**
 * OpenRouter's `cost`, Perplexity's, xAI's `cost_in_usd_ticks`: prices of the operator's account.
 */
const cost = /cost/i

/** Usage is short. A longer one is not passed on, in characters. */
const LONGEST_USAGE = 16_384

const others = (body: JsonRecord, known: ReadonlySet<string>): Members | null => {
  let extra: JsonRecord | null = null
  for (const name in body) if (!known.has(name)) (extra ??= {})[name] = body[name]
  return extra
}

export const chunkExtra = (chunk: JsonRecord): Members | null => others(chunk, ofChunk)
export const replyExtra = (body: JsonRecord): Members | null => others(body, ofReply)

export const usageExtra = (usage: unknown): Members | null => {
  if (!isJsonRecord(usage)) return null
  let extra: JsonRecord | null = null
  for (const name in usage) {
    if (usage[name] !== null && !ofUsage.has(name) && !cost.test(name)) (extra ??= {})[name] = usage[name]
  }
  return extra === null || JSON.stringify(extra).length > LONGEST_USAGE ? null : extra
}
