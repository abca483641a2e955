/** Ids of tool calls that came without one: a client cannot answer a call that it cannot name, and takes two without a name for one. */
import { type ChatRequest } from "../../domain/Chat.ts"
import { stringOf, jsonRecordsOf } from "./Json.ts"

/** The id of the call at `index` of an answer: the provider's own, else one that no other call of the conversation has. */
export type CallIds = (id: unknown, responseId: unknown, index: number) => string

/** In UTF-16 code units: what an id of ours takes over of the provider's. */
const LONGEST_PART = 64

export const callIds =
  ({ messages }: ChatRequest): CallIds =>
  (id, responseId, index) =>
    stringOf(id) ||
    (typeof responseId === "string" && responseId !== ""
      ? `call_${responseId.slice(0, LONGEST_PART)}_${index}`
      : `call_${callsBefore(messages) + index}`)

/** How many calls the conversation held already. */
export const callsBefore = (messages: ChatRequest["messages"]): number =>
  messages.reduce((count, message) => count + jsonRecordsOf(message.tool_calls).length, 0)
