/**
 * The OpenAI dialect's stream: events in, normalised deltas out, with the state that this takes. Objects that
 * JSON.parse made belong to this module and are put right in place; a chunk that is right already is passed on as it
 * is.
 */
import { type ChatEvent, type ChoiceDelta, type Delta } from "../../domain/Chat.ts"
import { type TokenUsage } from "../../domain/Money.ts"
import { type StreamReader } from "../EventStream.ts"
import { Malformed, type ProviderReason } from "../Provider.ts"
import { refusalInside } from "../Refusal.ts"
import { isWire, parseJson, stringOf, type Wire, wiresOf } from "../Wire.ts"
import { readText, readUsage } from "./OpenAiReply.ts"

// state

interface ChoiceState {
  readonly index: number
  roleSent: boolean
  finished: boolean
  /** Ids of the tool calls seen, in order: what numbers the calls of a vendor that does not number them. */
  readonly toolCallIds: Array<string>
}

interface StreamState {
  /** How many choices the request asked for. */
  readonly asked: number
  readonly choices: Map<number, ChoiceState>
  usage: TokenUsage | null
  systemFingerprint: string | null
  /** `[DONE]` came. */
  done: boolean
  /** Events that were no JSON, and were left out. */
  skipped: number
}

const makeState = (asked: number): StreamState => ({
  asked,
  choices: new Map(),
  usage: null,
  systemFingerprint: null,
  done: false,
  skipped: 0
})

/** Whether every choice seen is finished; with `all`, whether every choice asked for is. */
const isComplete = ({ asked, choices }: StreamState, all: boolean): boolean =>
  choices.size >= (all ? asked : 1) && [...choices.values()].every((choice) => choice.finished)

// step

/** What one event says, appended to `out`; a reason when it says that the provider failed. */
const step = (state: StreamState, data: string, out: Array<ChatEvent>): ProviderReason | null => {
  if (state.done) return null
  if (data === "[DONE]") {
    state.done = true
    return null
  }
  const chunk = parseJson(data)
  if (!isWire(chunk)) {
    state.skipped++
    return null
  }
  const refusal = refusalInside(chunk)
  if (refusal !== null) return refusal
  state.usage = readUsage(chunk["usage"]) ?? state.usage
  state.systemFingerprint ??= stringOf(chunk["system_fingerprint"])
  if (!Array.isArray(chunk["choices"]) || chunk["choices"].length === 0) return null
  const choices: Array<ChoiceDelta> = []
  for (const [at, wire] of wiresOf(chunk["choices"]).entries()) {
    const choice = readChoice(state, wire, at)
    if (choice !== null) choices.push(choice)
  }
  if (choices.length > 0) out.push({ _tag: "Choices", choices })
  return null
}

/**
 * The last events of a stream that ended by itself with `[DONE]` or with every choice finished. A choice that `[DONE]`
 * left without a finish reason gets `stop`: the provider said that it was done.
 */
const close = (state: StreamState): ReadonlyArray<ChatEvent> | Malformed => {
  if (state.choices.size === 0) return new Malformed({ detail: "empty completion" })
  const open = [...state.choices.values()].filter((choice) => !choice.finished)
  const end: ChatEvent = { _tag: "End", usage: state.usage, systemFingerprint: state.systemFingerprint }
  if (open.length === 0) return [end]
  return [{ _tag: "Choices", choices: open.map(({ index }) => ({ index, delta: {}, finish_reason: "stop" })) }, end]
}

/** One choice of one chunk; null when it says nothing new. */
const readChoice = (state: StreamState, wire: Wire, at: number): ChoiceDelta | null => {
  const index = typeof wire["index"] === "number" ? wire["index"] : at
  let choice = state.choices.get(index)
  if (choice === undefined) {
    choice = { index, roleSent: false, finished: false, toolCallIds: [] }
    state.choices.set(index, choice)
  }
  const delta = isWire(wire["delta"]) ? readDelta(wire["delta"], choice) : {}
  const reason = stringOf(wire["finish_reason"])
  const finish_reason = reason === null || reason === "" || choice.finished ? null : reason
  if (choice.finished && Object.keys(delta).length === 0) return null
  if (finish_reason !== null) choice.finished = true
  return Object.assign(wire, { index, delta, finish_reason })
}

const readDelta = (delta: Wire, choice: ChoiceState): Delta => {
  if (delta["role"] !== undefined) {
    if (choice.roleSent || delta["role"] === null) delete delta["role"]
    else choice.roleSent = true
  }
  readText(delta)
  if (delta["tool_calls"] !== undefined) {
    const calls = wiresOf(delta["tool_calls"])
    if (calls.length === 0) delete delta["tool_calls"]
    else delta["tool_calls"] = calls.map((call) => numbered(call, choice))
  }
  return delta
}

/** A call without an index continues the last one, unless it brings a new id. */
const numbered = (call: Wire, { toolCallIds }: ChoiceState): Wire => {
  const id = stringOf(call["id"])
  if (id !== null && id !== "" && !toolCallIds.includes(id)) toolCallIds.push(id)
  if (typeof call["index"] !== "number") {
    const known = id === null ? -1 : toolCallIds.indexOf(id)
    call["index"] = known >= 0 ? known : Math.max(0, toolCallIds.length - 1)
  }
  return call
}

// export

/** Reads a stream of which `asked` choices were asked. */
export const makeReader = (asked: number): StreamReader => {
  const state = makeState(asked)
  return {
    step: (event, out) => step(state, event, out),
    isDone: () => state.done,
    isComplete: (broke) => isComplete(state, broke),
    close: () => close(state),
    skipped: () => state.skipped
  }
}
