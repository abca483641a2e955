/**
 * Lowers a conversation to Bedrock's Converse: separate system prompts in their order, alternating
 * turns of user and assistant, content as blocks. Adjacent messages of one role form one turn, and
 * tool results belong to the user. Blank texts are dropped, because Bedrock rejects them. Content
 * without a block is `Unsupported`: images by URL, audio, arguments that are not a JSON object.
 */
import { Result } from "effect"
import { type ChatMessage, type ChatRequest } from "../../domain/Chat.ts"
import { Unsupported } from "../Provider.ts"
import { type CommonMessage, inCommonRoles } from "../wire/CommonRoles.ts"
import { parseJson } from "../../domain/Json.ts"
import { isJsonRecord, stringOf, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"

type Block = JsonRecord
type Blocks = Result.Result<ReadonlyArray<Block>, Unsupported>

export interface BedrockConversation {
  readonly system: ReadonlyArray<Block>
  readonly messages: ReadonlyArray<{ readonly role: "user" | "assistant"; readonly content: ReadonlyArray<Block> }>
}

const imageFormats: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpeg",
  "image/jpg": "jpeg",
  "image/gif": "gif",
  "image/webp": "webp"
}
const documentFormats: Readonly<Record<string, string>> = {
  "application/pdf": "pdf",
  "text/csv": "csv",
  "text/html": "html",
  "text/plain": "txt",
  "text/markdown": "md"
}

const unsupported = (message: string): Result.Result<never, Unsupported> =>
  Result.fail(new Unsupported({ param: "messages", message }))

/**
 * Lowers the conversation. `asText` writes tool calls and results as text: Bedrock accepts their
 * blocks only in requests with tools.
 */
export const lowerMessages = (
  messages: ChatRequest["messages"],
  asText: boolean
): Result.Result<BedrockConversation, Unsupported> =>
  Result.gen(function* () {
    const system: Array<Block> = []
    const turns: Array<{ role: "user" | "assistant"; content: Array<Block> }> = []
    for (const message of inCommonRoles(messages)) {
      const blocks = yield* blocksOf(message, asText)
      if (message.role === "system") {
        system.push(...blocks)
        continue
      }
      const role = message.role === "assistant" ? "assistant" : "user"
      const last = turns.at(-1)
      if (blocks.length === 0) continue
      if (last?.role === role) last.content.push(...blocks)
      else turns.push({ role, content: [...blocks] })
    }
    return { system, messages: withoutTrailingBlank(turns) }
  })

const blocksOf = (message: CommonMessage, asText: boolean): Blocks => {
  switch (message.role) {
    case "system":
      return Result.flatMap(contentOf(message.content), (blocks) =>
        blocks.every((block) => "text" in block || "cachePoint" in block)
          ? Result.succeed(blocks)
          : unsupported("a system message can only be text here")
      )
    case "user":
      return contentOf(message.content)
    case "assistant":
      return assistantOf(message, asText)
    case "tool":
      return Result.map(contentOf(message.content), (content) => toolResult(message, content, asText))
  }
}

const assistantOf = (message: ChatMessage, asText: boolean): Blocks =>
  Result.gen(function* () {
    const content = yield* contentOf(message.content)
    const calls: Array<Block> = []
    for (const call of jsonRecordsOf(message.tool_calls)) calls.push(yield* toolUse(call, asText))
    return [...reasoningOf(message), ...content, ...text(message.refusal ?? ""), ...calls]
  })

/**
 * Reasoning that its model signed or encrypted is returned to it. Bedrock rejects unsigned
 * reasoning, so it is dropped.
 */
const reasoningOf = (message: ChatMessage): ReadonlyArray<Block> =>
  jsonRecordsOf(message["reasoning_details"]).flatMap((detail): ReadonlyArray<Block> => {
    const [thought, signature, data] = [detail["text"], detail["signature"], detail["data"]]
    if (typeof data === "string") return [{ reasoningContent: { redactedContent: data } }]
    return typeof thought === "string" && typeof signature === "string"
      ? [{ reasoningContent: { reasoningText: { text: thought, signature } } }]
      : []
  })

