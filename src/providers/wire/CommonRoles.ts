/**
 * Conversations in the four roles that every dialect knows. `developer` becomes `system`. The older
 * form of tool calls, `function_call` and the role `function`, becomes `tool_calls` and `tool`,
 * with generated ids: a function's result answers the latest call before it. Spoken answers become
 * their transcript.
 */
import { type ChatMessage, type Role } from "../../domain/Chat.ts"
import { isJsonRecord, stringOf } from "./Json.ts"

export type CommonRole = Exclude<Role, "developer" | "function">

export interface CommonMessage extends ChatMessage {
  readonly role: CommonRole
}

export const inCommonRoles = (messages: ReadonlyArray<ChatMessage>): ReadonlyArray<CommonMessage> => {
  let made = 0
  return messages.map((message): CommonMessage => {
    switch (message.role) {
      case "developer":
        return { ...message, role: "system" }
      case "function":
        return { ...message, role: "tool", tool_call_id: `call_${made}` }
      case "assistant": {
        const { audio, content, function_call: called, tool_calls, ...rest } = message
        const spoken = isJsonRecord(audio) ? stringOf(audio["transcript"]) : null
        const calls = tool_calls?.length
          ? tool_calls
          : isJsonRecord(called)
            ? [{ id: `call_${++made}`, type: "function", function: called }]
            : null
        return {
          ...rest,
          role: message.role,
          content: content ?? spoken,
          ...(calls === null ? {} : { tool_calls: calls })
        }
      }
      default:
        return { ...message, role: message.role }
    }
  })
}
