/** OpenAI's tools and tool choice as Gemini's. Refuses tools that are no functions and choices that it does not know. */
import { Result } from "effect"
import { type ChatRequest } from "../../domain/Chat.ts"
import { Unsupported } from "../Provider.ts"
import { isWire, stringOf, type Wire, wiresOf } from "../wire/Json.ts"

const refuse = (param: string, message: string): Result.Result<never, Unsupported> =>
  Result.fail(new Unsupported({ param, message }))

/** `tools` and `toolConfig`; neither where the request has no tools. */
export const toolsOf = ({ tool_choice, tools }: ChatRequest): Result.Result<Wire, Unsupported> => {
  if (tools === undefined || tools === null || tools.length === 0) return Result.succeed({})
  return Result.gen(function* () {
    const functionDeclarations = yield* Result.all(tools.map(declarationOf))
    const choice = yield* choiceOf(tool_choice ?? null)
    return {
      tools: [{ functionDeclarations }],
      ...(choice === null ? {} : { toolConfig: { functionCallingConfig: choice } })
    }
  })
}

const declarationOf = (tool: Wire): Result.Result<Wire, Unsupported> => {
  const declared = tool["type"] === "function" && isWire(tool["function"]) ? tool["function"] : {}
  const name = stringOf(declared["name"])
  if (name === null) return refuse("tools", "only tools of type function are supported here")
  const description = stringOf(declared["description"])
  return Result.succeed({
    name,
    ...(description === null ? {} : { description }),
    ...(isWire(declared["parameters"]) ? { parametersJsonSchema: declared["parameters"] } : {})
  })
}

const modes: Readonly<Record<string, string>> = { auto: "AUTO", none: "NONE", required: "ANY" }

/** Null: the vendor's default, which is `auto`. */
const choiceOf = (choice: string | Wire | null): Result.Result<Wire | null, Unsupported> => {
  if (choice === null) return Result.succeed(null)
  if (typeof choice === "string") {
    const mode = modes[choice]
    return mode === undefined ? refuse("tool_choice", "an unknown tool_choice") : Result.succeed({ mode })
  }
  if (choice["type"] === "allowed_tools" && isWire(choice["allowed_tools"])) {
    const { mode, tools } = choice["allowed_tools"]
    const allowedFunctionNames = wiresOf(tools).flatMap((tool) => nameOf(tool) ?? [])
    // `AUTO` takes no names; `VALIDATED` is its sibling that does.
    return Result.succeed({ mode: mode === "required" ? "ANY" : "VALIDATED", allowedFunctionNames })
  }
  const name = nameOf(choice)
  if (name === null) return refuse("tool_choice", "tool_choice must name a function here")
  return Result.succeed({ mode: "ANY", allowedFunctionNames: [name] })
}

const nameOf = (tool: Wire): string | null => (isWire(tool["function"]) ? stringOf(tool["function"]["name"]) : null)
