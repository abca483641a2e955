/**
 * Lowers tools, the tool choice and the response format. A JSON answer is requested with the API's
 * own schema if the model and the schema allow it; otherwise with a forced tool of the gateway,
 * whose arguments become the content; and with an instruction if the model allows no forced tools.
 * Tools other than functions, and a forced choice on a model without it, are `Unsupported`.
 */
import { Result } from "effect"
import { resultFn, type StepsOf } from "../../domain/runtime/ResultFn.ts"
import { type ChatRequest } from "../../domain/Chat.ts"
import { Unsupported } from "../Provider.ts"
import { isJsonRecord, stringOf, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"
import { type ClaudeModel } from "./Model.ts"
import { cached } from "./Parts.ts"
import { answerSchema, fitsStrict } from "./Schema.ts"

/** The tool whose arguments are the content. */
export const ANSWER_TOOL = "respond_with_json"

export interface Tooling {
  readonly tools: ReadonlyArray<JsonRecord>
  readonly choice: JsonRecord | null
  /** The schema of the whole answer. */
  readonly schema: JsonRecord | null
  /** Appended to the instructions. */
  readonly instruction: string | null
  /** A tool must be called, so the model cannot think first. */
  readonly isForced: boolean
  /** The `strict` of a tool was left out. */
  readonly lacksStrict: boolean
}

type Choice = { readonly type: "auto" | "none" | "any" } | { readonly type: "tool"; readonly name: string }
type Lowered<A> = Result.Result<A, Unsupported>

const unsupported = (param: string, message: string) => Result.fail(new Unsupported({ param, message }))

export const lowerTools = resultFn(function* (
  request: ChatRequest,
  claude: ClaudeModel,
  isPrefilled: boolean
): StepsOf<Lowered<Tooling>> {
  const given = jsonRecordsOf(request.tools)
  const isStrict = claude.jsonSchema && fitsStrict(given.flatMap(strictSchema))
  const all = yield* Result.all(given.map((tool) => toolOf(tool, isStrict)))
  const { allowed, choice } = yield* choiceOf(request.tool_choice)
  const tools = allowed === null ? all : all.filter((tool) => allowed.has(stringOf(tool["name"]) ?? ""))
  const mustCall = tools.length > 0 && (choice.type === "any" || choice.type === "tool")
  if (mustCall && !claude.forcedTools) {
    return yield* unsupported("tool_choice", "this model does not support a forced tool call")
  }
  const oneAtATime = request.parallel_tool_calls === false && choice.type !== "none"
  const single = oneAtATime ? { disable_parallel_tool_use: true } : {}
  const plain: Tooling = {
    tools,
    choice: tools.length === 0 || (choice.type === "auto" && !oneAtATime) ? null : { ...choice, ...single },
    schema: null,
    instruction: null,
    isForced: mustCall,
    lacksStrict: !isStrict && given.some((tool) => strictSchema(tool).length > 0)
  }
  const format = yield* formatOf(request.response_format)
  // A prefill has fixed its format already. A forced call leaves the format to the next answer.
  if (format === null || isPrefilled || mustCall) return plain
  if (format.schema !== null && claude.jsonSchema && (format.isStrict || !claude.forcedTools)) {
    return { ...plain, schema: answerSchema(format.schema) }
  }
  if (!claude.forcedTools) return { ...plain, instruction: "Answer with one JSON object and nothing else." }
  const answer = yield* answerTool(format)
  const alone = tools.length === 0 || choice.type === "none"
  return {
    ...plain,
    tools: [...tools, answer],
    choice: alone ? { type: "tool", name: ANSWER_TOOL, disable_parallel_tool_use: true } : { type: "any", ...single },
    isForced: true
  }
})

/** The schema of a strict tool, or none. */
const strictSchema = ({ function: called }: JsonRecord): ReadonlyArray<JsonRecord> =>
  isJsonRecord(called) && called["strict"] === true ? [inputSchema(called["parameters"])] : []

/** `isStrict`: the `strict` of tools is kept. */
const toolOf = (tool: JsonRecord, isStrict: boolean): Lowered<JsonRecord> => {
  const { function: called } = tool
  const name = isJsonRecord(called) ? stringOf(called["name"]) : null
  if (!isJsonRecord(called) || name === null) return unsupported("tools", "only tools of type function are supported")
  const description = stringOf(called["description"])
  const schema = inputSchema(called["parameters"])
  const strict = isStrict && called["strict"] === true
  const lowered = {
    name,
    ...(description === null ? {} : { description }),
    input_schema: strict ? answerSchema(schema) : schema,
    ...(strict ? { strict } : {})
  }
  return Result.succeed(cached(lowered, "cache_control" in tool ? tool : called))
}

/** The API requires an object. */
const inputSchema = (parameters: unknown): JsonRecord =>
  isJsonRecord(parameters) && Object.keys(parameters).length > 0
    ? { type: "object", ...parameters }
    : { type: "object", properties: {} }

const choiceOf = (
  given: ChatRequest["tool_choice"]
): Lowered<{ readonly choice: Choice; readonly allowed: ReadonlySet<string> | null }> => {
  const chosen = (choice: Choice, allowed: ReadonlySet<string> | null = null) => Result.succeed({ choice, allowed })
  if (given === undefined || given === null || given === "auto") return chosen({ type: "auto" })
  if (given === "none") return chosen({ type: "none" })
  if (given === "required") return chosen({ type: "any" })
  if (isJsonRecord(given)) {
    const name = functionName(given)
    if (name !== null) return chosen({ type: "tool", name })
    const allowed = given["allowed_tools"]
    if (given["type"] === "allowed_tools" && isJsonRecord(allowed)) {
      const names = new Set(jsonRecordsOf(allowed["tools"]).flatMap((tool) => functionName(tool) ?? []))
      return chosen({ type: allowed["mode"] === "required" ? "any" : "auto" }, names)
    }
  }
  return unsupported("tool_choice", "auto, none, required, a function or allowed tools are supported")
}

const functionName = ({ function: called }: JsonRecord): string | null =>
  isJsonRecord(called) ? stringOf(called["name"]) : null

interface Format {
  /** `null`: any JSON object. */
  readonly schema: JsonRecord | null
  readonly isStrict: boolean
  readonly description: string | null
}

const formatOf = (format: ChatRequest["response_format"]): Lowered<Format | null> => {
  const type = format?.["type"]
  if (format === undefined || format === null || type === "text") return Result.succeed(null)
  if (type === "json_object") return Result.succeed({ schema: null, isStrict: false, description: null })
  const asked = format["json_schema"]
  if (type !== "json_schema" || !isJsonRecord(asked)) {
    return unsupported("response_format", "text, json_object and json_schema are supported")
  }
  return Result.succeed({
    schema: isJsonRecord(asked["schema"]) ? asked["schema"] : null,
    isStrict: asked["strict"] === true,
    description: stringOf(asked["description"])
  })
}

const answerTool = ({ description, schema }: Format): Lowered<JsonRecord> => {
  if (schema !== null && "type" in schema && schema["type"] !== "object") {
    return unsupported("response_format", "the schema must describe an object")
  }
  return Result.succeed({
    name: ANSWER_TOOL,
    description: description ?? "Gives the answer to the user.",
    input_schema: schema === null ? { type: "object", additionalProperties: true } : { type: "object", ...schema }
  })
}
