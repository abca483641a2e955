/**
 * Reads the Messages API's stream: named events in, normalised deltas out. The index of a tool call
 * counts only tool calls. Arguments are always JSON, also when the model gave none. Usage comes in
 * two parts, the prompt's first. Pings and unknown events are ignored.
 */
import { type ChatEvent, type Delta } from "../../domain/Chat.ts"
import { type StreamReader } from "../wire/EventStream.ts"
import { type ChatCall, Malformed, type ProviderReason } from "../Provider.ts"
import { errorInBody } from "../wire/ErrorMapping.ts"
import { isJsonRecord, parseJsonRecord, stringOf, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"
import { withOwnWords } from "../wire/OwnWords.ts"
import { MOST_SOURCES } from "../wire/Citations.ts"
import { encryptedThought, thoughtPiece, thoughtSignature } from "../wire/Thoughts.ts"
import { citedBlock, explanationOf, finishReason, readUsage, type RequestFacts } from "./Reply.ts"
import { type NativeEvents } from "../wire/NativeEvents.ts"
import { ANSWER_TOOL } from "./Tools.ts"

/**
 * The member that holds the text of a delta, by the delta's type. A delta without it is malformed.
 */
const textMembers: Readonly<Record<string, "text" | "thinking" | "signature" | "partial_json">> = {
  text_delta: "text",
  thinking_delta: "thinking",
  signature_delta: "signature",
  input_json_delta: "partial_json"
}

// state

/** An open tool call, by its index, or the answer that comes as a tool's arguments. */
interface OpenCall {
  readonly call: number | "answer"
  hasArguments: boolean
}

/** An open text with citations, and where it begins in the content. */
interface CitedText {
  readonly start: number
  readonly citations: Array<JsonRecord>
}

interface StreamState {
  readonly asked: RequestFacts
  readonly promptUsage: ChatCall["promptUsage"]
  responseId: unknown
  /** By the index of their block. */
  readonly blocks: Map<unknown, OpenCall>
  readonly texts: Map<unknown, CitedText>
  calls: number
  /** Length of the content so far, in UTF-16 code units. */
  length: number
  usage: JsonRecord | null
  started: boolean
  /** Content has arrived. */
  hasContent: boolean
  /** The stop reason, once received. It is held back until the usage is known. */
  last: { readonly stopReason: string; readonly delta: Delta } | null
  /** `message_stop` has arrived. */
  done: boolean
}

// step

const step = (state: StreamState, event: JsonRecord, out: Array<ChatEvent>): ProviderReason | null => {
  switch (event["type"]) {
    case "message_start":
      start(state, event, out)
      break
    case "content_block_start":
      state.hasContent = true
      openBlock(state, event, out)
      break
    case "content_block_delta":
      state.hasContent = true
      return continueBlock(state, event, out)
    case "content_block_stop":
      closeBlock(state, event, out)
      break
    case "message_delta":
      finish(state, event)
      break
    case "message_stop":
      state.done = true
      break
    default:
      return failureIn(event)
  }
  return null
}

/** An event of this name without an error object is no part of an answer. */
const failureIn = (event: JsonRecord): ProviderReason | null =>
  errorInBody(event) ?? (event["type"] === "error" ? new Malformed({ detail: "an error without its reason" }) : null)

const start = (state: StreamState, event: JsonRecord, out: Array<ChatEvent>): void => {
  const message = isJsonRecord(event["message"]) ? event["message"] : {}
  // Its output tokens are preliminary: the final count comes with the stop reason.
  if (isJsonRecord(message["usage"])) {
    const prompt = state.started ? null : readUsage({ ...message["usage"], output_tokens: 0 })
    if (prompt !== null) state.promptUsage?.(prompt)
    mergeUsage(state, { ...message["usage"], output_tokens: null })
  }
  state.responseId ??= message["id"]
  if (!state.started) emit(out, { role: "assistant", content: "" })
  state.started = true
}

const openBlock = (state: StreamState, event: JsonRecord, out: Array<ChatEvent>): void => {
  const block = isJsonRecord(event["content_block"]) ? event["content_block"] : {}
  const { asked, blocks, texts } = state
  const index = indexOf(event)
  switch (block["type"]) {
    case "text":
      texts.set(index, { start: state.length, citations: jsonRecordsOf(block["citations"]).slice() })
      return emitText(state, out, block["text"])
    case "thinking":
      return emitThinking(out, index, block["thinking"])
    case "redacted_thinking": {
      const data = stringOf(block["data"])
      if (data !== null) emit(out, { reasoning_details: [encryptedThought(asked.maker, index, data)] })
      return
    }
    case "tool_use": {
      const name = stringOf(block["name"]) ?? ""
      const isAnswer = asked.answersByTool && name === ANSWER_TOOL
      const open: OpenCall = { call: isAnswer ? "answer" : state.calls, hasArguments: false }
      blocks.set(index, open)
      if (open.call !== "answer") {
        state.calls++
        const id = asked.ids(block["id"], state.responseId, open.call)
        emit(out, { tool_calls: [{ index: open.call, id, type: "function", function: { name, arguments: "" } }] })
      }
      // Some servers of this dialect send the whole input at once.
      if (isJsonRecord(block["input"]) && Object.keys(block["input"]).length > 0) {
        emitArguments(open, JSON.stringify(block["input"]), out)
      }
    }
  }
}

const continueBlock = (state: StreamState, event: JsonRecord, out: Array<ChatEvent>): Malformed | null => {
  const delta = event["delta"]
  if (!isJsonRecord(delta)) return new Malformed({ detail: "an event without its delta" })
  const index = indexOf(event)
  if (delta["type"] === "citations_delta") {
    const citations = state.texts.get(index)?.citations
    if (isJsonRecord(delta["citation"]) && citations !== undefined && citations.length < MOST_SOURCES)
      citations.push(delta["citation"])
    return null
  }
  const member = textMembers[stringOf(delta["type"]) ?? ""]
  if (member === undefined) return null
  const text = delta[member]
  if (typeof text !== "string") return new Malformed({ detail: "a delta without its text" })
  if (text === "") return null
  if (member === "text") emitText(state, out, text)
  else if (member === "thinking") emitThinking(out, index, text)
  else if (member === "signature") {
    emit(out, { reasoning_details: [thoughtSignature(state.asked.maker, index, text)] })
  } else {
    const open = state.blocks.get(index)
    if (open !== undefined) emitArguments(open, text, out)
  }
  return null
}

const closeBlock = (state: StreamState, event: JsonRecord, out: Array<ChatEvent>): void => {
  const index = indexOf(event)
  const text = state.texts.get(index)
  if (text !== undefined && text.citations.length > 0)
    emit(out, { ...citedBlock(text.citations, text.start, state.length) })
  state.texts.delete(index)
  const open = state.blocks.get(index)
  if (open === undefined) return
  state.blocks.delete(index)
  if (!open.hasArguments) emitArguments(open, "{}", out)
}

const indexOf = ({ index }: JsonRecord): number => (typeof index === "number" ? index : 0)

const finish = (state: StreamState, event: JsonRecord): void => {
  mergeUsage(state, event["usage"])
  const delta = isJsonRecord(event["delta"]) ? event["delta"] : {}
  const stopReason = stringOf(delta["stop_reason"])
  if (stopReason === null || state.last !== null) return
  const refusal = stopReason === "refusal" ? explanationOf(delta["stop_details"]) : null
  state.last = { stopReason, delta: refusal === null ? {} : { refusal } }
}

/** Counts are running totals: a later event replaces the members that it has. */
const mergeUsage = (state: StreamState, usage: unknown): void => {
  if (!isJsonRecord(usage)) return
  const given = Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null))
  state.usage = { ...state.usage, ...given }
}

