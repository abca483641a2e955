/**
 * Lowers message contents to Gemini's parts: text, images, audio, video and files, inline from
 * `data:` URLs or by address. Files stored at another vendor and unknown kinds are `Unsupported`.
 */
import { Result } from "effect"
import { type ChatMessage } from "../../domain/Chat.ts"
import { Unsupported } from "../Provider.ts"
import { isJsonRecord, stringOf, type JsonRecord } from "../wire/Json.ts"

type Content = ChatMessage["content"]
type Refused<A> = Result.Result<A, Unsupported>

const refuse = (message: string): Result.Result<never, Unsupported> =>
  Result.fail(new Unsupported({ param: "messages", message }))

/** Media types by the file extension of an address. */
const mediaTypes: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  webp: "image/webp",
  gif: "image/gif",
  heic: "image/heic",
  heif: "image/heif",
  pdf: "application/pdf",
  mp4: "video/mp4",
  webm: "video/webm",
  mov: "video/quicktime",
  mp3: "audio/mp3",
  wav: "audio/wav"
}

/** Parts in their order. Empty texts are dropped, because Gemini rejects them. */
export const partsOf = (content: Content): Refused<ReadonlyArray<JsonRecord>> => {
  if (content === undefined || content === null || content === "") return Result.succeed([])
  if (typeof content === "string") return Result.succeed([{ text: content }])
  return Result.map(Result.all(content.map(partOf)), (parts) => parts.filter((part) => part["text"] !== ""))
}

/** The text of content that can only be text: a system prompt or a tool result. */
export const textOf = (content: Content, of: string): Refused<string> =>
  Result.flatMap(partsOf(content), (parts) => {
    const texts = parts.map((part) => stringOf(part["text"]))
    return texts.includes(null) ? refuse(`${of} supports text only here`) : Result.succeed(texts.join(""))
  })

const partOf = (part: JsonRecord): Refused<JsonRecord> => {
  switch (part["type"]) {
    case "text":
      return Result.succeed({ text: stringOf(part["text"]) ?? "" })
    case "refusal":
      return Result.succeed({ text: stringOf(part["refusal"]) ?? "" })
    case "image_url":
    case "video_url":
      return mediaAt(addressOf(part[part["type"]]))
    case "input_audio": {
      const audio = isJsonRecord(part["input_audio"]) ? part["input_audio"] : {}
      const mimeType = `audio/${stringOf(audio["format"]) ?? "wav"}`
      return Result.succeed({ inlineData: { mimeType, data: stringOf(audio["data"]) ?? "" } })
    }
    case "file":
      return mediaAt(isJsonRecord(part["file"]) ? stringOf(part["file"]["file_data"]) : null)
    default:
      return refuse(`content of type ${JSON.stringify(part["type"] ?? null)} is not supported here`)
  }
}

const addressOf = (value: unknown): string | null => (isJsonRecord(value) ? stringOf(value["url"]) : stringOf(value))

const mediaAt = (address: string | null): Refused<JsonRecord> => {
  if (address?.startsWith("data:") === true) return inline(address)
  if (address === null || !/^(https?|gs):\/\//.test(address))
    return refuse("media must come as a data: URL or an http(s) address here")
  const ending = URL.parse(address)?.pathname.split(".").at(-1)?.toLowerCase()
  const mimeType = mediaTypes[ending ?? ""]
  return Result.succeed({ fileData: { ...(mimeType === undefined ? {} : { mimeType }), fileUri: address } })
}

/** `data:<type>;base64,<data>`. Percent-encoded data is re-encoded to base64. */
const inline = (address: string): Refused<JsonRecord> => {
  const comma = address.indexOf(",")
  if (comma < 0) return refuse("a data: URL has no data")
  const header = address.slice("data:".length, comma)
  const data = address.slice(comma + 1)
  const mimeType = header.split(";")[0] || "text/plain"
  if (header.endsWith(";base64")) return Result.succeed({ inlineData: { mimeType, data } })
  return Result.match(
    Result.try(() => decodeURIComponent(data)),
    {
      onFailure: () => refuse("the encoding of a data: URL is invalid"),
      onSuccess: (text) =>
        Result.succeed({ inlineData: { mimeType, data: Buffer.from(text, "utf8").toString("base64") } })
    }
  )
}
