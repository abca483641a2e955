/**
 * Reads Bedrock's ConverseStream: events in, normalised deltas out. Blocks are numbered among all
 * blocks; tool calls get numbers among themselves, as OpenAI's clients expect. A call without
 * arguments gets an empty object. Unknown events are ignored; an exception ends the stream with its
 * reason.
 *
 * `messageStop` brings the finish reason. `metadata` after it brings the usage and is the
 * terminator.
 */
import { type ChatEvent, type Delta } from "../../domain/Chat.ts"
import { type TokenUsage } from "../../domain/pricing/Money.ts"
import { type StreamReader } from "../wire/EventStream.ts"
import { Malformed, type ProviderReason } from "../Provider.ts"
import { reasonOfStatus } from "../wire/ErrorMapping.ts"
import { isJsonRecord, parseJsonRecord, stringOf, type JsonRecord } from "../wire/Json.ts"
import { MOST_SOURCES } from "../wire/Citations.ts"
import { encryptedThought, thoughtPiece, thoughtSignature } from "../wire/Thoughts.ts"
import { bytesOf, ImagePieces } from "./Images.ts"
import { citedBlock, readFinish, readUsage, type RequestFacts } from "./Reply.ts"

// event schema

/** Exceptions in a stream, with the status that each has outside a stream. */
const exceptions: Readonly<Record<string, number>> = {
  throttlingException: 429,
  modelNotReadyException: 429,
  serviceQuotaExceededException: 429,
  validationException: 400,
  resourceNotFoundException: 404,
  accessDeniedException: 403,
  internalServerException: 500,
  serviceUnavailableException: 503,
  modelStreamErrorException: 424,
  modelErrorException: 424,
  modelTimeoutException: 408
}

// state

interface StreamState {
  readonly asked: RequestFacts
  /** Tool calls by the index of their block. `number` is null for the answer tool. */
  readonly tools: Map<number, { readonly number: number | null; hasArguments: boolean }>
  /** Texts with citations by the index of their block, and where each begins in the content. */
  readonly cited: Map<number, { readonly start: number; readonly citations: Array<JsonRecord> }>
  /** Open images by the index of their block. */
  readonly images: Map<number, ImagePieces>
  madeImages: number
  calls: number
  /** Length of the content so far, in UTF-16 code units. */
  length: number
  roleSent: boolean
  /** Held back until the usage is known. */
  finishReason: string | null
  done: boolean
  usage: TokenUsage | null
}

// step

const step = (state: StreamState, frame: string, out: Array<ChatEvent>): ProviderReason | null => {
  const event = parseJsonRecord(frame)
  if (event instanceof Malformed) return event
  for (const [kind, payload] of Object.entries(event)) {
    const status = exceptions[kind] ?? (/exception$|error$/i.test(kind) ? 500 : null)
    if (status !== null) return reasonOfStatus(status, {}, JSON.stringify(payload), 0)
    if (!isJsonRecord(payload)) return new Malformed({ detail: "an event that is not an object" })
    if (kind === "metadata") {
      if (isJsonRecord(payload["usage"])) state.usage = readUsage(payload["usage"], payload["serviceTier"])
      state.done = state.finishReason !== null
    } else if (kind === "messageStop") return finish(state, payload["stopReason"])
    else if (state.finishReason === null) {
      const delta = deltaOf(state, kind, payload)
      if (delta instanceof Malformed) return delta
      emit(state, delta, out)
    }
  }
  return null
}

const finish = (state: StreamState, stopReason: unknown): Malformed | null => {
  if (state.finishReason !== null) return null
  const reason = readFinish(stopReason, state.calls > 0)
  if (reason instanceof Malformed) return reason
  state.finishReason = reason
  return null
}

const emit = (state: StreamState, delta: Delta | null, out: Array<ChatEvent>): void => {
  if (delta === null) return
  out.push({ _tag: "Choices", choices: [{ index: 0, delta: withRole(state, delta), finish_reason: null }] })
}

/** Adds the role to the first delta. */
const withRole = (state: StreamState, delta: Delta): Delta => {
  if (state.roleSent) return delta
  state.roleSent = true
  return { role: "assistant", ...delta }
}

