/**
 * Fits a request to what its vendor and model take. A member that the vendor refuses is left out if
 * the answer is as good without it; otherwise it is `Unsupported`, so that another provider can
 * serve the request. Members that are left out are told to the caller.
 */
import { Result } from "effect"
import { type ModelOffer, type ProviderConfig } from "../../domain/Catalog.ts"
import { type ChatRequest } from "../../domain/Chat.ts"
import { toldNames } from "../../domain/json/MemberNames.ts"
import { Unsupported } from "../Provider.ts"
import { isJsonRecord, type JsonRecord } from "../wire/Json.ts"
import { asksFor } from "../wire/Parameters.ts"
import { reasoningAsked, reasoningMembers } from "../wire/ReasoningAsked.ts"
import { type Vendor } from "./Vendor.ts"

/** Members without which the answer would be another. Others only tune it, or keep its books. */
const decisive = new Set([
  "n",
  "stop",
  "logprobs",
  "top_logprobs",
  "logit_bias",
  "response_format",
  "response_format.json_schema",
  "tools",
  "tool_choice",
  "functions",
  "function_call",
  "modalities",
  "audio",
  "web_search_options"
])

interface Fitted {
  readonly members: JsonRecord
  readonly leftOut: ReadonlyArray<string>
}

/** `members`: the request's, as its vendor names them. `config` may replace the vendor's list. */
export const fit = (
  members: JsonRecord,
  request: ChatRequest,
  offer: ModelOffer,
  vendor: Vendor | null,
  config: Pick<ProviderConfig, "parameters">
): Result.Result<Fitted, Unsupported> => {
  if (vendor === null && config.parameters === undefined) return Result.succeed({ members, leftOut: [] })
  const sent = { ...members }
  for (const [name, other] of vendor?.renamed ?? []) {
    if (sent[name] !== undefined) sent[other] = sent[name]
    delete sent[name]
  }
  const names = config.parameters?.refused ?? refusedBy(vendor, offer, request)
  for (const name of names) {
    if (name === "response_format.json_schema" ? asksForSchema(sent) : asksFor(sent, name)) {
      if (decisive.has(name)) {
        const message = `${offer.upstream} does not take it at this provider`
        return Result.fail(new Unsupported({ param: name.split(".")[0] ?? name, message }))
      }
    }
    // A value that asks for nothing is refused too.
    delete sent[name]
  }
  return Result.succeed({ members: sent, leftOut: leftOut(request, sent, vendor) })
}

const refusedBy = (vendor: Vendor | null, { upstream }: ModelOffer, request: ChatRequest): ReadonlyArray<string> => {
  if (vendor?.refused === undefined && vendor?.refusedByModel === undefined) return []
  const asked = reasoningAsked(request)
  const isReasoning = asked !== null && asked.effort !== "none"
  const isOff = asked?.effort === "none"
  return [
    ...(vendor.refused ?? []),
    ...(vendor.refusedByModel ?? []).flatMap(({ models, refused, when }) =>
      models.test(upstream) && (when === undefined || (when === "reasoning" ? isReasoning : !isOff)) ? refused : []
    )
  ]
}

const asksForSchema = ({ response_format }: JsonRecord): boolean =>
  isJsonRecord(response_format) && response_format["type"] === "json_schema"

/** Members of which the gateway does what they ask for, or that are sent under another name. */
const handled = new Set([
  "model",
  "models",
  "messages",
  "provider",
  "stream",
  "stream_options",
  "max_tokens",
  "max_completion_tokens",
  "include_reasoning"
])

const leftOut = (request: ChatRequest, sent: JsonRecord, vendor: Vendor | null): ReadonlyArray<string> => {
  let names: Array<string> | null = null
  for (const name in request) {
    if (name in sent || handled.has(name) || !asksFor(request, name)) continue
    if (reasoningMembers.includes(name) && !lacksReasoning(request, sent)) continue
    if (name === "session_id" && "prompt_cache_key" in sent) continue
    if (vendor?.renamed?.some(([from]) => from === name) === true) continue
    names = [...(names ?? []), name]
  }
  return names === null ? [] : toldNames(names)
}

/** True if the request asks for reasoning, and no member of the body does. */
const lacksReasoning = (request: ChatRequest, sent: JsonRecord): boolean => {
  const asked = reasoningAsked(request)
  return asked !== null && asked.effort !== "none" && !reasoningMembers.some((name) => name in sent)
}
