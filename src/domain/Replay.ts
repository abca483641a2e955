/** Replays a whole reply as a stream. */
import { type ChatEvent, type ChatReply, type Delta } from "./Chat.ts"

/** The events of a whole reply: per choice one delta and its finish reason, then the end. */
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
