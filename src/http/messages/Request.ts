/**
 * Translates a request of the Messages API to a chat completion. A member without a counterpart is
 * left out and named if the answer is as good without it. If it is not, only a provider of the
 * Messages API can answer.
 */
import { Predicate, Result } from "effect"
import { hash } from "node:crypto"
import { type CountTokensRequest, type MessagesRequest } from "../../api/Messages.ts"
import { resultFn, type StepsOf } from "../../domain/runtime/ResultFn.ts"
import { type ChatRequest, type Members } from "../../domain/Chat.ts"
import { passStrings } from "../../domain/json/SentText.ts"
import { type Inexpressible } from "../../domain/Native.ts"
import { Beyond } from "./Beyond.ts"
import { kindOf, membersOf, type Read, refused } from "./Blocks.ts"
import { withLoadedTools } from "./LoadedTools.ts"
import { chatToolChoice, chatTools } from "./Tools.ts"
import { chatMessages, systemMessages } from "./Turns.ts"

export interface Translated {
  readonly request: ChatRequest
  /** The members that were left out. */
  readonly dropped: ReadonlyArray<string>
  /** What the chat completion cannot express; null: nothing. */
  readonly only: Inexpressible | null
}

/** Members without which the answer would not be the one that was asked for. */
const demanded = ["mcp_servers", "container", "inference_geo"] as const

/** Members that are translated, or that say nothing about the answer. */
const known = new Set([
  "model",
  "max_tokens",
  "messages",
  "system",
  "stream",
  "tools",
  "tool_choice",
  "thinking",
  "output_config",
  "metadata",
  "stop_sequences",
  "temperature",
  "top_p",
  "top_k",
  "service_tier",
  "provider",
  "models",
  "betas",
  "diagnostics",
  ...demanded
])

/** Members of chat completions that mean the same here. */
const passed = ["cache_control", "session_id", "prompt_cache_key", "safety_identifier"] as const

export const translated = (body: MessagesRequest): Read<Translated> =>
  Result.map(prompted(body), ({ dropped, only, request }) => ({
    dropped,
    only,
    request: {
      ...request,
      max_tokens: body.max_tokens,
      stream: body.stream,
      ...given("temperature", body.temperature),
      ...given("top_p", body.top_p),
      ...given("top_k", body.top_k),
      ...(body.stop_sequences == null || body.stop_sequences.length === 0 ? {} : { stop: body.stop_sequences }),
      ...given("user", userOf(body.metadata?.["user_id"])),
      ...given("service_tier", body.service_tier === "standard_only" ? "default" : body.service_tier),
      ...given("provider", body.provider),
      ...given("models", body.models)
    }
  }))

/** The part of a request that `count_tokens` takes too. */
export const prompted = resultFn(function* (sent: CountTokensRequest): StepsOf<Read<Translated>> {
  const body = withLoadedTools(sent)
  const asked: Members = body
  if (isAsked(asked["thread"])) return yield* refused("thread", threadless, "thread_unsupported_request")
  const beyond = new Beyond()
  for (const name of demanded) if (isAsked(asked[name])) beyond.add(name, demand)
  const system = systemMessages(body.system, beyond)
  const messages = yield* chatMessages(body.messages, beyond)
  const tools = yield* chatTools(body.tools, beyond)
  const choice = tools.length === 0 ? {} : chatToolChoice(body.tool_choice, beyond)
  const format = formatOf(body.output_config, beyond)
  const conversation = [...system, ...messages]
  passStrings(body.messages, conversation)
  return {
    dropped: [
      ...Object.keys(asked).filter((name) => !known.has(name) && !isPassed(name) && isAsked(asked[name])),
      ...new Set(body.messages.flatMap(membersBeside))
    ],
    only: beyond.first,
    request: {
      model: plainName(body.model),
      messages: conversation,
      stream: false,
      ...(tools.length === 0 ? {} : { tools }),
      ...choice,
      ...format,
      ...reasoningOf(body),
      ...Object.fromEntries(passed.flatMap((name) => (isAsked(asked[name]) ? [[name, asked[name]]] : [])))
    }
  }
})

/** The longest name of a user that OpenAI takes. Claude Code sends a longer JSON text. */
const LONGEST_USER = 64

const userOf = (id: unknown): string | null => {
  if (typeof id !== "string") return null
  return id.length <= LONGEST_USER ? id : hash("sha256", id, "hex")
}

/** Claude Code marks the name of a model with a longer context, such as `claude-sonnet-4-5[1m]`. */
const plainName = (model: string): string => model.replace(/\[\d+m\]$/i, "")

/** The members of one message that are left out. */
const membersBeside = (message: Members): ReadonlyArray<string> =>
  Object.keys(message)
    .filter((name) => name !== "role" && name !== "content" && isAsked(message[name]))
    .map((name) => `messages.${name}`)

const demand = "only a provider of the Messages API does what this asks for."

/** Anthropic's libraries then send the whole conversation by themselves. */
const threadless = "the gateway keeps no conversation. Send all messages, without thread."

const isPassed = (name: string): boolean => passed.some((each) => each === name)

const isAsked = (value: unknown): boolean =>
  value !== undefined && value !== null && (!Array.isArray(value) || value.length > 0)

const given = (name: string, value: unknown): Members =>
  value === undefined || value === null ? {} : { [name]: value }

/** An effort counts before a budget, and thinking that is switched off before both. */
const reasoningOf = ({ output_config: config, thinking }: CountTokensRequest): Members => {
  const effort = config?.["effort"]
  const kind = thinking?.["type"]
  if (kind === "disabled") return { reasoning: { enabled: false } }
  if (typeof effort === "string") return { reasoning: { effort } }
  if (kind === "enabled" && typeof thinking?.["budget_tokens"] === "number") {
    return { reasoning: { max_tokens: thinking["budget_tokens"] } }
  }
  return kind === undefined ? {} : { reasoning: { enabled: true } }
}

const formatOf = (config: CountTokensRequest["output_config"], beyond: Beyond): Members => {
  const { schema, type } = membersOf(config?.["format"])
  if (type === undefined) return {}
  if (type === "json_schema" && Predicate.isObject(schema)) {
    return { response_format: { type: "json_schema", json_schema: { name: "answer", strict: true, schema } } }
  }
  beyond.add("output_config.format", `the format ${kindOf({ type })} is not known. Send json_schema.`)
  return {}
}
