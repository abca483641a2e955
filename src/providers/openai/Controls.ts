/**
 * Request members that vendors of this dialect name differently: the ways to ask for reasoning, and
 * the session. A server that is not known gets them as received. OpenAI refuses unknown members, so
 * there they become its own, or are left out where the answer is as good without them.
 */
import { type ModelOffer } from "../../domain/Catalog.ts"
import { type ChatRequest } from "../../domain/Chat.ts"
import { isJsonRecord, type JsonRecord } from "../wire/Json.ts"
import { sameList } from "../wire/SentJson.ts"
import { effortOf, type ReasoningAsked, reasoningAsked } from "../wire/ReasoningAsked.ts"
import { withoutCacheControl } from "./Messages.ts"
import { type Vendor } from "./Vendor.ts"

/** The members of `request`, of which only those that differ are changed. */
export const controlsFor = (request: ChatRequest, offer: ModelOffer, vendor: Vendor | null): JsonRecord => {
  if (vendor === null) return request
  const { reasoning, thinking, ...rest } = request
  const sent: JsonRecord = vendor.isOpenAi === true ? openAiMembers(rest) : rest
  const takes = (name: string) => vendor.asksBy?.has(name) === true
  if (takes("reasoning") && isJsonRecord(reasoning)) return withReasoning(sent, reasoning)
  if (takes("thinking") && isJsonRecord(thinking)) return { ...sent, thinking }
  const asked = reasoningAsked(request)
  if (asked === null || typeof request.reasoning_effort === "string") return sent
  if (takes("reasoning")) return { ...sent, reasoning: asReasoning(asked) }
  if (takes("thinking")) return { ...sent, thinking: { type: asked.effort === "none" ? "disabled" : "enabled" } }
  return takesEffort(asked, offer, vendor) ? { ...sent, reasoning_effort: effortOf(asked) } : sent
}

/** Vendors refuse an effort in two members. */
const withReasoning = ({ reasoning_effort: effort, ...sent }: JsonRecord, reasoning: JsonRecord): JsonRecord => {
  if (typeof effort !== "string") return { ...sent, reasoning }
  const { enabled: _enabled, max_tokens: _budget, ...shown } = reasoning
  return { ...sent, reasoning: { ...shown, effort } }
}

const asReasoning = ({ budgetTokens, effort }: ReasoningAsked): JsonRecord => {
  if (budgetTokens !== null) return { max_tokens: budgetTokens }
  return effort === "none" ? { enabled: false } : { effort }
}

/** Models that do not reason refuse an effort, and some that do cannot leave it. */
const takesEffort = ({ effort }: ReasoningAsked, { hidesReasoning, upstream }: ModelOffer, vendor: Vendor): boolean =>
  effort !== "none" && (vendor.isOpenAi === true ? hidesReasoning : vendor.reasoningModels?.test(upstream) === true)

const openAiMembers = (members: JsonRecord): JsonRecord => {
  const { cache_control: _control, session_id, tools, top_k: _topK, ...rest } = members
  if (typeof session_id === "string") rest["prompt_cache_key"] ??= session_id
  if (Array.isArray(tools))
    rest["tools"] = sameList<unknown>(
      tools,
      tools.map((tool: unknown) => (isJsonRecord(tool) ? withoutCacheControl(tool) : tool))
    )
  return rest
}
