/** The name that a client gave its conversation in a header. */
import { type SessionHeaders } from "../../api/schemas/Session.ts"

/** The headers, in the order in which they count. */
const names = ["x-session-id", "x-claude-code-session-id", "session-id", "session_id", "conversation_id"] as const

/** Null: the client sent none. */
export const sessionIdOf = (headers: typeof SessionHeaders.Type): string | null => {
  for (const name of names) if (headers[name] !== undefined && headers[name] !== "") return headers[name]
  return null
}
