/**
 * Lowers tools and the tool choice to Bedrock's Converse, including the gateway's tool for JSON
 * answers. Converse has no choice "none": then no tools are sent. Tools other than functions, and
 * `parallel_tool_calls: false` for models without that switch, are `Unsupported`.
 */
import { Result } from "effect"
import { type ChatRequest } from "../../domain/Chat.ts"
import { Unsupported } from "../Provider.ts"
import { isJsonRecord, stringOf, type JsonRecord } from "../wire/Json.ts"
import { type AnswerForm } from "./Answer.ts"
import { type BedrockModel } from "./Model.ts"

export interface BedrockTools {
  readonly toolConfig: JsonRecord | null
  /** For `additionalModelRequestFields`. */
  readonly fields: JsonRecord
  /** True if the model must call a tool. */
  readonly forced: boolean
}

type Choice = { readonly type: "auto" | "any" } | { readonly type: "tool"; readonly name: string }

const unsupported = (param: string, message: string): Result.Result<never, Unsupported> =>
  Result.fail(new Unsupported({ param, message }))

/** `answer.tool` is added to the request's tools, and then one of them must be called. */
export const lowerTools = (
  request: ChatRequest,
  model: BedrockModel,
  answer: AnswerForm
): Result.Result<BedrockTools, Unsupported> =>
  Result.gen(function* () {
    const asked = yield* choiceOf(request.tool_choice)
    const own = asked === null ? [] : yield* Result.all((request.tools ?? []).map(specOf))
    const tools = answer.tool === null ? own : [...own, specification(answer.tool)]
    if (tools.length === 0) return { toolConfig: null, fields: {}, forced: false }
    const choice = answer.tool === null ? asked : own.length > 0 ? any : named(answer.tool.name)
    const forced = choice !== null && choice.type !== "auto"
    if (request.parallel_tool_calls === false && own.length > 0) {
      if (model.claude === null)
        return yield* unsupported("parallel_tool_calls", "this model does not support turning parallel tool calls off")
      const fields = { tool_choice: { ...choice, disable_parallel_tool_use: true } }
      return { toolConfig: { tools }, fields, forced }
    }
    const isDefault = answer.tool === null && (request.tool_choice ?? null) === null
    return { toolConfig: isDefault ? { tools } : { tools, toolChoice: converseChoice(choice) }, fields: {}, forced }
  })

const any: Choice = { type: "any" }
const named = (name: string): Choice => ({ type: "tool", name })

const converseChoice = (choice: Choice | null): JsonRecord =>
  choice?.type === "tool" ? { tool: { name: choice.name } } : { [choice?.type ?? "auto"]: {} }

/** Null if no tool may be called. */
const choiceOf = (choice: ChatRequest["tool_choice"]): Result.Result<Choice | null, Unsupported> => {
  if (choice === "none") return Result.succeed(null)
  if (choice === "required") return Result.succeed(any)
  if (choice === undefined || choice === null || choice === "auto") return Result.succeed({ type: "auto" })
  const name = isJsonRecord(choice) && isJsonRecord(choice["function"]) ? stringOf(choice["function"]["name"]) : null
  return name === null
    ? unsupported("tool_choice", "must be none, auto, required or a function's name")
    : Result.succeed(named(name))
}

const specOf = (tool: Readonly<Record<string, unknown>>): Result.Result<JsonRecord, Unsupported> => {
  const given = tool["function"]
  const name = isJsonRecord(given) ? stringOf(given["name"]) : null
  if (tool["type"] !== "function" || !isJsonRecord(given) || name === null)
    return unsupported("tools", "only functions are supported as tools")
  const parameters = isJsonRecord(given["parameters"]) ? given["parameters"] : {}
  return Result.succeed(specification({ name, description: stringOf(given["description"]), schema: parameters }))
}

/** The schema must be of type object. A description must not be empty. */
const specification = ({
  description,
  name,
  schema
}: {
  readonly name: string
  readonly description: string | null
  readonly schema: JsonRecord
}): JsonRecord => ({
  toolSpec: {
    name,
    ...(description ? { description } : {}),
    inputSchema: {
      json: Object.keys(schema).length === 0 ? { type: "object", properties: {} } : { type: "object", ...schema }
    }
  }
})
