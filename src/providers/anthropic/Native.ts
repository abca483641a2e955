/**
 * The native lane: a client's own request of the Messages API goes to the vendor as it is, except
 * for the name of the model, the output limit, the stream flag and thoughts of other providers; and
 * the vendor's events and bodies come back as they are. Signatures leave the gateway as carriers,
 * which name this provider, and go back to the vendor byte for byte.
 */
import { type ModelOffer, type ProviderConfig } from "../../domain/Catalog.ts"
import { type ChatReply, type Members } from "../../domain/Chat.ts"
import { type NativeRequest } from "../../domain/Native.ts"
import { carried, detailOf } from "../../domain/ThoughtCarrier.ts"
import { Malformed } from "../Provider.ts"
import { type CallBody, type CallHeaders } from "../transport/Transport.ts"
import { isJsonRecord, type JsonRecord, jsonRecordsOf, stringOf } from "../wire/Json.ts"
import { NativeEvents } from "../wire/NativeEvents.ts"
import { sameList, sentJson } from "../wire/SentJson.ts"
import { encryptedThought, ownThoughts, type ThoughtMaker, thoughtSignature, UNNAMED_FORMAT } from "../wire/Thoughts.ts"

/** Members of a request that the gateway reads, and the API does not know. */
const ours = new Set(["provider", "models", "session_id", "prompt_cache_key", "safety_identifier", "betas"])
/** The least thinking budget, and the largest share of the output limit that it may be. */
const BUDGET_MIN_TOKENS = 1_024
const LARGEST_SHARE = 0.95

export interface NativeFacts {
  readonly config: ProviderConfig
  readonly offer: ModelOffer
  readonly maker: ThoughtMaker
  /** Null: the client's. */
  readonly limitTokens: number | null
  readonly stream: boolean
}

export const nativeBody = (
  { body }: NativeRequest,
  { config, limitTokens, maker, offer, stream }: NativeFacts
): CallBody => {
  const kept = Object.fromEntries(Object.entries(body).filter(([name]) => !ours.has(name)))
  const limit = limitTokens ?? body["max_tokens"]
  const sent = {
    ...promptOf(kept, maker),
    ...fallbacksOf(body["fallbacks"], config),
    ...thinkingOf(body, limit),
    model: offer.upstream,
    max_tokens: limit,
    stream
  }
  return sentJson(sent, body["messages"])
}

/** The body of `count_tokens`: the prompt alone. */
export const countBody = (
  { body }: NativeRequest,
  { maker, offer }: Pick<NativeFacts, "maker" | "offer">
): CallBody => {
  const kept = Object.fromEntries(Object.entries(body).filter(([name]) => !ours.has(name)))
  return sentJson({ ...promptOf(kept, maker), model: offer.upstream }, body["messages"])
}

const promptOf = (body: Members, maker: ThoughtMaker): Members => {
  const messages = jsonRecordsOf(body["messages"])
  const own = messages.flatMap((message) => ownMessage(message, maker))
  return { ...body, messages: sameList(Array.isArray(body["messages"]) ? body["messages"] : [], own) }
}

/** A turn of thoughts of others alone is left out, because the API takes no empty turns. */
const ownMessage = (message: JsonRecord, maker: ThoughtMaker): ReadonlyArray<JsonRecord> => {
  const { content } = message
  if (message["role"] !== "assistant" || !Array.isArray(content) || !content.some(isThought)) return [message]
  const blocks: ReadonlyArray<unknown> = content
  const own = blocks.flatMap((block): ReadonlyArray<unknown> => (isThought(block) ? ownThought(block, maker) : [block]))
  return own.length === 0 ? [] : [{ ...message, content: own }]
}

const isThought = (block: unknown): block is JsonRecord =>
  isJsonRecord(block) && (block["type"] === "thinking" || block["type"] === "redacted_thinking")

/**
 * The thought as this vendor made it; none if another made it. A signature that is no carrier came
 * from the vendor by another way. Claude takes no thoughts without a signature.
 */
const ownThought = (block: JsonRecord, maker: ThoughtMaker): ReadonlyArray<JsonRecord> => {
  const member = block["type"] === "thinking" ? "signature" : "data"
  const carrier = stringOf(block[member]) ?? ""
  if (carrier === "") return maker.format === UNNAMED_FORMAT ? [block] : []
  const detail = detailOf(carrier)
  if (detail === null) return [block]
  const [own] = ownThoughts({ reasoning_details: [detail] }, maker)
  const value = stringOf(own?.[member])
  return value === null ? [] : [{ ...block, [member]: value }]
}

