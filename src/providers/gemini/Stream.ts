/**
 * Reads Gemini's stream, in which each event is a reply with a little more content. The end of the
 * body is the only terminator. It counts as complete once every candidate has a finish reason. Some
 * models send the reason early and continue, so it is held back until the end.
 */
import { type ChatEvent, type ChoiceDelta, type Delta } from "../../domain/Chat.ts"
import { type StreamReader } from "../wire/EventStream.ts"
import { type ChatCall, Malformed, type ProviderReason } from "../Provider.ts"
import { isJsonRecord, parseJsonRecord, stringOf, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"
import { googleRefusalInside } from "./Errors.ts"
import { groundingMembers } from "./Grounding.ts"
import {
  blockOf,
  finishOf,
  indexOf,
  isEmpty,
  membersOf,
  readLogprobs,
  readParts,
  readSearches,
  readUsage,
  type RequestFacts
} from "./Reply.ts"

// state

/** Content of which the sources are annotated, in UTF-16 code units. */
const KEPT_LENGTH = 1024 * 1024

interface ChoiceState {
  roleSent: boolean
  calls: number
  details: number
  images: number
  /** The content so far, up to a limit: the places of sources are known at the end. */
  content: string
  /** Of the content, in UTF-16 code units. */
  length: number
  grounding: unknown
  finish: string | null
}

interface StreamState {
  readonly asked: RequestFacts
  /** Undefined once it was told. */
  promptUsage: ChatCall["promptUsage"]
  readonly choices: Map<number, ChoiceState>
  responseId: string | null
  modelVersion: string | null
  usage: unknown
  searches: number
}

// step

const step = (state: StreamState, data: string, out: Array<ChatEvent>): ProviderReason | null => {
  // Some proxies add OpenAI's terminator.
  if (data === "[DONE]") return null
  const body = parseJsonRecord(data)
  if (body instanceof Malformed) return body
  const refusal = googleRefusalInside(body)
  if (refusal !== null) return refusal
  state.responseId ??= stringOf(body["responseId"])
  state.modelVersion ??= stringOf(body["modelVersion"])
  if (isJsonRecord(body["usageMetadata"])) {
    state.usage = body["usageMetadata"]
    if (state.promptUsage !== undefined) reportPrompt(state, body["usageMetadata"])
  }
  const candidates = jsonRecordsOf(body["candidates"])
  // An event may repeat what an earlier one told.
  state.searches = Math.max(state.searches, readSearches(candidates, state.modelVersion))
  if (candidates.length === 0) return onBlock(state, body)
  const choices: Array<ChoiceDelta> = []
  for (const [at, candidate] of candidates.entries()) {
    const read = readCandidate(state, candidate, at)
    if (read instanceof Malformed) return read
    if (read !== null) choices.push(read)
  }
  if (choices.length > 0) out.push({ _tag: "Choices", choices })
  return null
}

/** Each event has the usage so far. The prompt's is known with the first. */
const reportPrompt = (state: StreamState, usage: JsonRecord): void => {
  const prompt = readUsage({ ...usage, candidatesTokenCount: 0, thoughtsTokenCount: 0 }, 0)
  if (prompt === null) return
  state.promptUsage?.(prompt)
  state.promptUsage = undefined
}

/** A block rejects the prompt, or ends an answer that has begun with "content_filter". */
const onBlock = (state: StreamState, body: JsonRecord): ProviderReason | null => {
  const block = blockOf(body)
  if (block === null) return null
  if (state.choices.size === 0) return block
  for (const choice of state.choices.values()) choice.finish ??= "content_filter"
  return null
}

/** The new content of a candidate, or null. */
const readCandidate = (state: StreamState, candidate: JsonRecord, at: number): ChoiceDelta | Malformed | null => {
  const index = indexOf(candidate, at)
  const choice = state.choices.get(index) ?? newChoice()
  state.choices.set(index, choice)
  const read = readParts(candidate, state.responseId, choice, state.asked)
  if (read instanceof Malformed) return read
  const { calls, content } = read
  choice.calls += calls.length
  choice.details += read.details.length
  choice.images += read.images.length
  choice.length += content.length
  if (choice.length <= KEPT_LENGTH) choice.content += content
  choice.grounding = candidate["groundingMetadata"] ?? choice.grounding
  const native = stringOf(candidate["finishReason"])
  const finish = native === null ? null : finishOf(native, choice.calls > 0)
  if (finish instanceof Malformed) return finish
  choice.finish = finish ?? choice.finish
  if (isEmpty(read)) return null
  const logprobs = readLogprobs(candidate)
  const delta: Delta = {
    ...roleOnce(choice),
    ...(content === "" ? {} : { content }),
    ...membersOf(read),
    ...(calls.length === 0 ? {} : { tool_calls: calls })
  }
  return { index, delta, ...(logprobs === null ? {} : { logprobs }), finish_reason: null }
}

const newChoice = (): ChoiceState => ({
  roleSent: false,
  calls: 0,
  details: 0,
  images: 0,
  content: "",
  length: 0,
  grounding: null,
  finish: null
})

const roleOnce = (choice: ChoiceState): Delta => {
  if (choice.roleSent) return {}
  choice.roleSent = true
  return { role: "assistant" }
}

const close = ({ choices, modelVersion, searches, usage }: StreamState): ReadonlyArray<ChatEvent> | Malformed => {
  if (choices.size === 0) return new Malformed({ detail: "empty completion" })
  const finished = Array.from(choices, ([index, choice]) => ({
    index,
    delta: {
      ...roleOnce(choice),
      ...groundingMembers(choice.grounding, choice.length > KEPT_LENGTH ? null : choice.content)
    },
    finish_reason: choice.finish
  }))
  return [
    { _tag: "Choices", choices: finished },
    { _tag: "End", usage: readUsage(usage, searches), systemFingerprint: modelVersion }
  ]
}

// export

export const makeReader = (asked: RequestFacts, promptUsage?: ChatCall["promptUsage"]): StreamReader => {
  const state: StreamState = {
    asked,
    promptUsage,
    choices: new Map(),
    responseId: null,
    modelVersion: null,
    usage: null,
    searches: 0
  }
  return {
    step: (event, out) => step(state, event, out),
    isDone: () => false,
    isComplete: (broke) =>
      state.choices.size >= (broke ? asked.candidates : 1) &&
      [...state.choices.values()].every((choice) => choice.finish !== null),
    close: () => close(state)
  }
}
