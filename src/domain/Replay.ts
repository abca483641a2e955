/** Replays a whole reply as a stream. */
import { type ChatEvent, type ChatReply, type Delta, type Members } from "./Chat.ts"

/** The events of a whole reply: per choice one delta and its finish reason, then the end. */
export const replayEvents = ({ choices, extra, native: _native, ...end }: ChatReply): ReadonlyArray<ChatEvent> => [
  ...choices.map((choice): ChatEvent => {
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
      ],
      ...chunkExtra(extra, end.systemFingerprint)
    }
  }),
  { _tag: "End", ...end }
]

/** In a stream the fingerprint is a member of each chunk. */
const chunkExtra = (extra: Members | undefined, fingerprint: string | null): { readonly extra?: Members } =>
  extra === undefined && fingerprint === null
    ? {}
    : { extra: { ...extra, ...(fingerprint === null ? {} : { system_fingerprint: fingerprint }) } }
