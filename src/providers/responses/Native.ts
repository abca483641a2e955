/**
 * The native lane: a client's own request of the Responses API goes to the vendor as it is, except
 * for the name of the model, the output limit, the stream flag, `store: false`, ids of items that
 * the vendor would look up, and reasoning of other providers; and the vendor's events and bodies
 * come back as they are. Encrypted reasoning leaves the gateway as a carrier, which names this
 * provider, and goes back to the vendor byte for byte.
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
import { encryptedThought, ownThoughts } from "../wire/Thoughts.ts"
import { encryptedOf, FORMAT } from "./Reasoning.ts"
import { LEAST_OUTPUT_TOKENS } from "./Request.ts"

/** Members of a request that the gateway reads, and the API does not know or may not do. */
const ours = new Set(["provider", "models", "session_id", "previous_response_id", "background"])

export interface NativeFacts {
  readonly offer: ModelOffer
  /** The provider's slug. */
  readonly maker: string
  /** Null: none. */
  readonly limitTokens: number | null
  readonly stream: boolean
}

export const nativeBody = ({ body }: NativeRequest, { limitTokens, maker, offer, stream }: NativeFacts): CallBody => {
  const kept = Object.fromEntries(Object.entries(body).filter(([name]) => !ours.has(name)))
  const { input } = body
  const sent = {
    ...kept,
    ...(Array.isArray(input) ? { input: ownItems(input, maker) } : {}),
    model: offer.upstream,
    ...(limitTokens === null ? {} : { max_output_tokens: Math.max(LEAST_OUTPUT_TOKENS, limitTokens) }),
    store: false,
    stream
  }
  return sentJson(sent, input)
}

/** Items whose id another item refers to, or without which the API does not take them. */
const isNamed = (type: unknown): boolean =>
  typeof type === "string" && /^(?:mcp_|web_search|file_search|code_interpreter|image_generation|computer)/.test(type)

const ownItems = (input: ReadonlyArray<unknown>, maker: string): ReadonlyArray<unknown> =>
  sameList(
    input,
    jsonRecordsOf(input).flatMap((item) => ownItem(item, maker))
  )

/** Nothing is stored at the vendor, so it would not find an item by its id. */
const ownItem = (item: JsonRecord, maker: string): ReadonlyArray<JsonRecord> => {
  if (isNamed(item["type"])) return [item]
  if (!("id" in item)) return item["type"] === "reasoning" ? ownReasoning(item, maker) : [item]
  const { id: _, ...rest } = item
  return item["type"] === "reasoning" ? ownReasoning(rest, maker) : [rest]
}

/**
 * The reasoning as this vendor made it; none if another made it. Encrypted content that is no
 * carrier came from the vendor by another way. Reasoning without it is left out, unless it is text
 * of an open model.
 */
const ownReasoning = (item: JsonRecord, maker: string): ReadonlyArray<JsonRecord> => {
  const sealed = encryptedOf(item)
  if (sealed === null) return jsonRecordsOf(item["content"]).length > 0 ? [item] : []
  const detail = detailOf(sealed)
  if (detail === null) return [item]
  const [own] = ownThoughts({ reasoning_details: [detail] }, { format: FORMAT, provider: maker })
  const data = stringOf(own?.["data"])
  return data === null ? [] : [{ ...item, encrypted_content: data }]
}

/** The client's headers for the vendor. Headers of the configuration count before them. */
export const nativeHeaders = ({ headers }: NativeRequest, { headers: own }: ProviderConfig): CallHeaders => {
  const configured = new Set(Object.keys(own).map((name) => name.toLowerCase()))
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !configured.has(name)))
}

/** A reasoning item with a carrier in place of what is encrypted. */
const carriedItem = (item: JsonRecord, maker: string): JsonRecord => {
  const data = item["type"] === "reasoning" ? encryptedOf(item) : null
  if (data === null) return item
  const id = stringOf(item["id"])
  const detail = encryptedThought({ format: FORMAT, provider: maker }, 0, data)
  return { ...item, encrypted_content: carried(id === null ? detail : { ...detail, id }) }
}

const carriedOutput = (response: JsonRecord, maker: string): JsonRecord => ({
  ...response,
  output: jsonRecordsOf(response["output"]).map((item) => carriedItem(item, maker))
})

/** The reply with the vendor's body beside it. */
export const withNativeBody = (reply: ChatReply | Malformed, body: JsonRecord, maker: string): ChatReply | Malformed =>
  reply instanceof Malformed ? reply : { ...reply, native: carriedOutput(body, maker) }

const beginnings = new Set<unknown>(["response.created", "response.queued", "response.in_progress"])
const endings = new Set<unknown>(["response.completed", "response.incomplete"])

/** The vendor's events. The gateway begins the response itself, and fills silences. */
export const nativeEvents = (maker: string): NativeEvents =>
  new NativeEvents({
    isSkipped: (type) => beginnings.has(type),
    isLast: (type) => endings.has(type),
    carry: (event): Members => {
      const { item, response } = event
      return {
        ...event,
        ...(isJsonRecord(item) ? { item: carriedItem(item, maker) } : {}),
        ...(isJsonRecord(response) ? { response: carriedOutput(response, maker) } : {})
      }
    }
  })
