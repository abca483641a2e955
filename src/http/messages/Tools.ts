/**
 * Tools of the Messages API as functions of a chat completion. Tools that Anthropic runs or defines
 * are refused by name: other providers do not have them.
 */
import { Result } from "effect"
import { type MessagesRequest } from "../../api/Messages.ts"
import { type Members } from "../../domain/Chat.ts"
import { kindOf, marked, membersOf, type Read, refused } from "./Blocks.ts"

export const chatTools = (tools: MessagesRequest["tools"]): Read<ReadonlyArray<Members>> =>
  Result.all((tools ?? []).map(toolOf))

const toolOf = (tool: Members, at: number): Read<Members> => {
  const { description, input_schema, name, strict, type } = tool
  if (type !== undefined && type !== null && type !== "custom") {
    return refused(
      `tools.${at}`,
      `${kindOf(tool)} is a tool of Anthropic's, which needs a provider of the Messages API.`
    )
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
export const chatToolChoice = (choice: MessagesRequest["tool_choice"]): Read<Members> => {
  if (choice === undefined || choice === null) return Result.succeed({})
  const single = choice["disable_parallel_tool_use"] === true ? { parallel_tool_calls: false } : {}
  switch (choice["type"]) {
    case "auto":
      return Result.succeed({ tool_choice: "auto", ...single })
    case "any":
      return Result.succeed({ tool_choice: "required", ...single })
    case "none":
      return Result.succeed({ tool_choice: "none" })
    case "tool":
      return Result.succeed({ tool_choice: { type: "function", function: { name: choice["name"] } }, ...single })
    default:
      return refused("tool_choice.type", "the choice is auto, any, tool or none.")
  }
}
