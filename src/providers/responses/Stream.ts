/**
 * Reads the Responses API's stream: named events in, normalised deltas out. A `done` event brings a
 * text, an input or an item whole, and is believed where deltas are missing. The last event has the
 * usage and is the terminator; a stream without it is cut. Events of unknown kinds are ignored.
 */
import { type ChatEvent, type ChoiceDelta, type Delta } from "../../domain/Chat.ts"
import { type TokenUsage } from "../../domain/pricing/Money.ts"
import { type StreamReader } from "../wire/EventStream.ts"
import { Malformed, type ProviderReason } from "../Provider.ts"
import { errorInBody } from "../wire/ErrorMapping.ts"
import { type NativeEvents } from "../wire/NativeEvents.ts"
import { withOwnWords } from "../wire/OwnWords.ts"
import { isJsonRecord, parseJsonRecord, stringOf, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"
import { type Answer, OutputItem, type TextMember } from "./OutputItem.ts"
import { type Asked, finishReason, readExtra, readUsage, unfinished } from "./Reply.ts"

// event schema

/** Events that bring a text: its member in the answer, and the number of its part in the item. */
const textEvents: Readonly<Record<string, readonly [TextMember, "content_index" | "summary_index"]>> = {
  "response.output_text": ["content", "content_index"],
  "response.refusal": ["refusal", "content_index"],
  "response.reasoning_summary_text": ["summary", "summary_index"],
  "response.reasoning_text": ["text", "content_index"]
}

/** Events that bring the input of a call: the member that has all of it. */
const inputEvents: Readonly<Record<string, "arguments" | "input">> = {
  "response.function_call_arguments": "arguments",
  "response.custom_tool_call_input": "input"
}

// state

/** Largest number of items in a response. */
const MOST_ITEMS = 1_024

class StreamState implements Answer {
  readonly ids: Asked["ids"]
  readonly maker: string
  /** By their place in the output. */
  readonly items = new Map<unknown, OutputItem>()
  readonly has = { content: false, reasoning: false }
  out: Array<ChatEvent> = []
  responseId: unknown = null
  started = false
  calls = 0
  details = 0
  phase: string | null = null
  usage: TokenUsage | null = null
  extra: ReturnType<typeof readExtra> = {}
  /** The finish reason, once the terminator has come. */
  finish: string | null = null

  constructor({ ids, maker }: Asked) {
    this.ids = ids
    this.maker = maker
  }

  emit(delta: Delta, rest: Partial<ChoiceDelta> = {}): void {
    const first = this.started ? delta : { role: "assistant", ...delta }
    this.started = true
    this.out.push({ _tag: "Choices", choices: [{ ...rest, index: 0, delta: first, finish_reason: null }] })
  }

  /** The item at an event's place, announced or not. `isNew`: this event announces it. */
  itemAt(event: JsonRecord, isNew: boolean): OutputItem | Malformed {
    const place = event["output_index"] ?? event["item_id"]
    const known = this.items.get(place)
    // Some servers give all items one place.
    if (known !== undefined && !(isNew && known.isDone)) return known
    if (this.items.size >= MOST_ITEMS) return new Malformed({ detail: "a response of too many items" })
    const item = new OutputItem(this, stringOf(event["item_id"]))
    this.items.set(place, item)
    return item
  }
}

// step

const step = (state: StreamState, event: JsonRecord): ProviderReason | null => {
  const type = stringOf(event["type"]) ?? ""
  switch (type) {
    case "response.created":
    case "response.in_progress":
      start(state, event)
      return null
    case "response.output_item.added":
    case "response.output_item.done":
      return isJsonRecord(event["item"]) ? readItem(state, event, event["item"], type.endsWith("done")) : null
    case "response.output_text.annotation.added":
      return annotate(state, event)
    case "response.completed":
    case "response.incomplete":
    case "response.failed":
      return finish(state, type.slice("response.".length), event["response"])
    case "error":
      return errorInBody({ error: isJsonRecord(event["error"]) ? event["error"] : event })
    default:
      return grow(state, event, type) ?? errorInBody(event)
  }
}

const start = (state: StreamState, event: JsonRecord): void => {
  state.responseId ??= isJsonRecord(event["response"]) ? event["response"]["id"] : null
  if (!state.started) state.emit({ content: "" })
}

const readItem = (state: StreamState, event: JsonRecord, wire: JsonRecord, isDone: boolean): Malformed | null => {
  const item = state.itemAt(event, !isDone)
  if (item instanceof Malformed) return item
  return isDone ? item.end(wire) : item.begin(wire)
}

const annotate = (state: StreamState, event: JsonRecord): Malformed | null => {
  const item = state.itemAt(event, false)
  if (item instanceof Malformed) return item
  if (isJsonRecord(event["annotation"])) item.annotation(event["annotation"])
  return null
}

/** An event that brings a piece of a text or an input, or all of it. */
const grow = (state: StreamState, event: JsonRecord, type: string): Malformed | null => {
  const dot = type.lastIndexOf(".")
  const name = type.slice(0, dot)
  const isWhole = type.slice(dot) === ".done"
  const text = textEvents[name]
  const input = inputEvents[name]
  if (text === undefined && input === undefined) return null
  const piece = event[isWhole ? (input ?? (text?.[0] === "refusal" ? "refusal" : "text")) : "delta"]
  if (typeof piece !== "string") return isWhole ? null : new Malformed({ detail: "a delta without its text" })
  const item = state.itemAt(event, false)
  if (item instanceof Malformed) return item
  if (text !== undefined) return item.text(text[0], event[text[1]], piece, isWhole, event["logprobs"])
  item.input(piece, isWhole)
  return null
}

const finish = (state: StreamState, named: string, wire: unknown): ProviderReason | null => {
  const sent = isJsonRecord(wire) ? wire : {}
  // Some servers complete a response that they call incomplete.
  const response: JsonRecord = { ...sent, status: named === "completed" ? (sent["status"] ?? named) : named }
  const failure = errorInBody(response) ?? unfinished(response)
  if (failure !== null) return failure
  if (state.items.size === 0) {
    for (const [output_index, item] of jsonRecordsOf(response["output"]).entries()) {
      const fault = readItem(state, { output_index }, item, true)
      if (fault !== null) return fault
    }
  }
  start(state, { response })
  state.extra = readExtra(response)
  state.usage = readUsage(response["usage"], response["service_tier"])
  state.finish = finishReason(response, state.calls > 0)
  return null
}

const close = (state: StreamState): ReadonlyArray<ChatEvent> => {
  const { finish, phase, usage } = state
  const { usageExtra, ...extra } = state.extra
  return [
    {
      _tag: "Choices",
      choices: [{ index: 0, delta: phase === null ? {} : { phase }, finish_reason: finish }],
      ...extra
    },
    { _tag: "End", usage, ...(usageExtra === undefined ? {} : { usageExtra }), systemFingerprint: null }
  ]
}

// export

/** `native`: takes the vendor's events along. */
export const makeReader = (asked: Asked, native: NativeEvents | null = null): StreamReader => {
  const state = new StreamState(asked)
  return {
    step: (data, out) => {
      if (state.finish !== null || data === "[DONE]") return null
      const event = parseJsonRecord(data)
      if (event instanceof Malformed) return event
      state.out = out
      const from = out.length
      const failure = step(state, event)
      if (failure !== null) return native === null ? failure : withOwnWords(failure, errorOf(event))
      native?.attach(event, out, from)
      return null
    },
    isDone: () => state.finish !== null,
    isComplete: () => state.finish !== null,
    close: () => (native === null ? close(state) : native.end(close(state)))
  }
}

/** The object with the error of an event: the event, or its response. */
const errorOf = (event: JsonRecord): JsonRecord => {
  if (isJsonRecord(event["error"])) return event
  return isJsonRecord(event["response"]) ? event["response"] : { error: event }
}
