/**
 * Reads the OpenAI dialect's stream: events in, normalised deltas out. Parsed objects belong to
 * this module and are corrected in place; a correct chunk is passed on as it is. The finish reason
 * is held back until the stream ends, because some vendors send text after it, or send it twice.
 */
import { type ChatEvent, type ChoiceDelta, type Delta, type Members } from "../../domain/Chat.ts"
import { type StreamReader } from "../wire/EventStream.ts"
import { Malformed, type ProviderReason } from "../Provider.ts"
import { errorInBody } from "../wire/ErrorMapping.ts"
import { isJsonRecord, parseJsonRecord, stringOf, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"
import { hasContent } from "../wire/Words.ts"
import { type CallIds } from "../wire/CallIds.ts"
import { OpenAiCalls } from "./Calls.ts"
import { chunkExtra, usageExtra } from "./Extra.ts"
import { messageOf, readText, readUsage } from "./Reply.ts"

// state

interface ChoiceState {
  readonly index: number
  roleSent: boolean
  /** The chunk with the finish reason, once received. */
  last: ChoiceDelta | null
  /** A delta with content has arrived. */
  hasContent: boolean
  readonly calls: OpenAiCalls
}

interface StreamState {
  /** Number of choices in the request. */
  readonly asked: number
  readonly ids: CallIds
  /** The provider's slug. */
  readonly maker: string
  readonly choices: Map<number, ChoiceState>
  responseId: unknown
  /** The last one that the provider sent. */
  usage: JsonRecord | null
  /** What chunks without anything to pass on said beside their choices. */
  extra: Members | null
  /** The service tier, which some chunks name and others do not. */
  serviceTier: unknown
  systemFingerprint: string | null
  /** `[DONE]` has arrived, or usage after the last finish reason, which is final too. */
  done: boolean
  /** Content or a finish reason has arrived. */
  hasContent: boolean
}

const makeState = (asked: number, ids: CallIds, maker: string): StreamState => ({
  asked,
  ids,
  maker,
  responseId: null,
  choices: new Map(),
  usage: null,
  extra: null,
  serviceTier: null,
  systemFingerprint: null,
  done: false,
  hasContent: false
})

/** True if every choice seen is finished; with `all`, every choice requested. */
const isComplete = ({ asked, choices }: StreamState, all: boolean): boolean => {
  // Runs after each packet, so it builds no array.
  for (const choice of choices.values()) if (choice.last === null) return false
  return choices.size >= (all ? asked : 1)
}

// step

/**
 * Appends the events of one chunk to `out`. Returns a reason if the chunk reports a provider error.
 */
const step = (state: StreamState, data: string, out: Array<ChatEvent>): ProviderReason | null => {
  if (state.done) return null
  if (data === "[DONE]") {
    state.done = true
    return null
  }
  const chunk = parseJsonRecord(data)
  if (chunk instanceof Malformed) return chunk
  const refusal = errorInBody(chunk)
  if (refusal !== null) return refusal
  state.serviceTier = chunk["service_tier"] ?? state.serviceTier
  if (isJsonRecord(chunk["usage"])) state.usage = chunk["usage"]
  state.systemFingerprint ??= stringOf(chunk["system_fingerprint"])
  state.responseId ??= chunk["id"]
  const extra = chunkExtra(chunk)
  if (extra !== null) state.extra = state.extra === null ? extra : { ...state.extra, ...extra }
  if (!Array.isArray(chunk["choices"]) || chunk["choices"].length === 0) {
    state.done = isJsonRecord(chunk["usage"]) && isComplete(state, true)
    return null
  }
  const choices: Array<ChoiceDelta> = []
  let at = 0
  for (const wire of jsonRecordsOf(chunk["choices"])) {
    const choice = readChoice(state, wire, at++)
    if (choice instanceof Malformed) return choice
    if (choice !== null) choices.push(choice)
  }
  if (choices.length > 0) out.push(choicesWith(choices, state))
  return null
}

/** The event, with everything said beside choices since the event before. */
const choicesWith = (choices: ReadonlyArray<ChoiceDelta>, state: StreamState): ChatEvent => {
  const { extra } = state
  state.extra = null
  return extra === null ? { _tag: "Choices", choices } : { _tag: "Choices", choices, extra }
}

/**
 * The last events of a stream that ended with `[DONE]` or with every choice finished. If no choice
 * has a finish reason before `[DONE]`, the provider sends none: they get `stop` or `tool_calls`. If
 * only some have one, the others were lost: `Malformed`.
 */
const close = (state: StreamState): ReadonlyArray<ChatEvent> | Malformed => {
  if (!state.hasContent) return new Malformed({ detail: "empty completion" })
  const all = [...state.choices.values()]
  if (all.some(({ last }) => last === null) && all.some(({ last }) => last !== null))
    return new Malformed({ detail: "a choice without a finish reason" })
  const choices = all.map(
    ({ calls, index, last }): ChoiceDelta =>
      last ?? { index, delta: {}, finish_reason: calls.isEmpty ? "stop" : "tool_calls" }
  )
  const reported = usageExtra(state.usage)
  return [
    choicesWith(choices, state),
    {
      _tag: "End",
      usage: readUsage(state.usage, state.serviceTier),
      ...(reported === null ? {} : { usageExtra: reported }),
      systemFingerprint: state.systemFingerprint
    }
  ]
}

/** One choice of a chunk, or null if there is nothing to pass on yet. */
const readChoice = (state: StreamState, wire: JsonRecord, at: number): ChoiceDelta | Malformed | null => {
  const index = typeof wire["index"] === "number" ? wire["index"] : at
  let choice = state.choices.get(index)
  if (choice === undefined) {
    choice = { index, roleSent: false, last: null, hasContent: false, calls: new OpenAiCalls(state.ids) }
    state.choices.set(index, choice)
  }
  const delta = readDelta(deltaOf(wire, choice), choice, state)
  if (delta instanceof Malformed) return delta
  const reason = stringOf(wire["finish_reason"]) || null
  choice.hasContent ||= hasContent(delta)
  state.hasContent ||= reason !== null || choice.hasContent
  if (reason === null && choice.last === null) return Object.assign(wire, { index, delta, finish_reason: null })
  const isSilent = !hasContent(delta)
  if (choice.last === null)
    choice.last = Object.assign(isSilent ? wire : {}, { index, delta: isSilent ? delta : {}, finish_reason: reason })
  return isSilent ? null : Object.assign(wire, { index, delta, finish_reason: null })
}

/**
 * The delta of a choice. Some vendors add a message to each delta, and some send the whole reply as
 * the only chunk. A message repeats the content if it comes with a delta that has content, or after
 * one.
 */
const deltaOf = (wire: JsonRecord, { hasContent: hadContent }: ChoiceState): JsonRecord => {
  const { delta, message, text } = wire
  if (message === undefined && text === undefined) return isJsonRecord(delta) ? delta : {}
  delete wire["message"]
  delete wire["text"]
  if (isJsonRecord(delta) && (hadContent || hasContent(delta))) return delta
  return hadContent ? {} : messageOf({ message, text, delta })
}

const readDelta = (delta: JsonRecord, choice: ChoiceState, { maker, responseId }: StreamState): Delta | Malformed => {
  if (delta["role"] !== undefined) {
    if (choice.roleSent || delta["role"] === null) delete delta["role"]
    else choice.roleSent = true
  }
  const fault = readText(delta, maker)
  if (fault !== null) return fault
  if (delta["tool_calls"] !== undefined) {
    const calls = jsonRecordsOf(delta["tool_calls"])
    if (calls.length === 0) delete delta["tool_calls"]
    else delta["tool_calls"] = calls.map((call) => choice.calls.number(call, responseId))
  }
  return delta
}

// export

/** Reads a stream of a request for `asked` choices. `maker`: the provider's slug. */
export const makeReader = (asked: number, ids: CallIds, maker: string): StreamReader => {
  const state = makeState(asked, ids, maker)
  return {
    step: (event, out) => step(state, event, out),
    isDone: () => state.done,
    isComplete: (broke) => isComplete(state, broke),
    close: () => close(state)
  }
}
