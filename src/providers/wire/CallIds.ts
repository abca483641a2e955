/**
 * Ids for tool calls that come without one. A client needs an id to answer a call, and would take
 * two calls without ids for one.
 */
import { type ChatRequest } from "../../domain/Chat.ts"
import { stringOf, jsonRecordsOf } from "./Json.ts"

/**
 * Returns the id of the call at `index` of a response: the provider's, or one that is unique in the
 * conversation.
 */
export type CallIds = (id: unknown, responseId: unknown, index: number) => string

/**
 * Longest part of the provider's response id that goes into a generated id, in UTF-16 code units.
 */
const LONGEST_PART = 64

export const callIds =
  ({ messages }: ChatRequest): CallIds =>
  (id, responseId, index) =>
    stringOf(id) ||
    (typeof responseId === "string" && responseId !== ""
      ? `call_${responseId.slice(0, LONGEST_PART)}_${index}`
      : `call_${callsBefore(messages) + index}`)

/** Number of tool calls already in the conversation. */
export const callsBefore = (messages: ChatRequest["messages"]): number =>
  messages.reduce((count, message) => count + jsonRecordsOf(message.tool_calls).length, 0)
