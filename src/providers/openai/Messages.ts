/**
 * Messages as a server of this dialect takes them. A message is sent as received, except for what
 * its vendor is known to refuse: `developer` becomes `system` outside OpenAI, reasoning goes under
 * the vendor's own name, and a message without anything gets an empty text.
 */
import { hash } from "node:crypto"
import { type ChatMessage } from "../../domain/Chat.ts"
import { inCommonRoles } from "../wire/CommonRoles.ts"
import { isJsonRecord, type JsonRecord, jsonRecordsOf, stringOf } from "../wire/Json.ts"
import { sameList } from "../wire/SentJson.ts"
import { mediaAfterResults } from "./ToolMedia.ts"
import { type Vendor } from "./Vendor.ts"

const bothNames = ["reasoning", "reasoning_content"] as const

export const messagesFor = (
  messages: ReadonlyArray<ChatMessage>,
  vendor: Vendor | null,
  upstream: string,
  slug: string
): ReadonlyArray<JsonRecord> => {
  const names = vendor === null ? bothNames : vendor.reasoningModels?.test(upstream) === false ? [] : vendor.reasoning
  const common = vendor?.messageMembers?.has("function_call") === false ? inCommonRoles(messages) : messages
  const known = vendor === null || vendor.takesToolMedia === true ? common : mediaAfterResults(common)
  return sameList<JsonRecord>(
    known,
    known.map((message) => {
      const sent = withoutForeign(
        message.role === "assistant" ? assistantFor(withoutSeals(message, slug), vendor, names) : message,
        vendor
      )
      if (message.role === "developer" && vendor?.isOpenAi !== true) return { ...sent, role: "system" }
      return needsText(sent) ? { ...sent, content: "" } : sent
    })
  )
}

/** Members of the gateway's replies that no server of this dialect takes back. */
const repliesOnly = ["citations", "grounding_metadata", "phase"]

/**
 * The message without what other providers sealed: their reasoning details, and their signatures of
 * calls and images, and what a client had from another API (`native`). What this provider made goes
 * back without the mark of its maker.
 */
const withoutSeals = (message: ChatMessage, slug: string): ChatMessage => {
  const { images, reasoning_details: details, tool_calls: calls } = message
  const isSealed = calls?.some(({ extra_content }) => extra_content !== undefined) === true
  if (!isSealed && !isPresent(details) && !isPresent(images) && !repliesOnly.some((name) => name in message))
    return message
  const sent: Record<string, unknown> = { ...message }
  for (const name of repliesOnly) delete sent[name]
  if (isSealed) sent["tool_calls"] = calls.map((call) => withoutSeal(call, slug))
  if (Array.isArray(images)) sent["images"] = jsonRecordsOf(images).map((image) => withoutSeal(image, slug))
  if (Array.isArray(details))
    sent["reasoning_details"] = jsonRecordsOf(details).flatMap(({ native, provider, ...detail }) =>
      native !== true && (provider === undefined || provider === slug) ? [detail] : []
    )
  return { ...sent, role: message.role }
}

const withoutSeal = (value: JsonRecord, slug: string): JsonRecord => {
  const { extra_content: extra, ...rest } = value
  const google = isJsonRecord(extra) ? extra["google"] : undefined
  const maker = isJsonRecord(google) ? google["provider"] : undefined
  return maker === undefined || maker === slug ? value : rest
}

const assistantFor = (message: ChatMessage, vendor: Vendor | null, names: ReadonlyArray<string>): JsonRecord => {
  if (!("reasoning" in message || "reasoning_content" in message || "reasoning_details" in message)) return message
  const { reasoning, reasoning_content, reasoning_details: details, ...rest } = message
  const text = reasoning ?? stringOf(reasoning_content)
  const sent: JsonRecord = rest
  if (text !== null) for (const name of names) sent[name] = text
  if (isPresent(details) && (vendor === null || vendor.reasoningDetails === true)) sent["reasoning_details"] = details
  return sent
}

/** Leaves out what the vendor refuses. A refusal that is left out becomes the content. */
const withoutForeign = (message: JsonRecord, vendor: Vendor | null): JsonRecord => {
  if (vendor?.isOpenAi === true) return withoutCacheControl(withoutImages(message))
  const known = vendor?.messageMembers
  if (known === undefined) return message
  const sent = Object.fromEntries(Object.entries(message).filter(([name]) => known.has(name)))
  if (vendor?.hasShortCallIds === true) shortenCallIds(sent)
  return isPresent(sent["content"]) ? sent : { ...sent, content: stringOf(message["refusal"]) }
}

/** Other vendors' ids are longer. The same id becomes the same one, of a call and of its result. */
const shortenCallIds = (message: JsonRecord): void => {
  const { tool_call_id: id, tool_calls } = message
  if (typeof id === "string") message["tool_call_id"] = shortCallId(id)
  if (Array.isArray(tool_calls)) {
    message["tool_calls"] = jsonRecordsOf(tool_calls).map((call) => ({
      ...call,
      id: shortCallId(stringOf(call["id"]) ?? "")
    }))
  }
}

const SHORT_ID = 9
const shortCallId = (id: string): string =>
  /^[A-Za-z0-9]{9}$/.test(id) ? id : hash("sha256", id, "hex").slice(0, SHORT_ID)

/** OpenAI refuses images of an assistant. */
const withoutImages = (message: JsonRecord): JsonRecord => {
  if (!("images" in message)) return message
  const { images: _, ...rest } = message
  return rest
}

/** OpenAI caches by itself, and refuses the member by which Anthropic's clients ask for it. */
export const withoutCacheControl = (value: JsonRecord): JsonRecord => {
  const { content } = value
  const isMarked = Array.isArray(content) && content.some((part) => isJsonRecord(part) && "cache_control" in part)
  if (!isMarked && value["cache_control"] === undefined) return value
  const { cache_control: _, ...rest } = value
  if (isMarked)
    rest["content"] = content.map((part: unknown) => (isJsonRecord(part) ? withoutCacheControl(part) : part))
  return rest
}

/** True for a message that needs no content by its role, and has nothing else to say either. */
const needsText = (message: JsonRecord): boolean => {
  const { content, role } = message
  if (content !== null && content !== undefined) return false
  return role === "assistant" ? !told.some((name) => isPresent(message[name])) : role === "tool" || role === "function"
}

const told = ["tool_calls", "function_call", "refusal", "audio", "reasoning", "reasoning_content", "reasoning_details"]

const isPresent = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== "" && (!Array.isArray(value) || value.length > 0)
