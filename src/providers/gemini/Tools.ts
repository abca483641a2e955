/**
 * Lowers tools and the tool choice to Gemini. Tools other than functions and unknown choices are
 * `Unsupported`.
 */
import { Result } from "effect"
import { resultFn } from "../../domain/runtime/ResultFn.ts"
import { type ChatRequest } from "../../domain/Chat.ts"
import { Unsupported } from "../Provider.ts"
import { isJsonRecord, stringOf, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"
import { validatesCalls } from "./Model.ts"

const refuse = (param: string, message: string): Result.Result<never, Unsupported> =>
  Result.fail(new Unsupported({ param, message }))

/** `tools` and `toolConfig`, or neither if the request has no tools. */
export const toolsOf = (request: ChatRequest, upstream: string): Result.Result<JsonRecord, Unsupported> => {
  const { tool_choice, tools } = request
  if (tools === undefined || tools === null || tools.length === 0)
    return Result.succeed(isJsonRecord(request["web_search_options"]) ? { tools: [{ googleSearch: {} }] } : {})
  return declared(tools, tool_choice ?? null, upstream)
}

const declared = resultFn(function* (
  tools: ReadonlyArray<JsonRecord>,
  asked: string | JsonRecord | null,
  upstream: string
) {
  const functionDeclarations = yield* Result.all(tools.map(declarationOf))
  const isValidated = tools.some(isStrict) && validatesCalls(upstream)
  const choice = (yield* choiceOf(asked)) ?? (isValidated ? { mode: "VALIDATED" } : null)
  return {
    tools: [{ functionDeclarations }],
    ...(choice === null ? {} : { toolConfig: { functionCallingConfig: choice } })
  }
})

/**
 * Gemini has no strict functions. In the mode `VALIDATED`, as in `ANY`, all calls follow their
 * schema.
 */
export const isStrict = ({ function: declared }: JsonRecord): boolean =>
  isJsonRecord(declared) && declared["strict"] === true

const declarationOf = (tool: JsonRecord): Result.Result<JsonRecord, Unsupported> => {
  const declared = tool["type"] === "function" && isJsonRecord(tool["function"]) ? tool["function"] : {}
  const name = stringOf(declared["name"])
  if (name === null) return refuse("tools", "only tools of type function are supported here")
  const description = stringOf(declared["description"])
  return Result.succeed({
    name,
    ...(description === null ? {} : { description }),
    ...(isJsonRecord(declared["parameters"]) ? { parametersJsonSchema: declared["parameters"] } : {})
  })
}

const modes: Readonly<Record<string, string>> = { auto: "AUTO", none: "NONE", required: "ANY" }

/** Null: the vendor's default, which is `auto`. */
const choiceOf = (choice: string | JsonRecord | null): Result.Result<JsonRecord | null, Unsupported> => {
  if (choice === null) return Result.succeed(null)
  if (typeof choice === "string") {
    const mode = modes[choice]
    return mode === undefined ? refuse("tool_choice", "unknown tool_choice") : Result.succeed({ mode })
  }
  if (choice["type"] === "allowed_tools" && isJsonRecord(choice["allowed_tools"])) {
    const { mode, tools } = choice["allowed_tools"]
    const allowedFunctionNames = jsonRecordsOf(tools).flatMap((tool) => nameOf(tool) ?? [])
    // `AUTO` allows no names; `VALIDATED` is the same with names.
    return Result.succeed({ mode: mode === "required" ? "ANY" : "VALIDATED", allowedFunctionNames })
  }
  const name = nameOf(choice)
  if (name === null) return refuse("tool_choice", "tool_choice must name a function here")
  return Result.succeed({ mode: "ANY", allowedFunctionNames: [name] })
}

const nameOf = (tool: JsonRecord): string | null =>
  isJsonRecord(tool["function"]) ? stringOf(tool["function"]["name"]) : null
