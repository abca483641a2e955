/** A response as a whole: its members in every state, and a whole chat completion as a response. */
import { Effect } from "effect"
import { type ModelResponse, type ResponseFault } from "../../api/Responses.ts"
import { type ResponsesRequest } from "../../api/responses/Request.ts"
import { type Members, type UsageInfo } from "../../domain/Chat.ts"
import { replayEvents } from "../../domain/Replay.ts"
import { type Completed, type Head } from "../../gateway/request/Answer.ts"
import { QUOTA } from "../errors/ResponsesErrors.ts"
import { blocksIn, membersOf } from "../messages/Blocks.ts"
import { ResponseItems } from "./ResponseItems.ts"
import { type ToolNames } from "./ToolNames.ts"
import { responseUsage } from "./Usage.ts"

/** What a response repeats of its request. */
export interface ResponseForm {
  readonly payload: ResponsesRequest
  readonly tools: Pick<ToolNames, "declared">
  /** Stores a response, and returns whether it could. Null: it is not to be stored. */
  readonly keep: ((response: ModelResponse) => Effect.Effect<boolean>) | null
}

/** `id` and the time of a response, in Unix milliseconds. */
export interface ResponseName {
  readonly id: string
  readonly createdAtMs: number
}

export const nameOf = ({ completionId, createdAtMs }: Head): ResponseName => ({
  id: completionId.replace(/^chatcmpl/, "resp"),
  createdAtMs
})

/** The part of a response's id that the ids of its items have too. */
export const suffixOf = ({ id }: ResponseName): string => id.slice(id.indexOf("_") + 1)

/** A response that has begun. */
export const begunResponse = ({ createdAtMs, id }: ResponseName, { keep, payload }: ResponseForm): ModelResponse => ({
  id,
  object: "response",
  created_at: Math.floor(createdAtMs / 1_000),
  completed_at: null,
  status: "in_progress",
  model: payload.model,
  output: [],
  error: null,
  incomplete_details: null,
  usage: null,
  instructions: payload.instructions ?? null,
  metadata: payload.metadata ?? {},
  parallel_tool_calls: payload.parallel_tool_calls ?? true,
  temperature: payload.temperature ?? 1,
  top_p: payload.top_p ?? 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: payload.top_logprobs ?? 0,
  tool_choice: payload.tool_choice ?? "auto",
  tools: (payload.tools ?? []).map(wholeTool),
  text: { format: { type: "text" }, ...payload.text },
  reasoning: { effort: null, summary: null, ...payload.reasoning },
  max_output_tokens: payload.max_output_tokens ?? null,
  max_tool_calls: payload.max_tool_calls ?? null,
  previous_response_id: payload.previous_response_id ?? null,
  store: keep !== null,
  background: false,
  truncation: payload.truncation ?? "disabled",
  service_tier: payload.service_tier ?? "default",
  safety_identifier: payload.safety_identifier ?? null,
  prompt_cache_key: payload.prompt_cache_key ?? null,
  user: payload.user ?? null
})

/** Functions are told with all members that the vendor's types require. */
const wholeTool = (tool: Members): Members =>
  tool["type"] === "function" ? { description: null, parameters: null, strict: null, ...tool } : tool

/** How a response ended. */
export type Ending = Pick<ModelResponse, "status" | "error" | "incomplete_details">

export const failedBy = (error: ResponseFault): Ending => ({ status: "failed", error, incomplete_details: null })
const incomplete = (reason: string): Ending => ({ status: "incomplete", error: null, incomplete_details: { reason } })

/** Clients retry a response that is incomplete, so an answer that the budget cut has failed. */
export const endingOf = (finishReason: string | null, { isClamped = false }: Head): Ending => {
  if (finishReason === "content_filter") return incomplete("content_filter")
  if (finishReason !== "length") return { status: "completed", error: null, incomplete_details: null }
  return isClamped ? failedBy(clamped) : incomplete("max_output_tokens")
}