const deltaOf = (state: StreamState, kind: string, payload: JsonRecord): Delta | Malformed | null => {
  const place = typeof payload["contentBlockIndex"] === "number" ? payload["contentBlockIndex"] : 0
  switch (kind) {
    case "messageStart":
      return state.roleSent ? null : { content: "" }
    case "contentBlockStart":
      return isJsonRecord(payload["start"]) ? beginBlock(state, place, payload["start"]) : null
    case "contentBlockDelta":
      return isJsonRecord(payload["delta"]) ? continueBlock(state, place, payload["delta"]) : null
    case "contentBlockStop":
      return endBlock(state, place)
    default:
      return null
  }
}

const beginBlock = (state: StreamState, place: number, { image, toolUse }: JsonRecord): Delta | null => {
  if (isJsonRecord(image)) state.images.set(place, new ImagePieces(image["format"]))
  if (!isJsonRecord(toolUse)) return null
  const name = stringOf(toolUse["name"]) ?? ""
  if (name === state.asked.answerTool) {
    state.tools.set(place, { number: null, hasArguments: false })
    return null
  }
  const index = state.calls++
  state.tools.set(place, { number: index, hasArguments: false })
  const id = state.asked.ids(toolUse["toolUseId"], null, index)
  return { tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] }
}

const continueBlock = (state: StreamState, place: number, delta: JsonRecord): Delta | Malformed | null => {
  if ("text" in delta && typeof delta["text"] !== "string") return new Malformed({ detail: "a delta without its text" })
  if (typeof delta["text"] === "string") return addText(state, place, delta["text"])
  if (isJsonRecord(delta["citation"])) {
    const { citation } = delta
    const text = state.cited.get(place) ?? { start: state.length, citations: [] }
    state.cited.set(place, text)
    if (text.citations.length < MOST_SOURCES) text.citations.push(citation)
    return null
  }
  if (isJsonRecord(delta["toolUse"])) return addArguments(state, place, stringOf(delta["toolUse"]["input"]) ?? "")
  const bytes = isJsonRecord(delta["image"]) ? bytesOf(delta["image"]) : null
  if (bytes !== null && state.images.get(place)?.add(bytes) === false)
    return new Malformed({ detail: "an image beyond the limit" })
  const thought = delta["reasoningContent"]
  if (!isJsonRecord(thought)) return null
  const { redactedContent, signature, text } = thought
  const { maker } = state.asked
  if (typeof text === "string") return { reasoning: text, reasoning_details: [thoughtPiece(place, text)] }
  if (typeof signature === "string") return { reasoning_details: [thoughtSignature(maker, place, signature)] }
  return typeof redactedContent === "string"
    ? { reasoning_details: [encryptedThought(maker, place, redactedContent)] }
    : null
}

/** Notes where the text of a block begins, because its citations refer to all of it. */
const addText = (state: StreamState, place: number, text: string): Delta => {
  if (!state.cited.has(place)) state.cited.set(place, { start: state.length, citations: [] })
  state.length += text.length
  return { content: text }
}

const addArguments = (state: StreamState, place: number, piece: string): Delta | null => {
  const tool = state.tools.get(place)
  if (tool === undefined || piece === "") return null
  tool.hasArguments = true
  return tool.number === null
    ? { content: piece }
    : { tool_calls: [{ index: tool.number, function: { arguments: piece } }] }
}

const endBlock = (state: StreamState, place: number): Delta | null => {
  const text = state.cited.get(place)
  state.cited.delete(place)
  if (text !== undefined && text.citations.length > 0)
    return { ...citedBlock(text.citations, text.start, state.length) }
  const image = state.images.get(place)
  state.images.delete(place)
  if (image !== undefined) return { images: [image.image(state.madeImages++)] }
  return state.tools.get(place)?.hasArguments === false ? addArguments(state, place, "{}") : null
}

const close = (state: StreamState): ReadonlyArray<ChatEvent> => [
  {
    _tag: "Choices",
    choices: [{ index: 0, delta: withRole(state, {}), finish_reason: state.finishReason }]
  },
  { _tag: "End", usage: state.usage, systemFingerprint: null }
]

// export

export const makeReader = (asked: RequestFacts): StreamReader => {
  const state: StreamState = {
    asked,
    tools: new Map(),
    cited: new Map(),
    images: new Map(),
    madeImages: 0,
    calls: 0,
    length: 0,
    roleSent: false,
    finishReason: null,
    done: false,
    usage: null
  }
  return {
    step: (frame, out) => step(state, frame, out),
    isDone: () => state.done,
    isComplete: () => state.finishReason !== null,
    close: () => close(state)
  }
}