/** Further models, by the provider's names. */
const fallbacksOf = (fallbacks: unknown, { models }: ProviderConfig): Members => {
  if (!Array.isArray(fallbacks)) return {}
  const isNamed = ({ aliases, id }: ModelOffer, name: string): boolean =>
    id === name || id.endsWith(`/${name}`) || aliases?.[name] !== undefined
  const upstreamOf = (name: unknown): unknown =>
    typeof name === "string" ? (models.find((offer) => isNamed(offer, name))?.upstream ?? name) : name
  return {
    fallbacks: fallbacks.map((each: unknown) =>
      isJsonRecord(each) ? { ...each, model: upstreamOf(each["model"]) } : upstreamOf(each)
    )
  }
}

/** A thinking budget has to stay below the output limit, also where the key's budget lowers it. */
const thinkingOf = ({ thinking }: Members, limit: unknown): Members => {
  const budget = isJsonRecord(thinking) ? thinking["budget_tokens"] : undefined
  if (!isJsonRecord(thinking) || typeof budget !== "number" || typeof limit !== "number" || budget < limit) return {}
  const lower = Math.floor(limit * LARGEST_SHARE)
  return { thinking: lower < BUDGET_MIN_TOKENS ? { type: "disabled" } : { ...thinking, budget_tokens: lower } }
}

/** The client's headers for the vendor. Headers of the configuration count before them. */
export const nativeHeaders = (
  { body, headers }: NativeRequest,
  { auth, headers: own }: ProviderConfig
): CallHeaders => {
  const configured = new Map(Object.entries(own).map(([name, value]) => [name.toLowerCase(), value]))
  const kept = Object.entries(headers).filter(
    ([name]) => !configured.has(name) && !(auth.type === "header" && auth.name.toLowerCase() === name)
  )
  const asked = Array.isArray(body["betas"]) ? body["betas"].filter((beta) => /^[\w.-]{1,128}$/.test(String(beta))) : []
  const betas = [configured.get(BETA), headers[BETA], ...asked].flatMap((list) =>
    typeof list === "string" ? list.split(",").map((beta) => beta.trim()) : []
  )
  const all = [...new Set(betas)].filter((beta) => beta !== "").join(",")
  return { ...Object.fromEntries(kept), ...(all === "" ? {} : { [BETA]: all }) }
}

const BETA = "anthropic-beta"

/** A block with a carrier in place of its signature. */
const carriedBlock = (block: JsonRecord, maker: ThoughtMaker): JsonRecord => {
  const signature = stringOf(block["signature"]) ?? ""
  const data = stringOf(block["data"])
  if (block["type"] === "thinking" && signature !== "")
    return { ...block, signature: carriedSignature(signature, maker) }
  if (block["type"] !== "redacted_thinking" || data === null) return block
  return { ...block, data: carried(encryptedThought(maker, 0, data)) }
}

const carriedSignature = (signature: string, maker: ThoughtMaker): string =>
  carried(thoughtSignature(maker, 0, signature))

/** The reply with the vendor's body beside it. */
export const withNativeBody = (
  reply: ChatReply | Malformed,
  body: JsonRecord,
  maker: ThoughtMaker
): ChatReply | Malformed =>
  reply instanceof Malformed
    ? reply
    : {
        ...reply,
        native: { ...body, content: jsonRecordsOf(body["content"]).map((block) => carriedBlock(block, maker)) }
      }

/** The vendor's events, with carriers for signatures. The gateway's own pings fill silences. */
export const nativeEvents = (maker: ThoughtMaker): NativeEvents =>
  new NativeEvents({
    isSkipped: (type) => type === "ping",
    isLast: (type) => type === "message_delta" || type === "message_stop",
    carry: (event) => {
      const { content_block: block, delta } = event
      if (isJsonRecord(block)) return { ...event, content_block: carriedBlock(block, maker) }
      const signature = isJsonRecord(delta) && delta["type"] === "signature_delta" ? stringOf(delta["signature"]) : null
      return isJsonRecord(delta) && signature !== null && signature !== ""
        ? { ...event, delta: { ...delta, signature: carriedSignature(signature, maker) } }
        : event
    }
  })
