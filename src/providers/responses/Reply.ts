/**
 * Reads whole replies of the Responses API, and the parts that streams share. Messages become
 * content, reasoning items `reasoning` and `reasoning_details`, calls tool calls under their
 * `call_id`. Items of other kinds are dropped.
 */
import { type ChatReply } from "../../domain/Chat.ts"
import { type TokenUsage } from "../../domain/pricing/Money.ts"
import { usageExtra } from "../openai/Extra.ts"
import { Malformed } from "../Provider.ts"
import { type CallIds } from "../wire/CallIds.ts"
import { countOf, isJsonRecord, stringOf, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"
import { remainder, reportedUsage } from "../wire/Usage.ts"
import { detailOf, encryptedOf, SEPARATOR, thoughtsOf } from "./Reasoning.ts"

/** The reader's knowledge of the request. */
export interface Asked {
  readonly ids: CallIds
  /** The provider's slug, for the reasoning that it makes. */
  readonly maker: string
}

/**
 * Null without `input_tokens`, or without `output_tokens` and a total. `tier`: the response's
 * `service_tier`.
 */
export const readUsage = (usage: unknown, tier: unknown): TokenUsage | null => {
  if (!isJsonRecord(usage)) return null
  const prompt = countOf(usage["input_tokens"])
  const { input_tokens_details: input, output_tokens_details: output } = usage
  return reportedUsage({
    prompt,
    completion: countOf(usage["output_tokens"]) ?? remainder(countOf(usage["total_tokens"]), prompt),
    cached: (isJsonRecord(input) ? countOf(input["cached_tokens"]) : null) ?? 0,
    reasoning: (isJsonRecord(output) ? countOf(output["reasoning_tokens"]) : null) ?? 0,
    rare: { cache_write: (isJsonRecord(input) ? countOf(input["cache_write_tokens"]) : null) ?? 0 },
    tier
  })
}

/** What a response says beside its choices, in the words of chat completions. */
export const readExtra = ({ service_tier, usage }: JsonRecord): Pick<ChatReply, "extra" | "usageExtra"> => {
  const reported = isJsonRecord(usage) ? usageExtra(inChatWords(usage)) : null
  return {
    ...(typeof service_tier === "string" ? { extra: { service_tier } } : {}),
    ...(reported === null ? {} : { usageExtra: reported })
  }
}

const inChatWords = ({
  input_tokens: _input,
  input_tokens_details: prompt_tokens_details,
  output_tokens: _output,
  output_tokens_details: completion_tokens_details,
  ...rest
}: JsonRecord): JsonRecord => ({
  ...rest,
  ...(isJsonRecord(prompt_tokens_details) ? { prompt_tokens_details } : {}),
  ...(isJsonRecord(completion_tokens_details) ? { completion_tokens_details } : {})
})

/** The failure of a response that is not an answer, such as a cancelled one, or null. */
export const unfinished = ({ status }: JsonRecord): Malformed | null =>
  status === undefined || status === "completed" || status === "incomplete"
    ? null
    : new Malformed({ detail: "a response that is not complete" })

/** The finish reason of a response that is an answer. `called`: it calls a tool. */
export const finishReason = ({ incomplete_details: details, status }: JsonRecord, called: boolean): string => {
  if (status !== "incomplete") return called ? "tool_calls" : "stop"
  return isJsonRecord(details) && details["reason"] === "content_filter" ? "content_filter" : "length"
}

/** An annotation in the form of chat completions: under the name of its type. */
export const annotationOf = ({ type, ...rest }: JsonRecord): JsonRecord => ({ type, [stringOf(type) ?? ""]: rest })

export const isCall = ({ type }: JsonRecord): boolean => type === "function_call" || type === "custom_tool_call"

/** The input of a call. A function without arguments gets an empty object. */
export const inputOf = (item: JsonRecord): string =>
  item["type"] === "custom_tool_call" ? (stringOf(item["input"]) ?? "") : stringOf(item["arguments"]) || "{}"

/** The tool call of an item. In a stream the input follows. */
export const callOf = (item: JsonRecord, id: string, input: string) => {
  const name = stringOf(item["name"]) ?? ""
  return item["type"] === "custom_tool_call"
    ? { id, type: "custom", custom: { name, input } }
    : { id, type: "function", function: { name, arguments: input } }
}

/** Log probabilities of a text in the form of chat completions, or null without any. */
export const logprobsOf = (logprobs: unknown): JsonRecord | null =>
  Array.isArray(logprobs) && logprobs.length > 0 ? { content: logprobs, refusal: null } : null

const isPart =
  (kind: "output_text" | "refusal") =>
  ({ type }: JsonRecord): boolean =>
    type === kind

export const readReply = (body: JsonRecord, { ids, maker }: Asked): ChatReply | Malformed => {
  const fault = unfinished(body)
  if (fault !== null) return fault
  if (!Array.isArray(body["output"])) return new Malformed({ detail: "no output" })
  const items = jsonRecordsOf(body["output"])
  const messages = items.filter(({ type }) => type === "message")
  const parts = messages.map(({ content }) => jsonRecordsOf(content))
  const texts = parts.map((all) => all.filter(isPart("output_text")))
  const content = texts.map(joined("text")).filter((text) => text !== "")
  const refusal = parts.flatMap((all) => all.filter(isPart("refusal")))
  const annotations = texts.flat().flatMap((part) => jsonRecordsOf(part["annotations"]).map(annotationOf))
  const logprobs = texts.flat().flatMap((part) => jsonRecordsOf(part["logprobs"]))
  const calls = items
    .filter(isCall)
    .map((item, at) => callOf(item, ids(item["call_id"], body["id"], at), inputOf(item)))
  const phase = messages.findLast((message) => typeof message["phase"] === "string")?.["phase"]
  return {
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: content.length === 0 && (calls.length > 0 || refusal.length > 0) ? null : content.join(SEPARATOR),
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
          ...(refusal.length === 0 ? {} : { refusal: joined("refusal")(refusal) }),
          ...readReasoning(items, maker),
          ...(annotations.length === 0 ? {} : { annotations }),
          ...(phase === undefined ? {} : { phase })
        },
        ...(logprobs.length === 0 ? {} : { logprobs: logprobsOf(logprobs) }),
        finish_reason: finishReason(body, calls.length > 0)
      }
    ],
    ...readExtra(body),
    usage: readUsage(body["usage"], body["service_tier"]),
    systemFingerprint: null
  }
}

const joined =
  (member: "text" | "refusal") =>
  (parts: ReadonlyArray<JsonRecord>): string =>
    parts.map((part) => stringOf(part[member]) ?? "").join("")

const readReasoning = (items: ReadonlyArray<JsonRecord>, maker: string): JsonRecord => {
  const reasoning = items.filter(({ type }) => type === "reasoning")
  const texts = reasoning.flatMap(thoughtsOf).map((thought) => ("summary" in thought ? thought.summary : thought.text))
  const details = reasoning
    .flatMap((item) => {
      const data = encryptedOf(item)
      const contents = [...thoughtsOf(item), ...(data === null ? [] : [{ data }])]
      return contents.map((content) => ({ content, id: stringOf(item["id"]) }))
    })
    .map(({ content, id }, index) => detailOf(content, maker, id, index))
  return {
    ...(texts.length === 0 ? {} : { reasoning: texts.join(SEPARATOR) }),
    ...(details.length === 0 ? {} : { reasoning_details: details })
  }
}
