/**
 * Lowers tools, the tool choice and the response format. The Responses API writes them flat,
 * without the member `function` or `json_schema`. Its tools and formats are strict unless told
 * otherwise, so `strict` is always sent. Tools of the vendor's own and deprecated `functions` are
 * `Unsupported`.
 */
import { Result } from "effect"
import { resultFn, type StepsOf } from "../../domain/runtime/ResultFn.ts"
import { type ChatRequest } from "../../domain/Chat.ts"
import { isJsonRecord, stringOf, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"
import { type Lowered, unsupported } from "./Parts.ts"

/** The members of the body for tools and their choice. */
export const lowerTools = resultFn(function* (request: ChatRequest): StepsOf<Lowered<JsonRecord>> {
  const { parallel_tool_calls, tool_choice, tools } = request
  if (Array.isArray(request["functions"])) return yield* unsupported("functions", "send tools instead of functions")
  const lowered = yield* Result.all(jsonRecordsOf(tools).map(toolOf))
  return {
    ...(lowered.length === 0 ? {} : { tools: lowered }),
    ...(tool_choice === undefined || tool_choice === null ? {} : { tool_choice: yield* choiceOf(tool_choice) }),
    ...(typeof parallel_tool_calls === "boolean" ? { parallel_tool_calls } : {})
  }
})

const toolOf = (tool: JsonRecord): Lowered<JsonRecord> => {
  const { custom, function: called, type } = tool
  if (isJsonRecord(called) && typeof called["name"] === "string") {
    const { description, name, parameters, strict } = called
    return Result.succeed({
      type: "function",
      name,
      ...(typeof description === "string" ? { description } : {}),
      parameters: isJsonRecord(parameters) ? parameters : noParameters,
      strict: strict === true
    })
  }
  if (isJsonRecord(custom) && typeof custom["name"] === "string") {
    const { description, format, name } = custom
    return Result.succeed({
      type: "custom",
      name,
      ...(typeof description === "string" ? { description } : {}),
      ...(isJsonRecord(format) ? { format: inputFormat(format) } : {})
    })
  }
  return unsupported("tools", `tools of type function and custom are supported, ${String(type)} is not`)
}

const noParameters = { type: "object", properties: {}, required: [], additionalProperties: false }

/** The format of a custom tool's input. Its grammar is flat here. */
const inputFormat = ({ grammar, ...format }: JsonRecord): JsonRecord =>
  isJsonRecord(grammar) ? { ...format, ...grammar } : format

const choiceOf = (given: NonNullable<ChatRequest["tool_choice"]>): Lowered<unknown> => {
  if (typeof given === "string") return Result.succeed(given)
  const named = namedTool(given)
  if (named !== null) return Result.succeed(named)
  const allowed = given["allowed_tools"]
  if (given["type"] !== "allowed_tools" || !isJsonRecord(allowed)) {
    return unsupported("tool_choice", "a mode, a function, a custom tool or allowed tools are supported")
  }
  const tools = jsonRecordsOf(allowed["tools"]).map((tool) => namedTool(tool) ?? tool)
  return Result.succeed({ type: "allowed_tools", mode: allowed["mode"] ?? "auto", tools })
}

const namedTool = ({ custom, function: called }: JsonRecord): JsonRecord | null => {
  if (isJsonRecord(called)) return { type: "function", name: called["name"] }
  return isJsonRecord(custom) ? { type: "custom", name: custom["name"] } : null
}

/** The format of the answer, or null if the request has none. */
export const formatOf = (format: ChatRequest["response_format"]): Lowered<JsonRecord | null> => {
  if (format === undefined || format === null) return Result.succeed(null)
  const { json_schema: asked, type } = format
  if (type === "text" || type === "json_object") return Result.succeed({ type })
  if (type !== "json_schema" || !isJsonRecord(asked)) {
    return unsupported("response_format", "text, json_object and json_schema are supported")
  }
  const description = stringOf(asked["description"])
  return Result.succeed({
    type,
    name: asked["name"],
    ...(description === null ? {} : { description }),
    schema: asked["schema"] ?? {},
    strict: asked["strict"] === true
  })
}
