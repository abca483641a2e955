/**
 * The OpenAI dialect's stream: events in, normalised deltas out, with the state that this takes. Objects that
 * JSON.parse made belong to this module and are put right in place; a chunk that is right already is passed on as it
 * is. A finish reason is held back until the stream ends, because some vendors send text after it, or send it twice.
 */
import { type ChatEvent, type ChoiceDelta, type Delta } from "../../domain/Chat.ts"
import { type TokenUsage } from "../../domain/Money.ts"
import { type StreamReader } from "../wire/EventStream.ts"
import { Malformed, type ProviderReason } from "../Provider.ts"
import { errorInBody } from "../wire/ErrorMapping.ts"
import { isJsonRecord, parseJsonRecord, stringOf, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"
import { saysSomething } from "../wire/Words.ts"
import { type CallIds } from "../wire/CallIds.ts"
import { OpenAiCalls } from "./Calls.ts"
import { messageOf, readText, readUsage } from "./Reply.ts"

// state

interface ChoiceState {
  readonly index: number
  roleSent: boolean
  /** The chunk with the finish reason, once it came. */
  last: ChoiceDelta | null
  /** Its delta said something. */
  said: boolean
  readonly calls: OpenAiCalls
}

interface StreamState {
  /** How many choices the request asked for. */
  readonly asked: number
  readonly ids: CallIds
  readonly choices: Map<number, ChoiceState>
  responseId: unknown
  usage: TokenUsage | null
  systemFingerprint: string | null
  /** `[DONE]` came, or usage after the last finish reason, which nothing follows. */
  done: boolean
  /** Something that counts came: text, a call, a finish reason. */
  said: boolean
}

const makeState = (asked: number, ids: CallIds): StreamState => ({
  asked,
  ids,
  responseId: null,
  choices: new Map(),
  usage: null,
  systemFingerprint: null,
  done: false,
  said: false
})

/** Whether every choice seen is finished; with `all`, whether every choice asked for is. */
const isComplete = ({ asked, choices }: StreamState, all: boolean): boolean => {
  // Asked after each packet: without an array of them.
  for (const choice of choices.values()) if (choice.last === null) return false
  return choices.size >= (all ? asked : 1)
}

// step

/** What one event says, appended to `out`; a reason when it says that the provider failed. */
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
  if (isJsonRecord(chunk["usage"])) state.usage = readUsage(chunk["usage"])
  state.systemFingerprint ??= stringOf(chunk["system_fingerprint"])
  state.responseId ??= chunk["id"]
  if (!Array.isArray(chunk["choices"]) || chunk["choices"].length === 0) {
    state.done = isJsonRecord(chunk["usage"]) && isComplete(state, true)
    return null
  }
  const choices: Array<ChoiceDelta> = []
  for (const [at, wire] of jsonRecordsOf(chunk["choices"]).entries()) {
    const choice = readChoice(state, wire, at)
    if (choice instanceof Malformed) return choice
    if (choice !== null) choices.push(choice)
  }
  if (choices.length > 0) out.push({ _tag: "Choices", choices })
  return null
}

/**
 * The last events of a stream that ended by itself with `[DONE]` or with every choice finished. Where no choice has a
 * finish reason before `[DONE]` the provider writes none, and it said that it was done: they get `stop`, or `tool_calls`.
 * Where another choice has one, the missing one is lost.
 */
const close = (state: StreamState): ReadonlyArray<ChatEvent> | Malformed => {
  if (!state.said) return new Malformed({ detail: "empty completion" })
  const all = [...state.choices.values()]
  if (all.some(({ last }) => last === null) && all.some(({ last }) => last !== null))
    return new Malformed({ detail: "a choice without a finish reason" })
  const choices = all.map(
    ({ calls, index, last }): ChoiceDelta =>
      last ?? { index, delta: {}, finish_reason: calls.isEmpty ? "stop" : "tool_calls" }
  )
  return [
    { _tag: "Choices", choices },
    { _tag: "End", usage: state.usage, systemFingerprint: state.systemFingerprint }
  ]
}

/** One choice of one chunk; null when there is nothing to pass on yet. */
const readChoice = (state: StreamState, wire: JsonRecord, at: number): ChoiceDelta | Malformed | null => {
  const index = typeof wire["index"] === "number" ? wire["index"] : at
  let choice = state.choices.get(index)
  if (choice === undefined) {
    choice = { index, roleSent: false, last: null, said: false, calls: new OpenAiCalls(state.ids) }
    state.choices.set(index, choice)
  }
  const delta = readDelta(deltaOf(wire, choice), choice, state.responseId)
  if (delta instanceof Malformed) return delta
  const reason = stringOf(wire["finish_reason"]) || null
  choice.said ||= saysSomething(delta)
  state.said ||= reason !== null || choice.said
  if (reason === null && choice.last === null) return Object.assign(wire, { index, delta, finish_reason: null })
  const isSilent = !saysSomething(delta)
  if (choice.last === null)
    choice.last = Object.assign(isSilent ? wire : {}, { index, delta: isSilent ? delta : {}, finish_reason: reason })
  return isSilent ? null : Object.assign(wire, { index, delta, finish_reason: null })
}

/**
 * The delta of a choice, taken out of its other forms: some vendors write a message beside each delta, and some the whole
 * reply as the only chunk. What stands beside a delta that says something, or after one that did, says it again.
 */
const deltaOf = (wire: JsonRecord, { said }: ChoiceState): JsonRecord => {
  const { delta, message, text } = wire
  if (message === undefined && text === undefined) return isJsonRecord(delta) ? delta : {}
  delete wire["message"]
  delete wire["text"]
  if (isJsonRecord(delta) && (said || saysSomething(delta))) return delta
  return said ? {} : messageOf({ message, text, delta })
}

const readDelta = (delta: JsonRecord, choice: ChoiceState, responseId: unknown): Delta | Malformed => {
  if (delta["role"] !== undefined) {
    if (choice.roleSent || delta["role"] === null) delete delta["role"]
    else choice.roleSent = true
  }
  const fault = readText(delta)
  if (fault !== null) return fault
  if (delta["tool_calls"] !== undefined) {
    const calls = jsonRecordsOf(delta["tool_calls"])
    if (calls.length === 0) delete delta["tool_calls"]
    else delta["tool_calls"] = calls.map((call) => choice.calls.number(call, responseId))
  }
  return delta
}

// export

/** Reads a stream of which `asked` choices were asked. */
export const makeReader = (asked: number, ids: CallIds): StreamReader => {
  const state = makeState(asked, ids)
  return {
    step: (event, out) => step(state, event, out),
    isDone: () => state.done,
    isComplete: (broke) => isComplete(state, broke),
    close: () => close(state)
  }
}
