/**
 * Lowers content parts to blocks of the Messages API: text, images and documents, by URL or inline.
 * The API's own images, documents and search results are passed on. A part's `cache_control` is
 * kept. Other media, and files stored at another vendor, are `Unsupported`.
 */
import { Result } from "effect"
import { type Role } from "../../domain/Chat.ts"
import { Unsupported } from "../Provider.ts"
import { isJsonRecord, stringOf, type JsonRecord } from "../wire/Json.ts"

export type Block = Readonly<Record<string, unknown>>

const imageTypes = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"])
const dataUrl = /^data:([^;,]+)(?:;[^;,]+)*?(;base64)?,(.*)$/s

const unsupported = (message: string) => Result.fail(new Unsupported({ param: "messages", message }))

/** One block, or none: the API rejects texts of whitespace alone. */
export const textBlock = (text: string): ReadonlyArray<Block> => (text.trim() === "" ? [] : [{ type: "text", text }])

export const blockOf = (part: JsonRecord, role: Role): Result.Result<ReadonlyArray<Block>, Unsupported> => {
  const kind = stringOf(part["type"]) ?? ""
  if (kind === "text" || kind === "refusal") {
    return Result.succeed(textBlock(stringOf(part[kind]) ?? "").map((block) => cached(block, part)))
  }
  if (role === "system" || role === "assistant") return unsupported(`a part of type ${kind} in a ${role} message`)
  if (kind === "image_url") return Result.map(imageOf(part), (block) => [cached(block, part)])
  if (kind === "file") return Result.map(documentOf(part), (block) => [cached({ ...block, ...optionsOf(part) }, part)])
  if (ownKinds.has(kind)) return Result.succeed([part])
  return unsupported(`a part of type ${kind}`)
}

/** Kinds of the API itself, whose blocks are sent as received. */
const ownKinds = new Set(["image", "document", "search_result"])

/** The block with the `cache_control` of the part, the message or the tool that it is made of. */
export const cached = (block: Block, { cache_control }: Readonly<Record<string, unknown>>): Block =>
  isJsonRecord(cache_control) ? { ...block, cache_control } : block

/** What a client asks of a document: citations, and a context that is not cited. */
const optionsOf = ({ citations, context }: JsonRecord): Block => ({
  ...(isJsonRecord(citations) ? { citations } : {}),
  ...(typeof context === "string" ? { context } : {})
})

const imageOf = ({ image_url }: JsonRecord): Result.Result<Block, Unsupported> => {
  const url = stringOf(isJsonRecord(image_url) ? image_url["url"] : image_url) ?? ""
  if (isAddress(url)) return Result.succeed({ type: "image", source: { type: "url", url } })
  const [, declared = "", base64, data = ""] = dataUrl.exec(url) ?? []
  const media_type = declared.toLowerCase().replace("image/jpg", "image/jpeg")
  if (base64 === undefined) return unsupported("an image is an http address or a base64 data URL")
  return imageTypes.has(media_type)
    ? Result.succeed({ type: "image", source: { type: "base64", media_type, data } })
    : unsupported(`an image of type ${media_type}: JPEG, PNG, GIF and WebP are supported`)
}

const documentOf = ({ file }: JsonRecord): Result.Result<Block, Unsupported> => {
  const url = stringOf(isJsonRecord(file) ? file["file_data"] : null)
  const title = stringOf(isJsonRecord(file) ? file["filename"] : null)
  const document = (source: Block) => Result.succeed({ type: "document", source, ...(title === null ? {} : { title }) })
  if (url === null) return unsupported("a file without file_data")
  if (isAddress(url)) return document({ type: "url", url })
  const [, media_type, base64, data = ""] = dataUrl.exec(url) ?? []
  if (base64 !== undefined && media_type === "application/pdf") return document({ type: "base64", media_type, data })
  if (base64 !== undefined && media_type === "text/plain") {
    return document({ type: "text", media_type, data: Buffer.from(data, "base64").toString("utf8") })
  }
  return unsupported(`a file of type ${media_type ?? "unknown"}: PDF and plain text are supported`)
}

const isAddress = (url: string): boolean => /^https?:\/\//i.test(url)
