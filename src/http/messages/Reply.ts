/**
 * A whole chat completion as a message of the Messages API: thoughts, text and calls, as blocks in
 * this order.
 */
import { Predicate } from "effect"
import { type Message } from "../../api/Messages.ts"
import { type Members, type ReplyChoice, type UsageInfo } from "../../domain/Chat.ts"
import { parseJson } from "../../domain/json/Json.ts"
import { carried } from "../../domain/ThoughtCarrier.ts"
import { type Completed, type Head } from "../../gateway/request/Answer.ts"
import { blocksIn, membersOf, textOf } from "./Blocks.ts"
import { callDetail, isCarried } from "./Thoughts.ts"
import { messagesUsage, nativeUsage, stopReason, withStopReason } from "./Usage.ts"

export interface MessageForm {
  /** The name that the request used. Clients discard the thoughts of other models. */
  readonly model: string
  /** The client wants signatures, but no text of thoughts. */
  readonly omitsThinking: boolean
}

/** The members of a message that are known at its beginning. */
export const messageHead = ({ completionId }: Head, { model }: MessageForm) =>
  ({
    id: completionId.replace(/^chatcmpl/, "msg"),
    type: "message",
    role: "assistant",
    model,
    stop_sequence: null,
    stop_details: null,
    container: null
  }) as const

export const messageOf = (
  { head, reply, usage }: Extract<Completed, { readonly _tag: "Reply" }>,
  form: MessageForm
): Message => {
  if (reply.native !== undefined) return nativeMessage(reply.native, head, usage, form)
  const [choice] = reply.choices
  const calls = blocksIn(choice?.message.tool_calls)
  const refusal = textOf(choice?.message.refusal)
  const text = textOf(choice?.message.content) + refusal
  return {
    ...messageHead(head, form),
    content: [
      ...(choice === undefined ? [] : thinkingBlocks(choice.message, form)),
      ...(text === "" ? [] : [textBlock(text)]),
      ...calls.flatMap(callBlocks)
    ],
    stop_reason: stopReason(choice?.finish_reason ?? null, calls.length > 0, refusal !== ""),
    ...(refusal === "" ? {} : { stop_details: refusalDetails(refusal) }),
    usage: messagesUsage(usage)
  }
}

/** The vendor's own message. Its id and its model are the gateway's. */
const nativeMessage = (native: Members, head: Head, usage: UsageInfo, form: MessageForm): Message => {
  const { id, model, role, type, ...rest } = messageHead(head, form)
  const content = blocksIn(native["content"])
  const hasCalls = content.some(({ type: kind }) => kind === "tool_use")
  const { stop_reason: reason, stop_sequence: sequence } = withStopReason(native, hasCalls)
  return {
    ...rest,
    ...native,
    id,
    type,
    role,
    model,
    content,
    stop_reason: typeof reason === "string" ? reason : null,
    stop_sequence: typeof sequence === "string" ? sequence : null,
    usage: nativeUsage(membersOf(native["usage"]), usage)
  }
}

export const textBlock = (text: string) => ({ type: "text", text, citations: null })
export const thinkingBlock = (thinking: string, signature: string) => ({ type: "thinking", thinking, signature })
export const redactedBlock = (detail: Members) => ({ type: "redacted_thinking", data: carried(detail) })
export const toolBlock = (id: unknown, name: unknown, input: unknown) => ({
  type: "tool_use",
  id,
  name,
  input,
  caller: { type: "direct" }
})
export const refusalDetails = (explanation: string) => ({ type: "refusal", category: null, explanation })

/** The text of a thought, whether it is the model's or a summary. */
export const thoughtText = ({ summary, text }: Members): string => textOf(text) || textOf(summary)

const thinkingBlocks = (
  { reasoning, reasoning_details }: ReplyChoice["message"],
  { omitsThinking }: MessageForm
): ReadonlyArray<Members> => {
  const details = blocksIn(reasoning_details)
  const shown = (text: string, signature: string): ReadonlyArray<Members> => {
    const told = omitsThinking ? "" : text
    return told === "" && signature === "" ? [] : [thinkingBlock(told, signature)]
  }
  const hasText = details.some((detail) => thoughtText(detail) !== "")
  return [
    ...(hasText ? [] : shown(textOf(reasoning), "")),
    ...details.flatMap((detail): ReadonlyArray<Members> =>
      detail["type"] === "reasoning.encrypted"
        ? [redactedBlock(detail)]
        : shown(thoughtText(detail), isCarried(detail) ? carried(detail) : "")
    )
  ]
}

const callBlocks = (call: Members): ReadonlyArray<Members> => {
  const { arguments: given, name } = { arguments: "", name: "", ...membersOf(call["function"]) }
  const detail = callDetail(call)
  return [...(detail === null ? [] : [redactedBlock(detail)]), toolBlock(call["id"], name, inputOf(textOf(given)))]
}

/** The vendor's own words for an input that a model did not write as an object. */
const inputOf = (text: string): Members => {
  if (text.trim() === "") return {}
  const input = parseJson(text)
  return Predicate.isObject(input) ? { ...input } : { INVALID_JSON: text }
}
