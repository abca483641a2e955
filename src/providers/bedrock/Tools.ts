/**
 * Lowers tools and the tool choice to Bedrock's Converse, including the gateway's tool for JSON
 * answers. Converse has no choice "none": then no tools are sent. Tools other than functions, and
 * `parallel_tool_calls: false` for models without that switch, are `Unsupported`.
 */
import { Result } from "effect"
import { resultFn, type StepsOf } from "../../domain/runtime/ResultFn.ts"
import { type ChatRequest } from "../../domain/Chat.ts"
import { Unsupported } from "../Provider.ts"
import { isJsonRecord, stringOf, type JsonRecord } from "../wire/Json.ts"
import { answerSchema, fitsStrict } from "../anthropic/Schema.ts"
import { type AnswerForm } from "./Answer.ts"
import { cachePoint } from "./Messages.ts"
import { type BedrockModel } from "./Model.ts"

export interface BedrockTools {
  readonly toolConfig: JsonRecord | null
  /** For `additionalModelRequestFields`. */
  readonly fields: JsonRecord
  /** True if the model must call a tool. */
  readonly isForced: boolean
  /** True if the `strict` of a tool was left out. */
  readonly lacksStrict: boolean
}

type Choice = { readonly type: "auto" | "any" } | { readonly type: "tool"; readonly name: string }

const unsupported = (param: string, message: string): Result.Result<never, Unsupported> =>
  Result.fail(new Unsupported({ param, message }))

/** `answer.tool` is added to the request's tools, and then one of them must be called. */
export const lowerTools = resultFn(function* (
  request: ChatRequest,
  model: BedrockModel,
  answer: AnswerForm
): StepsOf<Result.Result<BedrockTools, Unsupported>> {
  const asked = yield* choiceOf(request.tool_choice)
  const given = asked === null ? [] : (request.tools ?? [])
  const schemas = given.flatMap(strictSchema)
  const isStrict = model.jsonSchema && (model.claude === null ? schemas.length > 0 : fitsStrict(schemas))
  const lacksStrict = !isStrict && schemas.length > 0
  const own = (yield* Result.all(given.map((tool) => specsOf(tool, isStrict, model)))).flat()
  const tools = answer.tool === null ? own : [...own, specification(answer.tool)]
  if (tools.length === 0) return { toolConfig: null, fields: {}, isForced: false, lacksStrict }
  const choice = answer.tool === null ? asked : own.length > 0 ? any : named(answer.tool.name)
  const isForced = choice !== null && choice.type !== "auto"
  if (request.parallel_tool_calls === false && own.length > 0) {
    if (model.claude === null)
      return yield* unsupported("parallel_tool_calls", "this model does not support turning parallel tool calls off")
    const fields = { tool_choice: { ...choice, disable_parallel_tool_use: true } }
    return { toolConfig: { tools }, fields, isForced, lacksStrict }
  }
  const isDefault = answer.tool === null && (request.tool_choice ?? null) === null
  const toolConfig = isDefault ? { tools } : { tools, toolChoice: converseChoice(choice) }
  return { toolConfig, fields: {}, isForced, lacksStrict }
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

/** The schema of a strict tool, or none. */
const strictSchema = ({ function: called }: Readonly<Record<string, unknown>>): ReadonlyArray<JsonRecord> =>
  isJsonRecord(called) && called["strict"] === true && isJsonRecord(called["parameters"]) ? [called["parameters"]] : []

/** A tool, and the cache point that its `cache_control` asks for. `isStrict`: `strict` is kept. */
const specsOf = (
  tool: Readonly<Record<string, unknown>>,
  isStrict: boolean,
  { claude }: BedrockModel
): Result.Result<ReadonlyArray<JsonRecord>, Unsupported> => {
  const given = tool["function"]
  const name = isJsonRecord(given) ? stringOf(given["name"]) : null
  if (tool["type"] !== "function" || !isJsonRecord(given) || name === null)
    return unsupported("tools", "only functions are supported as tools")
  const parameters = isJsonRecord(given["parameters"]) ? given["parameters"] : {}
  const strict = isStrict && given["strict"] === true
  const schema = strict && claude !== null ? answerSchema(parameters) : parameters
  const control = tool["cache_control"] ?? given["cache_control"]
  return Result.succeed([
    specification({ name, description: stringOf(given["description"]), schema, ...(strict ? { strict } : {}) }),
    ...(isJsonRecord(control) ? [cachePoint(control)] : [])
  ])
}

interface Specified {
  readonly name: string
  readonly description: string | null
  readonly schema: JsonRecord
  readonly strict?: boolean
}

/** The schema must be of type object. A description must not be empty. */
const specification = ({ description, name, schema, strict }: Specified): JsonRecord => ({
  toolSpec: {
    name,
    ...(description ? { description } : {}),
    inputSchema: {
      json: Object.keys(schema).length === 0 ? { type: "object", properties: {} } : { type: "object", ...schema }
    },
    ...(strict === undefined ? {} : { strict })
  }
})