const toolUse = (call: JsonRecord, asText: boolean): Result.Result<Block, Unsupported> => {
  const named = isJsonRecord(call["function"]) ? call["function"] : {}
  const name = stringOf(named["name"]) ?? ""
  const given = stringOf(named["arguments"])?.trim() ?? ""
  if (asText) return Result.succeed({ text: `[called ${name} with ${given || "{}"}]` })
  const input = given === "" ? {} : parseJson(given)
  return isJsonRecord(input)
    ? Result.succeed({ toolUse: { toolUseId: stringOf(call["id"]) ?? "", name, input } })
    : unsupported(`the arguments of the call of ${name} are not a JSON object`)
}

const toolResult = (message: ChatMessage, content: ReadonlyArray<Block>, asText: boolean): ReadonlyArray<Block> => {
  if (asText) return [{ text: "[its result]" }, ...content]
  const cachePoints = content.filter((block) => "cachePoint" in block)
  const rest = content.filter((block) => !("cachePoint" in block))
  return [{ toolResult: { toolUseId: message.tool_call_id ?? "", content: rest } }, ...cachePoints]
}

const contentOf = (content: ChatMessage["content"]): Blocks => {
  if (content === null || content === undefined) return Result.succeed([])
  if (typeof content === "string") return Result.succeed(text(content))
  return Result.map(Result.all(content.map(partOf)), (blocks) => blocks.flat())
}

const text = (content: string): ReadonlyArray<Block> => (content.trim() === "" ? [] : [{ text: content }])

/**
 * Lowers one part. Its `cache_control`, as clients of Anthropic and OpenRouter write it, becomes a
 * cache point after it.
 */
const partOf = (part: Readonly<Record<string, unknown>>): Blocks =>
  Result.map(partBlock(part), (blocks) =>
    blocks.length > 0 && isJsonRecord(part["cache_control"]) ? [...blocks, { cachePoint: { type: "default" } }] : blocks
  )

const partBlock = (part: Readonly<Record<string, unknown>>): Blocks => {
  switch (part["type"]) {
    case "text":
      return Result.succeed(text(stringOf(part["text"]) ?? ""))
    case "refusal":
      return Result.succeed(text(stringOf(part["refusal"]) ?? ""))
    case "image_url":
      return imageOf(part["image_url"])
    case "file":
      return documentOf(isJsonRecord(part["file"]) ? part["file"] : {})
    default:
      return unsupported(`content of type ${String(part["type"])} is not supported`)
  }
}

const imageOf = (image: unknown): Blocks => {
  const data = dataUrl(isJsonRecord(image) ? image["url"] : image)
  if (data === null) return unsupported("images must be data: URLs in base64")
  const format = imageFormats[data.type]
  return format === undefined
    ? unsupported("images must be PNG, JPEG, GIF or WebP")
    : Result.succeed([{ image: { format, source: { bytes: data.base64 } } }])
}

/** Document names may contain letters, digits, single spaces and a few punctuation marks. */
const documentOf = (file: JsonRecord): Blocks => {
  const data = dataUrl(file["file_data"])
  if (data === null) return unsupported("files must be data: URLs in base64")
  const format = documentFormats[data.type]
  if (format === undefined) return unsupported("files must be PDF, CSV, HTML, plain text or Markdown")
  const name = (stringOf(file["filename"]) ?? "").replaceAll(/[^\w()[\]-]+|_/g, " ").trim() || "document"
  return Result.succeed([{ document: { format, name, source: { bytes: data.base64 } } }])
}

const dataUrl = (url: unknown): { readonly type: string; readonly base64: string } | null => {
  const [, type, base64] = (typeof url === "string" ? /^data:([^;,]+)(?:;[^;,]+)*;base64,(.*)$/s.exec(url) : null) ?? []
  return type === undefined || base64 === undefined ? null : { type: type.toLowerCase(), base64 }
}

/** Trims a trailing assistant turn (a prefill), which must not end with whitespace. */
const withoutTrailingBlank = (turns: BedrockConversation["messages"]): BedrockConversation["messages"] => {
  const last = turns.at(-1)
  const trailing = last?.content.at(-1)?.["text"]
  if (last?.role !== "assistant" || typeof trailing !== "string") return turns
  return [
    ...turns.slice(0, -1),
    { role: last.role, content: [...last.content.slice(0, -1), { text: trailing.trimEnd() }] }
  ]
}
