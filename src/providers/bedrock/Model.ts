/**
 * What one model on Bedrock takes beyond the common form of Converse, told from its name: its family's own switches, which
 * Converse hands on unread. Of a name that tells nothing, such as a profile of an account's own, nothing is known, and
 * only the common form is used. After the user guide's pages on inference, tool use and structured output, 2026-11-21.
 */
import { type ClaudeModel, claudeModel } from "../anthropic/Model.ts"

export interface BedrockModel {
  /** Null: not a Claude. */
  readonly claude: ClaudeModel | null
  /** How it is told how hard to think. */
  readonly reasoning: "claude" | "nova" | "effort" | "none"
  /** Takes a JSON schema for the whole answer. */
  readonly jsonSchema: boolean
  /** Lets a request force a tool. */
  readonly forcedTools: boolean
}

/** Open models that Bedrock itself holds to a schema. */
const heldToSchema = /gpt-oss|qwen3|deepseek\.v3|gemma-3|minimax|ministral|magistral|mistral-large-3|kimi|nemotron/
/** Models that call tools as they see fit, or not at all. */
const unforced = /llama|deepseek\.r1|titan-text|command|jamba|palmyra/

/** `upstream`: a model's id, or that of an inference profile (`eu.anthropic.claude-…`). */
export const bedrockModel = (upstream: string): BedrockModel => {
  const name = upstream.toLowerCase()
  const claude = name.includes("claude") ? claudeModel(name) : null
  if (claude !== null) {
    return { claude, reasoning: "claude", jsonSchema: claude.jsonSchema, forcedTools: claude.forcedTools }
  }
  const jsonSchema = heldToSchema.test(name)
  return {
    claude,
    reasoning: name.includes("gpt-oss") ? "effort" : name.includes("nova-2") ? "nova" : "none",
    jsonSchema,
    forcedTools: !jsonSchema && !unforced.test(name)
  }
}
