/**
 * Tools of the Messages API as functions of a chat completion. Tools that Anthropic runs or defines
 * are beyond one: other providers do not have them. They stay as they are, to be counted and
 * searched.
 */
import { Result } from "effect"
import { type MessagesRequest } from "../../api/Messages.ts"
import { type Members } from "../../domain/Chat.ts"
import { type Beyond } from "./Beyond.ts"
import { kindOf, marked, membersOf, type Read, refused } from "./Blocks.ts"

export const chatTools = (tools: MessagesRequest["tools"], beyond: Beyond): Read<ReadonlyArray<Members>> =>
  Result.all((tools ?? []).map((tool, at) => toolOf(tool, at, beyond)))

const toolOf = (tool: Members, at: number, beyond: Beyond): Read<Members> => {
  const { description, input_schema, name, strict, type } = tool
  if (type !== undefined && type !== null && type !== "custom") {
    beyond.add(`tools.${at}`, `${kindOf(tool)} is a tool of Anthropic's, which needs a provider of the Messages API.`)
    return Result.succeed(tool)
  }
  if (typeof name !== "string") return refused(`tools.${at}.name`, "a tool has a name.")
  return Result.succeed({
    type: "function",
    function: {
      name,
      ...(typeof description === "string" ? { description } : {}),
      parameters: membersOf(input_schema),
      ...(typeof strict === "boolean" ? { strict } : {})
    },
    ...marked(tool)
  })
}

/** The members of a request for its choice of tools. */
export const chatToolChoice = (choice: MessagesRequest["tool_choice"], beyond: Beyond): Members => {
  if (choice === undefined || choice === null) return {}
  const single = choice["disable_parallel_tool_use"] === true ? { parallel_tool_calls: false } : {}
  switch (choice["type"]) {
    case "auto":
      return { tool_choice: "auto", ...single }
    case "any":
      return { tool_choice: "required", ...single }
    case "none":
      return { tool_choice: "none" }
    case "tool":
      return { tool_choice: { type: "function", function: { name: choice["name"] } }, ...single }
    default:
      beyond.add("tool_choice.type", "the choice is auto, any, tool or none.")
      return {}
  }
}
