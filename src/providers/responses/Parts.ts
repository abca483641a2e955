/**
 * Lowers content parts to the Responses API's: text, images, files and audio, by URL, inline or by
 * the vendor's file id. Parts of other kinds are `Unsupported`. Empty texts are left out.
 */
import { Result } from "effect"
import { type ChatMessage } from "../../domain/Chat.ts"
import { Unsupported } from "../Provider.ts"
import { isJsonRecord, stringOf, type JsonRecord } from "../wire/Json.ts"

export type Lowered<A> = Result.Result<A, Unsupported>
type Content = ChatMessage["content"]

export const unsupported = (param: string, message: string): Result.Result<never, Unsupported> =>
  Result.fail(new Unsupported({ param, message }))

/** The parts of a message of the user, the developer or a tool. */
export const inputParts = (content: Content): Lowered<ReadonlyArray<JsonRecord>> =>
  typeof content === "string" ? Result.succeed(inputText(content)) : partsOf(content, inputPart)

/** The parts of a message of the assistant: texts and refusals. */
export const outputParts = (content: Content): Lowered<ReadonlyArray<JsonRecord>> =>
  typeof content === "string" ? Result.succeed(outputText(content)) : partsOf(content, outputPart)

export const refusalPart = (refusal: string): ReadonlyArray<JsonRecord> =>
  refusal === "" ? [] : [{ type: "refusal", refusal }]

const partsOf = (
  content: Exclude<Content, string>,
  lower: (part: JsonRecord) => Lowered<ReadonlyArray<JsonRecord>>
): Lowered<ReadonlyArray<JsonRecord>> =>
  Result.map(Result.all((content ?? []).map((part) => lower(part))), (parts) => parts.flat())

const inputText = (text: string): ReadonlyArray<JsonRecord> => (text === "" ? [] : [{ type: "input_text", text }])
const outputText = (text: string): ReadonlyArray<JsonRecord> => (text === "" ? [] : [{ type: "output_text", text }])

const inputPart = (part: JsonRecord): Lowered<ReadonlyArray<JsonRecord>> => {
  switch (part["type"]) {
    case "text":
    case "refusal":
      return Result.succeed(inputText(stringOf(part[part["type"]]) ?? ""))
    case "image_url":
      return Result.map(imageOf(part["image_url"]), (image) => [image])
    case "file":
      return Result.map(fileOf(part["file"]), (file) => [file])
    case "input_audio":
      return Result.succeed([{ type: "input_audio", input_audio: part["input_audio"] }])
    default:
      return unknownPart(part)
  }
}

const outputPart = (part: JsonRecord): Lowered<ReadonlyArray<JsonRecord>> => {
  if (part["type"] === "text") return Result.succeed(outputText(stringOf(part["text"]) ?? ""))
  return part["type"] === "refusal" ? Result.succeed(refusalPart(stringOf(part["refusal"]) ?? "")) : unknownPart(part)
}

const unknownPart = ({ type }: JsonRecord) => unsupported("messages", `a part of type ${String(type)}`)

/** The API requires a detail. */
const imageOf = (image: unknown): Lowered<JsonRecord> => {
  const url = stringOf(isJsonRecord(image) ? image["url"] : image)
  if (url === null) return unsupported("messages", "an image without a URL")
  const detail = isJsonRecord(image) ? stringOf(image["detail"]) : null
  return Result.succeed({ type: "input_image", image_url: url, detail: detail ?? "auto" })
}

const fileOf = (file: unknown): Lowered<JsonRecord> => {
  const { file_data, file_id, filename } = isJsonRecord(file) ? file : {}
  const name = typeof filename === "string" ? { filename } : {}
  if (typeof file_id === "string") return Result.succeed({ type: "input_file", file_id })
  if (typeof file_data !== "string") return unsupported("messages", "a file without file_data and file_id")
  return Result.succeed(
    /^https?:\/\//i.test(file_data)
      ? { type: "input_file", file_url: file_data }
      : { type: "input_file", file_data, ...name }
  )
}
