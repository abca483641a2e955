/** A whole reply played back as a stream. */
import { type ChatEvent, type ChatReply, type Delta } from "./Chat.ts"

/** A whole reply as the events that a stream of it would have had: one delta a choice, its finish reason, the end. */
export const replayEvents = (reply: ChatReply): ReadonlyArray<ChatEvent> => [
  ...reply.choices.map((choice): ChatEvent => {
    const { finish_reason: finishReason, index, message, ...rest } = choice
    const { tool_calls: calls, ...members } = message
    const delta: Delta = {
      ...members,
      ...(calls === undefined ? {} : { tool_calls: calls.map((call, at) => ({ ...call, index: at })) })
    }
    return {
      _tag: "Choices",
      choices: [
        { ...rest, index, delta, finish_reason: null },
        { index, delta: {}, finish_reason: finishReason }
      ]
    }
  }),
  { _tag: "End", usage: reply.usage, systemFingerprint: reply.systemFingerprint }
]
