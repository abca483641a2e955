/**
 * What servers of this dialect differ in, as data. A server is known by the host of its address.
 * One that is not in the table gets everything that the client sent.
 */

type ReasoningName = "reasoning" | "reasoning_content"

export interface Vendor {
  /** Host names; their subdomains are included. */
  readonly hosts: ReadonlyArray<string>
  /** OpenAI's own models: they take the role `developer` and refuse other vendors' members. */
  readonly isOpenAi?: boolean
  /** Names under which a message's reasoning is sent back. Empty: the vendor refuses it. */
  readonly reasoning: ReadonlyArray<ReasoningName>
  /** Models that take reasoning back, if not all do. */
  readonly reasoningModels?: RegExp
  /** Whether it takes `reasoning_details`. */
  readonly reasoningDetails?: boolean
  /** The request members for reasoning that it takes beside `reasoning_effort`. */
  readonly asksBy?: ReadonlySet<string>
  /** The members of a message, for a vendor that refuses others. */
  readonly messageMembers?: ReadonlySet<string>
  /** Whether ids of tool calls must have nine letters and digits. */
  readonly hasShortCallIds?: boolean
}

const openMembers = ["role", "content", "name", "tool_calls", "tool_call_id", "function_call"]

const vendors: ReadonlyArray<Vendor> = [
  {
    hosts: ["api.openai.com", "openai.azure.com", "services.ai.azure.com", "cognitiveservices.azure.com"],
    isOpenAi: true,
    reasoning: []
  },
  {
    hosts: ["openrouter.ai"],
    reasoning: ["reasoning"],
    reasoningDetails: true,
    asksBy: new Set(["reasoning"])
  },
  // Their tool loops fail without the reasoning that led to a call.
  {
    hosts: ["api.deepseek.com", "api.moonshot.ai", "api.moonshot.cn", "api.z.ai", "open.bigmodel.cn"],
    reasoning: ["reasoning_content"],
    asksBy: new Set(["thinking"])
  },
  { hosts: ["fireworks.ai"], reasoning: ["reasoning_content"], asksBy: new Set(["thinking"]) },
  { hosts: ["api.x.ai", "aliyuncs.com"], reasoning: ["reasoning_content"] },
  { hosts: ["api.together.xyz", "api.together.ai"], reasoning: ["reasoning"], asksBy: new Set(["reasoning"]) },
  {
    hosts: ["api.groq.com"],
    reasoning: ["reasoning"],
    reasoningModels: /gpt-oss|qwen3/,
    messageMembers: new Set([...openMembers, "reasoning"])
  },
  { hosts: ["api.cerebras.ai"], reasoning: ["reasoning"], messageMembers: new Set([...openMembers, "reasoning"]) },
  {
    hosts: ["api.mistral.ai"],
    reasoning: [],
    messageMembers: new Set(["role", "content", "tool_calls", "tool_call_id", "prefix"]),
    hasShortCallIds: true
  },
  { hosts: ["api.perplexity.ai"], reasoning: [] }
]

/** Null: nothing is known of the server. */
export const vendorOf = (baseUrl: string): Vendor | null => {
  const host = URL.parse(baseUrl)?.hostname ?? ""
  return vendors.find(({ hosts }) => hosts.some((known) => host === known || host.endsWith(`.${known}`))) ?? null
}
