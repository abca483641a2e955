/**
 * How a JSON answer is requested on Bedrock: with Converse's text format if the model enforces
 * schemas, with a forced tool whose arguments become the content, or with an instruction if the
 * model supports neither. Claude gets the tool unless the request asks for strict adherence,
 * because the text format rejects many schemas.
 */
import { Result } from "effect"
import { type ChatRequest } from "../../domain/Chat.ts"
import { Unsupported } from "../Provider.ts"
import { isJsonRecord, stringOf, type JsonRecord } from "../wire/Json.ts"
import { answerSchema } from "../anthropic/Schema.ts"
import { type BedrockModel } from "./Model.ts"

export interface AnswerForm {
  /** For `outputConfig`. */
  readonly outputConfig: JsonRecord | null
  readonly tool: { readonly name: string; readonly description: string | null; readonly schema: JsonRecord } | null
  /** Appended to the system prompt. */
  readonly instruction: string | null
}

const text: AnswerForm = { outputConfig: null, tool: null, instruction: null }
const DEFAULT_NAME = "json_answer"

const unsupported = (message: string): Result.Result<never, Unsupported> =>
  Result.fail(new Unsupported({ param: "response_format", message }))

export const lowerAnswer = (
  { response_format: format, tool_choice: choice }: ChatRequest,
  model: BedrockModel
): Result.Result<AnswerForm, Unsupported> => {
  const type = format?.["type"] ?? "text"
  if (type === "text") return Result.succeed(text)
  // A forced tool call leaves the format to the next answer.
  if (choice === "required" || isJsonRecord(choice)) return Result.succeed(text)
  if (type === "json_object") return Result.succeed(formOf(DEFAULT_NAME, null, null, false, model))
  const given = format?.["json_schema"]
  if (type !== "json_schema" || !isJsonRecord(given) || !isJsonRecord(given["schema"]))
    return unsupported("must be text, json_object or json_schema with a schema")
  const { schema } = given
  if ("type" in schema && schema["type"] !== "object") return unsupported("the schema must describe an object")
  const name = stringOf(given["name"]) || DEFAULT_NAME
  return Result.succeed(formOf(name, stringOf(given["description"]), schema, given["strict"] === true, model))
}

const formOf = (
  name: string,
  description: string | null,
  schema: JsonRecord | null,
  strict: boolean,
  { claude, forcedTools, jsonSchema }: BedrockModel
): AnswerForm => {
  if (schema !== null && jsonSchema && (strict || !forcedTools)) {
    const held = JSON.stringify(claude === null ? schema : answerSchema(schema))
    const structure = { jsonSchema: { schema: held, name, ...(description ? { description } : {}) } }
    return { ...text, outputConfig: { textFormat: { type: "json_schema", structure } } }
  }
  if (forcedTools) {
    const tool = { name, description: description ?? "Gives the answer to the user.", schema: schema ?? anyObject }
    return { ...text, tool }
  }
  const form = schema === null ? "" : ` that follows this JSON schema: ${JSON.stringify(schema)}`
  return { ...text, instruction: `Answer with nothing but one JSON object${form}` }
}

const anyObject = { type: "object", additionalProperties: true }
