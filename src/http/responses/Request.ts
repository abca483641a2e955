/**
 * Translates a request of the Responses API to a chat completion. A member without a counterpart is
 * left out and named if the answer is as good without it. If it is not, the translation says that
 * only a provider of this API can serve the request; what can be translated still is, so that
 * policies see it. What no provider can serve here is refused by name.
 */
import { Predicate, Result } from "effect"
import { type ResponsesRequest } from "../../api/responses/Request.ts"
import { resultFn, type StepsOf } from "../../domain/runtime/ResultFn.ts"
import { type ChatMessage, type ChatRequest, type Members } from "../../domain/Chat.ts"
import { type Inexpressible } from "../../domain/Native.ts"
import { passStrings } from "../../domain/json/SentText.ts"
import { toldNames } from "../../domain/json/MemberNames.ts"
import { blocksIn, kindOf, membersOf, type Read, refused, textOf } from "../messages/Blocks.ts"
import { effortFor } from "./Effort.ts"
import { Notes } from "./Notes.ts"
import { foreign } from "./Parts.ts"
import { type ToolNames } from "./ToolNames.ts"
import { Tools } from "./Tools.ts"
import { chatMessages, type Updates } from "./Turns.ts"

export interface Asked {
  readonly request: ChatRequest
  /** The members that were left out. */
  readonly dropped: ReadonlyArray<string>
  readonly tools: ToolNames
  /** The first member that needs a provider of the Responses API. */
  readonly only: Inexpressible | null
  /** The first member that refers to an object in the vendor's account. */
  readonly accountObjects: string | null
}

/** Members that are translated, or that say nothing about the answer. */
const known = new Set([
  "model",
  "input",
  "instructions",
  "stream",
  "stream_options",
  "store",
  "include",
  "conversation",
  "background",
  "max_output_tokens",
  "reasoning",
  "text",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "top_logprobs",
  "truncation",
  "prompt",
  "client_metadata"
])

/** Members that chat completions have under the same name. */
const same = [
  "temperature",
  "top_p",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "service_tier",
  "metadata",
  "safety_identifier",
  "user",
  "session_id",
  "provider",
  "models"
]
const isSame = new Set(same)

export const translated = resultFn(function* (body: ResponsesRequest): StepsOf<Read<Asked>> {
  yield* refusals(body)
  const notes = new Notes()
  const tools = new Tools(notes)
  yield* tools.add(body.tools, "tools")
  const { messages, updates } = yield* chatMessages(itemsOf(body.input), "input", tools, notes)
  const conversation = [...instructionsOf(body), ...messages, ...promptOf(body, notes)]
  if (conversation.length === 0) return yield* refused("input", "the request has no text. Send one, or items.")
  passStrings(body.input, conversation)
  const tooling = yield* tools.members(body.tool_choice, body.parallel_tool_calls)
  needed(body, notes)
  const request: ChatRequest = {
    model: body.model,
    messages: conversation,
    stream: body.stream,
    ...given("max_completion_tokens", body.max_output_tokens),
    ...tooling,
    ...textMembers(body, updates, notes),
    ...reasoningMembers(body, updates, notes),
    ...logprobsOf(body),
    ...Object.fromEntries(same.flatMap((name) => (isAsked(body[name]) ? [[name, body[name]]] : [])))
  }
  const unknown = Object.keys(body).filter((name) => !known.has(name) && !isSame.has(name) && isAsked(body[name]))
  return {
    request,
    dropped: toldNames([...notes.dropped, ...unknown]),
    tools: tools.names,
    only: notes.only,
    accountObjects: notes.accountObjects
  }
})

const isAsked = (value: unknown): boolean =>
  value !== undefined && value !== null && (!Array.isArray(value) || value.length > 0)

const given = (name: string, value: unknown): Members =>
  value === undefined || value === null ? {} : { [name]: value }

/** What no provider can serve through the gateway. */
const refusals = ({ background }: ResponsesRequest): Read<void> =>
  background === true
    ? refused("background", "responses are not made in the background here. Use `stream: true`.")
    : Result.succeed(undefined)

/** The items of an input: a text is a message of the user. */
export const itemsOf = (input: ResponsesRequest["input"]): ReadonlyArray<Members> =>
  typeof input === "string" ? [{ role: "user", content: input }] : blocksIn(input)

const instructionsOf = ({ instructions }: ResponsesRequest): ReadonlyArray<ChatMessage> =>
  textOf(instructions) === "" ? [] : [{ role: "system", content: textOf(instructions) }]

const promptOf = ({ prompt }: ResponsesRequest, notes: Notes): ReadonlyArray<ChatMessage> => {
  if (!Predicate.isObject(prompt)) return []
  notes.refer("prompt")
  return [
    { role: "user", content: foreign(membersOf(prompt), "a prompt that is stored at the vendor", "prompt", notes) }
  ]
}

/** Notes the members of the request without which the answer would be another. */
const needed = ({ conversation, truncation }: ResponsesRequest, notes: Notes): void => {
  if (isAsked(conversation)) {
    notes.need("conversation", "a conversation that is stored at the vendor")
    notes.refer("conversation")
  }
  if (truncation === "auto") notes.need("truncation", "truncation by the vendor")
}

const textMembers = ({ text }: ResponsesRequest, { format }: Updates, notes: Notes): Members => ({
  ...formatOf(membersOf(format ?? text?.["format"]), notes),
  ...given("verbosity", text?.["verbosity"])
})

const formatOf = (format: Members, notes: Notes): Members => {
  const { type, ...schema } = format
  switch (type) {
    case undefined:
    case "text":
      return {}
    case "json_object":
      return { response_format: { type } }
    case "json_schema":
      return {
        response_format: {
          type,
          json_schema: Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== null))
        }
      }
    default:
      notes.need("text.format", `the format ${kindOf(format)}`)
      return {}
  }
}

/** Members of `reasoning` that only tune it, or tell what to show of it. */
const tuning = ["context", "mode", "generate_summary"]

const reasoningMembers = ({ reasoning }: ResponsesRequest, updates: Updates, notes: Notes): Members => {
  const asked = membersOf(reasoning)
  for (const name of tuning) if (isAsked(asked[name])) notes.drop(`reasoning.${name}`)
  const effort = effortFor(updates.effort ?? asked["effort"])
  if (effort?.isOther === true) notes.drop("reasoning.effort")
  return {
    ...(effort === null ? {} : { reasoning_effort: effort.effort }),
    ...(typeof asked["summary"] === "string" ? { reasoning: { summary: asked["summary"] } } : {})
  }
}

const logprobsOf = ({ include, top_logprobs: top }: ResponsesRequest): Members => {
  const count = top ?? 0
  if (count === 0 && include?.includes("message.output_text.logprobs") !== true) return {}
  return { logprobs: true, ...(count === 0 ? {} : { top_logprobs: count }) }
}
