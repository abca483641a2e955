/**
 * The texts of a request that may hold personal data, each with its place. `visit` answers what stands there instead; where nothing
 * changed the request stays the very same object. Left alone are images, audio and files, what chooses the model and the route, and
 * opaque members that have to come back byte by byte: identifiers, signatures, encrypted reasoning.
 */
import { Predicate } from "effect"
import { type ChatMessage, type ChatRequest } from "../../domain/Chat.ts"
import { type EmbeddingRequest } from "../../domain/Embedding.ts"

/** `path` is relative to the message, or to the request where `message` is null. */
export interface Place {
  readonly message: number | null
  readonly path: string
  /** The text is JSON, or is to be taken for it if it looks so. */
  readonly json: "yes" | "maybe" | "no"
}

export type Visit = (text: string, place: Place) => string

const routing = new Set(["model", "models", "provider", "messages", "input"])
/** Texts that are no texts. Below a member of such a name, as in a tool's schema for a parameter `id`, there may be some. */
const opaque = new Set(["id", "type", "signature", "data", "encrypted_content"])
const media = new Set(["image_url", "input_audio", "file"])
/** Names in there are the client's own, and mean nothing to anybody else. */
const isOwn = ({ message, path }: Place): boolean => message === null && path.split(".", 1)[0] === "metadata"

/** Every string at or below a value, but for opaque members; names of members stay as they are. */
const mapStrings = (value: unknown, place: Place, visit: Visit): unknown => {
  if (typeof value === "string") return visit(value, place)
  if (Array.isArray(value)) {
    let changed = false
    const items = value.map((item: unknown, at) => {
      const next = mapStrings(item, { ...place, path: `${place.path}[${at}]` }, visit)
      changed ||= next !== item
      return next
    })
    return changed ? items : value
  }
  return Predicate.isObject(value) ? mapMembers(value, place, visit, none) : value
}

type Members = Readonly<Record<string, unknown>>

const none: ReadonlySet<string> = new Set()

/** `skipped`: members that are left alone beside opaque texts and media. */
const mapMembers = <A extends object>(value: A, place: Place, visit: Visit, skipped: ReadonlySet<string>): A => {
  const changed: Record<string, unknown> = {}
  let any = false
  for (const [name, member] of Object.entries(value)) {
    if (skipped.has(name)) continue
    if (!isOwn(place) && (media.has(name) || (typeof member === "string" && opaque.has(name)))) continue
    const next = mapStrings(member, { ...place, path: place.path === "" ? name : `${place.path}.${name}` }, visit)
    if (next === member) continue
    changed[name] = next
    any = true
  }
  return any ? { ...value, ...changed } : value
}

const mapCall = (call: Members, place: Place, visit: Visit): Members => {
  const json = (path: string): Place => ({ ...place, path: `${place.path}.${path}`, json: "yes" })
  const called = call["function"]
  if (!Predicate.isObject(called)) return mapMembers(call, place, visit, none)
  const given: unknown = called["arguments"]
  if (typeof given !== "string") return mapMembers(call, place, visit, none)
  const next = visit(given, json("function.arguments"))
  return next === given ? call : { ...call, function: { ...called, arguments: next } }
}

/** A part of a content: its text. Parts without one are no texts. */
const mapPart = (part: Members, place: Place, visit: Visit): Members => {
  const name = typeof part["text"] === "string" ? "text" : typeof part["refusal"] === "string" ? "refusal" : null
  if (name === null) return part
  const text = part[name]
  const next = typeof text === "string" ? visit(text, { ...place, path: `${place.path}.${name}` }) : text
  return next === text ? part : { ...part, [name]: next }
}

const mapList = <A>(list: ReadonlyArray<A>, map: (item: A, at: number) => A): ReadonlyArray<A> => {
  let changed: Array<A> | undefined
  for (const [at, item] of list.entries()) {
    const next = map(item, at)
    if (next !== item) (changed ??= [...list])[at] = next
  }
  return changed ?? list
}

const ownMembers = new Set(["role", "content", "tool_calls", "tool_call_id"])

export const mapMessage = (message: ChatMessage, at: number, visit: Visit): ChatMessage => {
  const place: Place = { message: at, path: "", json: message.role === "tool" ? "maybe" : "no" }
  const { content, tool_calls: calls } = message
  const inContent = { ...place, path: "content" }
  const nextContent =
    typeof content === "string"
      ? visit(content, inContent)
      : Array.isArray(content)
        ? mapList(content, (part: Members, index) => mapPart(part, { ...place, path: `content[${index}]` }, visit))
        : content
  const nextCalls = calls
    ? mapList(calls, (call, index) => mapCall(call, { ...place, path: `tool_calls[${index}]` }, visit))
    : calls
  const next = mapMembers(message, { ...place, json: "no" }, visit, ownMembers)
  if (nextContent === content && nextCalls === calls) return next
  return {
    ...next,
    ...(nextContent === undefined ? {} : { content: nextContent }),
    ...(nextCalls === undefined ? {} : { tool_calls: nextCalls })
  }
}

export const mapMessages = (messages: ReadonlyArray<ChatMessage>, visit: Visit): ReadonlyArray<ChatMessage> =>
  mapList(messages, (message, at) => mapMessage(message, at, visit))

const elsewhere: Place = { message: null, path: "", json: "no" }

export const mapChat = (request: ChatRequest, visit: Visit): ChatRequest => {
  const messages = mapMessages(request.messages, visit)
  const next = mapMembers(request, elsewhere, visit, routing)
  return messages === request.messages ? next : { ...next, messages }
}

export const mapEmbedding = (request: EmbeddingRequest, visit: Visit): EmbeddingRequest => {
  const { input } = request
  const place = (path: string): Place => ({ ...elsewhere, path })
  const nextInput =
    typeof input === "string"
      ? visit(input, place("input"))
      : mapList(input, (text, at) => visit(text, place(`input[${at}]`)))
  const next = mapMembers(request, elsewhere, visit, routing)
  return nextInput === input ? next : { ...next, input: nextInput }
}
