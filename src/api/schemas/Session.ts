/** The headers by which a client names its conversation. */
import { Schema } from "effect"

const byCodex = Schema.optionalKey(
  Schema.String.annotate({ description: "As `x-session-id`, which comes first. Codex sends it." })
)

export const SessionHeaders = Schema.Struct({
  "x-session-id": Schema.optionalKey(
    Schema.String.annotate({
      description:
        "Names the conversation, which stays with the provider whose prompt cache it warmed. `prompt_cache_key` and `session_id` of the body come first."
    })
  ),
  "x-claude-code-session-id": Schema.optionalKey(
    Schema.String.annotate({ description: "As `x-session-id`, which comes first. Claude Code sends it." })
  ),
  "session-id": byCodex,
  session_id: byCodex,
  conversation_id: byCodex
})
