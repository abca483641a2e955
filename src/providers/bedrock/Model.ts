/**
 * The abilities of a Bedrock model beyond the common form of Converse, derived from its name: the
 * switches of its family, which Converse passes to the model unread. For an unknown name, such as
 * an account's own profile, only the common form is used. Source: the user guide's pages on
 * inference, tool use and structured output, 2026-11-21.
 */
import { type ClaudeModel, claudeModel } from "../anthropic/Model.ts"

export interface BedrockModel {
  /** Null if the model is not a Claude. */
  readonly claude: ClaudeModel | null
  /** The form of its reasoning switch. */
  readonly reasoning: "claude" | "nova" | "effort" | "none"
  /** Supports a JSON schema for the whole answer. */
  readonly jsonSchema: boolean
  /** Lets a request force a tool. */
  readonly forcedTools: boolean
}

/** Open models for which Bedrock enforces a schema. */
const enforcesSchema = /gpt-oss|qwen3|deepseek\.v3|gemma-3|minimax|ministral|magistral|mistral-large-3|kimi|nemotron/
/** Models without forced tool calls. */
const unforced = /llama|deepseek\.r1|titan-text|command|jamba|palmyra/

/** `upstream`: a model id, or the id of an inference profile (`eu.anthropic.claude-…`). */
export const bedrockModel = (upstream: string): BedrockModel => {
  const name = upstream.toLowerCase()
  const claude = name.includes("claude") ? claudeModel(name) : null
  if (claude !== null) {
    return { claude, reasoning: "claude", jsonSchema: claude.jsonSchema, forcedTools: claude.forcedTools }
  }
  const jsonSchema = enforcesSchema.test(name)
  return {
    claude,
    reasoning: name.includes("gpt-oss") ? "effort" : name.includes("nova-2") ? "nova" : "none",
    jsonSchema,
    forcedTools: !jsonSchema && !unforced.test(name)
  }
}