const close = (state: StreamState): ReadonlyArray<ChatEvent> | Malformed => {
  if (!state.hasContent && state.last === null) return new Malformed({ detail: "empty completion" })
  const out: Array<ChatEvent> = []
  // Without a stop reason: `tool_use`, which becomes "tool_calls" if there were calls and "stop"
  // otherwise.
  const { delta, stopReason } = state.last ?? { delta: {}, stopReason: "tool_use" }
  emit(out, delta, finishReason(stopReason, state.calls > 0))
  return [...out, { _tag: "End", usage: readUsage(state.usage), systemFingerprint: null }]
}

const emit = (out: Array<ChatEvent>, delta: Delta, finish_reason: string | null = null): void => {
  out.push({ _tag: "Choices", choices: [{ index: 0, delta, finish_reason }] })
}

const emitText = (state: StreamState, out: Array<ChatEvent>, text: unknown): void => {
  if (typeof text !== "string" || text === "") return
  state.length += text.length
  emit(out, { content: text })
}

const emitThinking = (out: Array<ChatEvent>, index: number, text: unknown): void => {
  if (typeof text === "string" && text !== "")
    emit(out, { reasoning: text, reasoning_details: [thoughtPiece(index, text)] })
}

const emitArguments = (open: OpenCall, piece: string, out: Array<ChatEvent>): void => {
  open.hasArguments = true
  if (open.call === "answer") emit(out, { content: piece })
  else emit(out, { tool_calls: [{ index: open.call, function: { arguments: piece } }] })
}

// export

/** `native`: takes the vendor's events along. */
export const makeReader = (
  asked: RequestFacts,
  promptUsage?: ChatCall["promptUsage"],
  native: NativeEvents | null = null
): StreamReader => {
  const state: StreamState = {
    asked,
    promptUsage,
    responseId: null,
    blocks: new Map(),
    texts: new Map(),
    calls: 0,
    length: 0,
    usage: null,
    started: false,
    hasContent: false,
    last: null,
    done: false
  }
  return {
    step: (data, out) => {
      if (state.done) return null
      const event = parseJsonRecord(data)
      if (event instanceof Malformed) return event
      const from = out.length
      const failure = step(state, event, out)
      if (failure !== null) return native === null ? failure : withOwnWords(failure, event)
      native?.attach(event, out, from)
      return null
    },
    isDone: () => state.done,
    // The event with the stop reason brings the usage too.
    isComplete: () => state.last !== null,
    close: () => {
      const last = close(state)
      return last instanceof Malformed || native === null ? last : native.end(last)
    }
  }
}