const clamped: ResponseFault = {
  code: QUOTA,
  message: "The key's monthly budget had no room for the rest of the answer. GET /v1/key tells what is left of it.",
  type: "budget_exceeded",
  param: null,
  details: { error_code: "monthly_budget_exceeded" }
}

/** Members of a response that are the gateway's, or that repeat the request of the client. */
const gateways = new Set<string>([
  "id",
  "object",
  "created_at",
  "completed_at",
  "model",
  "instructions",
  "metadata",
  "tools",
  "tool_choice",
  "text",
  "previous_response_id",
  "store",
  "background",
  "max_output_tokens",
  "prompt_cache_key",
  "safety_identifier",
  "user"
])

/** What the vendor's own response tells, such as the effort that it took. */
const vendorMembers = (native: Members): Members =>
  Object.fromEntries(Object.entries(native).filter(([name, value]) => value !== null && !gateways.has(name)))

/**
 * A response that has ended. `usage`: null if nothing was settled. `native`: the vendor's own
 * response; empty: the answer was translated.
 */
export const endedResponse = (
  begun: ModelResponse,
  ending: Ending,
  output: ReadonlyArray<Members>,
  told: {
    readonly usage: UsageInfo | null
    readonly endedAtMs: number | undefined
    readonly serviceTier: unknown
    readonly native: Members
  }
): ModelResponse => ({
  ...begun,
  ...vendorMembers(told.native),
  ...ending,
  completed_at:
    ending.status === "completed" && told.endedAtMs !== undefined ? Math.floor(told.endedAtMs / 1_000) : null,
  output: wholeOutput(output, blocksIn(told.native["output"])),
  usage: told.usage === null ? null : responseUsage(told.usage),
  ...(typeof told.serviceTier === "string" ? { service_tier: told.serviceTier } : {})
})

export const unstored = (response: ModelResponse): ModelResponse => ({ ...response, store: false })

/**
 * A response that has ended, once it is stored; one that could not be stored says so. Null: it is
 * not to be stored.
 */
export const storedResponse = (
  response: ModelResponse,
  { keep }: Pick<ResponseForm, "keep">
): Effect.Effect<ModelResponse> | null =>
  keep === null || response.status === "failed"
    ? null
    : Effect.map(keep(response), (isStored) => (isStored ? response : unstored(response)))

/** Items that were sent count before those of the vendor's last event, unless it has more. */
const wholeOutput = (sent: ReadonlyArray<Members>, told: ReadonlyArray<Members>): ReadonlyArray<Members> =>
  told.length > sent.length ? told : sent

/** The finish reason of the vendor's own response. */
const reasonOf = ({ incomplete_details: details, status }: Members): string => {
  if (status !== "incomplete") return "stop"
  return membersOf(details)["reason"] === "content_filter" ? "content_filter" : "length"
}

export const responseOf = (
  { endedAtMs, head, reply, usage }: Extract<Completed, { readonly _tag: "Reply" }>,
  form: ResponseForm
): ModelResponse => {
  const name = nameOf(head)
  const { native = {} } = reply
  const serviceTier = membersOf(reply.extra)["service_tier"]
  const told = { usage, endedAtMs, serviceTier, native }
  if (reply.native !== undefined)
    return endedResponse(begunResponse(name, form), endingOf(reasonOf(native), head), [], told)
  const items = new ResponseItems(suffixOf(name), form.tools, () => undefined)
  let finishReason: string | null = null
  for (const event of replayEvents(reply)) {
    if (event._tag === "End") continue
    for (const choice of event.choices) {
      if (choice.index !== 0) continue
      items.add(choice)
      finishReason ??= choice.finish_reason
    }
  }
  const ending = endingOf(finishReason, head)
  items.finish(ending.status !== "completed")
  return endedResponse(begunResponse(name, form), ending, items.output, told)
}
