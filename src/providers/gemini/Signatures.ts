/**
 * Gemini's thought signatures. A signature belongs to one part: a call, a text, an image or a
 * thought. Calls and images hold it where Google's OpenAI-compatible endpoint puts it
 * (`extra_content`). A text's is an encrypted detail of the message's reasoning, with the part of
 * `content` that it signs. The provider that made a signature gets it back; others get nothing of
 * it.
 */
import { Result } from "effect"
import { type ChatMessage } from "../../domain/Chat.ts"
import { isJsonRecord, type JsonRecord, jsonRecordsOf, stringOf } from "../wire/Json.ts"
import { encryptedThought, ownThoughts, type ThoughtMaker, thoughtText } from "../wire/Thoughts.ts"
import { partsOf } from "./Parts.ts"

const FORMAT = "google-gemini-v1"

/** `provider`: the slug. */
export const geminiMaker = (provider: string): ThoughtMaker => ({ format: FORMAT, provider })

// reading

/** The members of a call or an image for its signature. */
export const signed = (signature: unknown, { provider }: ThoughtMaker) =>
  typeof signature === "string" ? { extra_content: { google: { thought_signature: signature, provider } } } : {}

/** `from` and `to` count the content in UTF-16 code units. */
export const textSignature = (
  maker: ThoughtMaker,
  index: number,
  signature: string,
  from: number,
  to: number
): JsonRecord => ({ ...encryptedThought(maker, index, signature), from, to })

export const signedThought = (maker: ThoughtMaker, index: number, text: string, signature: string): JsonRecord =>
  thoughtText(maker, index, text, signature)

// lowering

/** Null if there is none, or another provider made it. */
export const callSignature = ({ extra_content }: JsonRecord, { provider }: ThoughtMaker): string | null => {
  const google = isJsonRecord(extra_content) ? extra_content["google"] : undefined
  if (!isJsonRecord(google) || (typeof google["provider"] === "string" && google["provider"] !== provider)) return null
  return stringOf(google["thought_signature"])
}

/** Thoughts with a signature. Gemini takes no others back. */
export const thoughtParts = (message: ChatMessage, maker: ThoughtMaker): ReadonlyArray<JsonRecord> =>
  ownThoughts(message, maker).flatMap(({ signature, text }) =>
    typeof text === "string" && typeof signature === "string"
      ? [{ text, thought: true, thoughtSignature: signature }]
      : []
  )

/** The content in the parts in which it was signed. */
export const signedText = (message: ChatMessage, content: string, maker: ThoughtMaker): ReadonlyArray<JsonRecord> => {
  const parts: Array<JsonRecord> = []
  let at = 0
  const add = (end: number) => {
    if (end > at) parts.push({ text: content.slice(at, end) })
    at = Math.max(at, end)
  }
  for (const { data, from, to } of ownThoughts(message, maker)) {
    if (typeof data !== "string" || typeof from !== "number" || typeof to !== "number") continue
    if (!(from >= at && to >= from && to <= content.length)) continue
    add(from)
    parts.push({ text: content.slice(from, to), thoughtSignature: data })
    at = to
  }
  add(content.length)
  return parts
}

/** Images that a model made, for it to go on from. */
export const imageParts = (message: ChatMessage, maker: ThoughtMaker) =>
  Result.all(
    jsonRecordsOf(message["images"]).map((image) => {
      const signature = callSignature(image, maker)
      const { image_url, type } = image
      return Result.map(partsOf([{ type, image_url }]), (parts) =>
        parts.map((part) => (signature === null ? part : { ...part, thoughtSignature: signature }))
      )
    })
  ).pipe(Result.map((parts) => parts.flat()))
