/**
 * What servers of this dialect differ in, as data, from the vendors' own pages and errors. A server
 * is known by the host of its address. One that is not in the table gets everything that the client
 * sent.
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
  /** Whether a tool's message may hold pictures and files. */
  readonly takesToolMedia?: boolean
  /** The request members for reasoning that it takes beside `reasoning_effort`. */
  readonly asksBy?: ReadonlySet<string>
  /** The members of a message, for a vendor that refuses others. */
  readonly messageMembers?: ReadonlySet<string>
  /** Whether ids of tool calls must have nine letters and digits. */
  readonly hasShortCallIds?: boolean
  /** Members of a request that it refuses, or ignores although they change the answer. */
  readonly refused?: ReadonlyArray<string>
  /**
   * Members that some models refuse. `reasoning`: where the request asks for reasoning. `not off`:
   * unless it turns reasoning off.
   */
  readonly refusedByModel?: ReadonlyArray<{
    readonly models: RegExp
    readonly refused: ReadonlyArray<string>
    readonly when?: "reasoning" | "not off"
  }>
  /** Members that it has under another name. */
  readonly renamed?: ReadonlyArray<readonly [name: string, other: string]>
}

const openMembers = ["role", "content", "name", "tool_calls", "tool_call_id", "function_call"]

const penalties = ["presence_penalty", "frequency_penalty"]
const logprobs = ["logprobs", "top_logprobs"]
/** What models that reason fix. */
const sampling = ["temperature", "top_p", ...penalties, ...logprobs, "logit_bias"]
/** Members of OpenAI's own service. */
const bookkeeping = [
  "store",
  "metadata",
  "user",
  "safety_identifier",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "service_tier"
]

const vendors: ReadonlyArray<Vendor> = [
  {
    hosts: ["api.openai.com", "openai.azure.com", "services.ai.azure.com", "cognitiveservices.azure.com"],
    isOpenAi: true,
    reasoning: [],
    // From GPT-5.1 to 5.4 reasoning is off by default, and sampling is free without it.
    refusedByModel: [
      { models: /^(?:o\d|codex|gpt-5(?![.\d]|.*chat)|gpt-5\.\d+-(?:codex|pro))/, refused: sampling },
      { models: /^gpt-5\.[1-4](?!\d|-codex|-pro|.*chat)/, refused: sampling, when: "reasoning" },
      { models: /^gpt-5\.(?:[5-9]|\d\d)(?!-codex|-pro|.*chat)/, refused: sampling, when: "not off" },
      { models: /^(?:o3(?!-mini)|o4|gpt-5(?![.\d]|.*chat))/, refused: ["stop"] },
      { models: /^o\d/, refused: ["parallel_tool_calls", "verbosity"] },
      { models: /^(?:gpt-3|gpt-4|chatgpt)|-chat/, refused: ["reasoning_effort", "verbosity"] },
      { models: /search-preview|search-api/, refused: [...sampling, "n"] }
    ]
  },
  {
    hosts: ["openrouter.ai"],
    reasoning: ["reasoning"],
    reasoningDetails: true,
    takesToolMedia: true,
    asksBy: new Set(["reasoning"])
  },
  // Their tool loops fail without the reasoning that led to a call.
  {
    hosts: ["api.deepseek.com"],
    reasoning: ["reasoning_content"],
    asksBy: new Set(["thinking"]),
    refused: [
      ...bookkeeping,
      "seed",
      "verbosity",
      "prediction",
      "parallel_tool_calls",
      "n",
      "logit_bias",
      "response_format.json_schema"
    ],
    refusedByModel: [{ models: /reasoner/, refused: logprobs }]
  },
  {
    hosts: ["api.moonshot.ai", "api.moonshot.cn", "api.z.ai", "open.bigmodel.cn"],
    reasoning: ["reasoning_content"],
    asksBy: new Set(["thinking"])
  },
  { hosts: ["fireworks.ai"], reasoning: ["reasoning_content"], asksBy: new Set(["thinking"]) },
  {
    hosts: ["api.x.ai"],
    reasoning: ["reasoning_content"],
    refusedByModel: [
      { models: /grok-(?:3-mini|4|code)(?!.*non-reasoning)/, refused: [...penalties, "stop"] },
      { models: /^grok-(?:2|3(?!-mini)|4(?!\.\d)|code)/, refused: ["reasoning_effort"] }
    ]
  },
  { hosts: ["aliyuncs.com"], reasoning: ["reasoning_content"] },
  { hosts: ["api.together.xyz", "api.together.ai"], reasoning: ["reasoning"], asksBy: new Set(["reasoning"]) },
  {
    hosts: ["api.groq.com"],
    reasoning: ["reasoning"],
    reasoningModels: /gpt-oss|qwen3/,
    messageMembers: new Set([...openMembers.filter((name) => name !== "name"), "reasoning"]),
    refused: [...logprobs, "logit_bias", "n", "prediction", "verbosity", "safety_identifier", "prompt_cache_key"],
    refusedByModel: [{ models: /^(?!.*(?:gpt-oss|qwen3))/, refused: ["reasoning_effort"] }]
  },
  {
    hosts: ["api.cerebras.ai"],
    reasoning: ["reasoning"],
    messageMembers: new Set([...openMembers, "reasoning"]),
    refused: [...penalties, "logit_bias", "prompt_cache_key", "verbosity"]
  },
  {
    hosts: ["api.mistral.ai"],
    reasoning: [],
    messageMembers: new Set(["role", "content", "tool_calls", "tool_call_id", "prefix"]),
    hasShortCallIds: true,
    refused: [...bookkeeping, ...logprobs, "logit_bias", "verbosity", "stream_options"],
    renamed: [["seed", "random_seed"]]
  },
  {
    hosts: ["api.perplexity.ai"],
    reasoning: [],
    refused: [...bookkeeping, ...logprobs, "logit_bias", "n", "seed", "tools", "tool_choice", "parallel_tool_calls"]
  }
]

/** Null: nothing is known of the server. */
export const vendorOf = (baseUrl: string): Vendor | null => {
  const host = URL.parse(baseUrl)?.hostname ?? ""
  return vendors.find(({ hosts }) => hosts.some((known) => host === known || host.endsWith(`.${known}`))) ?? null
}
