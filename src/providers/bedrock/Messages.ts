/**
 * Lowers a conversation to Bedrock's Converse: separate system prompts in their order, alternating
 * turns of user and assistant, content as blocks. Adjacent messages of one role form one turn, and
 * tool results belong to the user, before what the user says. Thoughts that this provider signed go
 * back to their places. Blank texts are dropped, because Bedrock rejects them. Content without a
 * block is `Unsupported`: images by URL, audio, arguments that are not a JSON object.
 */
import { Result } from "effect"
import { resultFn, type StepsOf } from "../../domain/runtime/ResultFn.ts"
import { addAll } from "../../domain/runtime/AddAll.ts"
import { type ChatMessage, type ChatRequest } from "../../domain/Chat.ts"
import { Unsupported } from "../Provider.ts"
import { type CommonMessage, inCommonRoles } from "../wire/CommonRoles.ts"
import { parseJson } from "../../domain/json/Json.ts"
import { isJsonRecord, stringOf, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"
import { ownThoughts, type PlacedBlock, type ThoughtMaker, withThoughts } from "../wire/Thoughts.ts"

type Block = JsonRecord
type Blocks = Result.Result<ReadonlyArray<Block>, Unsupported>

export interface BedrockConversation {
  readonly system: ReadonlyArray<Block>
  readonly messages: ReadonlyArray<{ readonly role: "user" | "assistant"; readonly content: ReadonlyArray<Block> }>
  /** True if it ends with assistant text that the model must continue. */
  readonly isPrefilled: boolean
  /** True if the model is in the middle of calling tools and its thoughts are missing. */
  readonly lacksThoughts: boolean
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

/** How messages are lowered. */
interface Form {
  /** Tool calls and results are written as text: Bedrock accepts their blocks only beside tools. */
  readonly asText: boolean
  /** The marks of this provider's thoughts. */
  readonly maker: ThoughtMaker
}

export const lowerMessages = resultFn(function* (
  messages: ChatRequest["messages"],
  form: Form
): StepsOf<Result.Result<BedrockConversation, Unsupported>> {
  const system: Array<Block> = []
  const turns: Array<Turn> = []
  for (const message of inCommonRoles(messages)) {
    const blocks = yield* blocksOf(message, form)
    if (message.role === "system") {
      addAll(system, blocks)
      continue
    }
    const role = message.role === "assistant" ? "assistant" : "user"
    if (blocks.length === 0) continue
    let last = turns.at(-1)
    if (last?.role !== role) turns.push((last = { role, results: [], content: [] }))
    // Bedrock rejects results that do not come first in their turn.
    if (message.role === "tool" && !form.asText) addAll(last.results, blocks)
    else addAll(last.content, blocks)
  }
  const last = turns.at(-1)
  const isPrefilled = last?.role === "assistant" && !last.content.some(isCall)
  if (isPrefilled) last.content = trimmed(last.content)
  return {
    system,
    messages: turns.map(({ content, results, role }) => ({ role, content: [...results, ...content] })),
    isPrefilled,
    lacksThoughts: lacksThoughts(turns)
  }
})

interface Turn {
  readonly role: "user" | "assistant"
  /** Tool results, with their cache points. */
  readonly results: Array<Block>
  content: Array<Block>
}

const isCall = (block: Block): boolean => "toolUse" in block

/**
 * The turns since the user last spoke are one to Claude, which wants a thought at its beginning.
 */
const lacksThoughts = (turns: ReadonlyArray<Turn>): boolean => {
  const spoken = turns.findLastIndex(({ results, role }) => role === "user" && results.length === 0)
  const answers = turns.slice(spoken + 1).filter(({ role }) => role === "assistant")
  const begins = ({ content: [first] }: Turn): boolean => first !== undefined && "reasoningContent" in first
  return (answers.at(-1)?.content.some(isCall) ?? false) && !answers.some(begins)
}

const blocksOf = (message: CommonMessage, form: Form): Blocks => {
  switch (message.role) {
    case "system":
      return Result.flatMap(contentOf(message), (blocks) =>
        blocks.every((block) => "text" in block || "cachePoint" in block)
          ? Result.succeed(blocks)
          : unsupported("a system message can only be text here")
      )
    case "user":
      return contentOf(message)
    case "assistant":
      return assistantOf(message, form)
    case "tool":
      return Result.map(contentOf(message), (content) => toolResult(message, content, form.asText))
  }
}

const assistantOf = resultFn(function* (message: ChatMessage, { asText, maker }: Form): StepsOf<Blocks> {
  const content = yield* partsOf(message.content)
  const calls: Array<Block> = []
  for (const call of jsonRecordsOf(message.tool_calls)) calls.push(yield* toolUse(call, asText))
  const said = withThoughts(thoughtsOf(message, maker), [...content, ...text(message.refusal ?? "")], calls)
  return withCachePoint(said, message)
})

/** Bedrock rejects unsigned reasoning, so it is dropped. */
const thoughtsOf = (message: ChatMessage, maker: ThoughtMaker): ReadonlyArray<PlacedBlock> =>
  ownThoughts(message, maker).flatMap((detail): ReadonlyArray<PlacedBlock> => {
    const { data, index, signature, text } = detail
    if (typeof data === "string") return [{ at: index, block: { reasoningContent: { redactedContent: data } } }]
    if (typeof text !== "string" || typeof signature !== "string") return []
    return [{ at: index, block: { reasoningContent: { reasoningText: { text, signature } } } }]
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

/** A message's `cache_control` becomes a cache point after it. */
const contentOf = (message: ChatMessage): Blocks =>
  Result.map(partsOf(message.content), (blocks) => withCachePoint(blocks, message))

const withCachePoint = (blocks: ReadonlyArray<Block>, { cache_control: control }: JsonRecord): ReadonlyArray<Block> => {
  const last = blocks.at(-1)
  return last === undefined || "cachePoint" in last || !isJsonRecord(control)
    ? blocks
    : [...blocks, cachePoint(control)]
}

/** `ttl`: how long the cache lasts, such as `1h`. */
export const cachePoint = ({ ttl }: JsonRecord): Block => ({
  cachePoint: { type: "default", ...(typeof ttl === "string" && ttl !== "5m" ? { ttl } : {}) }
})

const partsOf = (content: ChatMessage["content"]): Blocks => {
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
  Result.map(partBlock(part), (blocks) => withCachePoint(blocks, part))

const partBlock = (part: Readonly<Record<string, unknown>>): Blocks => {
  switch (part["type"]) {
    case "text":
      return Result.succeed(text(stringOf(part["text"]) ?? ""))
    case "refusal":
      return Result.succeed(text(stringOf(part["refusal"]) ?? ""))
    case "image_url":
      return imageOf(part["image_url"])
    case "file":
      return documentOf(isJsonRecord(part["file"]) ? part["file"] : {}, part)
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
const documentOf = (file: JsonRecord, { citations, context }: JsonRecord): Blocks => {
  const data = dataUrl(file["file_data"])
  if (data === null) return unsupported("files must be data: URLs in base64")
  const format = documentFormats[data.type]
  if (format === undefined) return unsupported("files must be PDF, CSV, HTML, plain text or Markdown")
  const name = (stringOf(file["filename"]) ?? "").replaceAll(/[^\w()[\]-]+|_/g, " ").trim() || "document"
  const options = {
    ...(isJsonRecord(citations) ? { citations: { enabled: citations["enabled"] === true } } : {}),
    ...(typeof context === "string" ? { context } : {})
  }
  return Result.succeed([{ document: { format, name, source: { bytes: data.base64 }, ...options } }])
}

const dataUrl = (url: unknown): { readonly type: string; readonly base64: string } | null => {
  const [, type, base64] = (typeof url === "string" ? /^data:([^;,]+)(?:;[^;,]+)*;base64,(.*)$/s.exec(url) : null) ?? []
  return type === undefined || base64 === undefined ? null : { type: type.toLowerCase(), base64 }
}

/** A prefill must not contain thoughts, nor end with whitespace. */
const trimmed = (content: ReadonlyArray<Block>): Array<Block> => {
  const said = content.filter((block) => !("reasoningContent" in block))
  const trailing = said.at(-1)?.["text"]
  return typeof trailing === "string" ? [...said.slice(0, -1), { text: trailing.trimEnd() }] : said
}
