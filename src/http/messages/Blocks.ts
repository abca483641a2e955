/**
 * Blocks of the Messages API as content parts of a chat completion: texts, pictures, documents,
 * search results. A document of text becomes text, so that the privacy guard searches it. Files
 * that are stored at the vendor, and unknown kinds, are beyond a chat completion.
 */
import { Predicate, Result } from "effect"
import { type Members } from "../../domain/Chat.ts"
import { InvalidRequest } from "../../domain/Errors.ts"
import { type Beyond } from "./Beyond.ts"

/** A fault of the request itself. */
export type Read<A> = Result.Result<A, InvalidRequest>

/** `param`: the place of the fault, such as `messages.0.content`. */
export const refused = (param: string, message: string, code = "unsupported_parameter") =>
  Result.fail(new InvalidRequest({ message: `${param}: ${message}`, param, code, provider: null }))

export const textOf = (value: unknown): string => (typeof value === "string" ? value : "")
export const membersOf = (value: unknown): Members => (Predicate.isObject(value) ? { ...value } : {})
export const blocksIn = (value: unknown): ReadonlyArray<Members> =>
  Array.isArray(value) ? value.filter(Predicate.isObject).map((block) => ({ ...block })) : []

/** The mark of a place up to which the provider caches the prompt. */
export const marked = ({ cache_control }: Members): Members =>
  Predicate.isObject(cache_control) ? { cache_control } : {}

/** The parts of a content. Empty texts are left out: providers refuse them. */
export const partsOf = (content: unknown, place: string, beyond: Beyond): ReadonlyArray<Members> =>
  typeof content === "string"
    ? textParts(content)
    : blocksIn(content).flatMap((block, at) => partsOfBlock(block, `${place}.${at}`, beyond))

const textParts = (text: string, more: Members = {}): ReadonlyArray<Members> =>
  text === "" ? [] : [{ type: "text", text, ...more }]

export const partsOfBlock = (block: Members, place: string, beyond: Beyond): ReadonlyArray<Members> => {
  switch (block["type"]) {
    case "text":
      return textParts(textOf(block["text"]), marked(block))
    case "image":
      return imageOf(block, place, beyond)
    case "document":
      return documentOf(block, place, beyond)
    case "search_result":
      return [
        ...textParts(`${textOf(block["title"])}\n${textOf(block["source"])}`),
        ...partsOf(block["content"], `${place}.content`, beyond)
      ]
    default:
      return beyond.part(block, place, needsMessages(block))
  }
}

/** Why a block is beyond a chat completion. */
export const needsMessages = (block: Members): string =>
  `blocks of type ${kindOf(block)} need a provider of the Messages API.`

/** The type of a block, as it is told to the client. */
export const kindOf = ({ type }: Members): string =>
  typeof type === "string" && /^\w{1,64}$/.test(type) ? type : "unknown"

const imageOf = (block: Members, place: string, beyond: Beyond): ReadonlyArray<Members> => {
  const source = membersOf(block["source"])
  const url =
    source["type"] === "base64"
      ? `data:${textOf(source["media_type"])};base64,${textOf(source["data"])}`
      : source["type"] === "url"
        ? textOf(source["url"])
        : null
  return url === null
    ? beyond.part(
        block,
        `${place}.source`,
        `a picture of source ${kindOf(source)} cannot be passed on. Send base64 or url.`
      )
    : [{ type: "image_url", image_url: { url }, ...marked(block) }]
}

const documentOf = (block: Members, place: string, beyond: Beyond): ReadonlyArray<Members> => {
  const source = membersOf(block["source"])
  const title = textOf(block["title"])
  const heading = textParts([title, textOf(block["context"])].filter((text) => text !== "").join("\n"))
  const file = (data: string) => {
    const { citations, context } = block
    return [
      {
        type: "file",
        file: { filename: title === "" ? "document.pdf" : title, file_data: data },
        ...(Predicate.isObject(citations) ? { citations } : {}),
        ...(typeof context === "string" ? { context } : {}),
        ...marked(block)
      }
    ]
  }
  switch (source["type"]) {
    case "base64":
      return file(`data:${textOf(source["media_type"])};base64,${textOf(source["data"])}`)
    case "url":
      return file(textOf(source["url"]))
    case "text":
      return [...heading, ...textParts(textOf(source["data"]), marked(block))]
    case "content":
      return [...heading, ...partsOf(source["content"], `${place}.source.content`, beyond)]
    default:
      return beyond.part(
        block,
        `${place}.source`,
        `a document of source ${kindOf(source)} cannot be passed on. Send base64, url, text or content.`
      )
  }
}

/** A single plain text as a string, which every provider takes. */
export const contentOf = (parts: ReadonlyArray<Members>): string | ReadonlyArray<Members> => {
  const [first, ...rest] = parts
  if (first === undefined) return ""
  const isPlain = rest.length === 0 && first["type"] === "text" && !("cache_control" in first)
  return isPlain ? textOf(first["text"]) : parts
}
