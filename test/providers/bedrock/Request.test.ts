import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { type ChatRequest } from "../../../src/domain/Chat.ts"
import { lowerChat } from "../../../src/providers/bedrock/Request.ts"
import { Unsupported } from "../../../src/providers/Provider.ts"
import { offerOf, request, SONNET } from "../bedrock.ts"

const HAIKU = "global.anthropic.claude-haiku-4-5-20251001-v1:0"
const OPUS = "global.anthropic.claude-opus-4-6-v1"
const NOVA = "amazon.nova-pro-v1:0"
const LLAMA = "us.meta.llama3-3-70b-instruct-v1:0"
const OSS = "openai.gpt-oss-120b-1:0"

const hi = [{ role: "user", content: [{ text: "hi" }] }]
const lower = (overrides: Partial<ChatRequest>, upstream = SONNET): unknown =>
  JSON.parse(String(Result.getOrThrow(lowerChat(request(overrides), offerOf(upstream), "alpha")).body))
const refusal = (overrides: Partial<ChatRequest>, upstream = SONNET): string => {
  const lowered = lowerChat(request(overrides), offerOf(upstream), "alpha")
  assert.isTrue(Result.isFailure(lowered))
  if (Result.isSuccess(lowered)) return ""
  assert.instanceOf(lowered.failure, Unsupported)
  return lowered.failure.param
}
const user = (...content: ReadonlyArray<Record<string, unknown>>) => ({ role: "user", content }) as const
const call = (id: string, name: string, given: string) => ({
  id,
  type: "function",
  function: { name, arguments: given }
})
const weather = {
  type: "function",
  function: { name: "get_weather", description: "Tells.", parameters: { type: "object", properties: {} }, strict: true }
}
const weatherSpec = {
  toolSpec: {
    name: "get_weather",
    description: "Tells.",
    inputSchema: { json: { type: "object", properties: {} } }
  }
}
const schema = { type: "object", properties: { a: { type: "integer", minimum: 1 } }, required: ["a"] }
const format = (strict = false) => ({ type: "json_schema", json_schema: { name: "person", schema, strict } })
const thinking = (overrides: Partial<ChatRequest>, upstream = SONNET): unknown => {
  const body = lower({ reasoning_effort: "high", ...overrides }, upstream)
  return typeof body === "object" && body !== null && "additionalModelRequestFields" in body
    ? body.additionalModelRequestFields
    : undefined
}

describe("Bedrock messages", () => {
  it("put system prompts in front, in order, and neighbours of one role into one turn", () => {
    assert.deepStrictEqual(
      lower({
        messages: [
          { role: "system", content: "Be brief." },
          user({ type: "text", text: "a" }, { type: "text", text: " " }),
          { role: "user", content: "b", name: "bob" },
          { role: "system", content: [{ type: "text", text: "Be kind.", cache_control: { type: "ephemeral" } }] },
          { role: "assistant", content: "c" },
          { role: "assistant", content: "d \n" }
        ]
      }),
      {
        system: [{ text: "Be brief." }, { text: "Be kind." }, { cachePoint: { type: "default" } }],
        messages: [
          { role: "user", content: [{ text: "a" }, { text: "b" }] },
          { role: "assistant", content: [{ text: "c" }, { text: "d" }] }
        ]
      }
    )
  })

  it("carry images and files that are in the request", () => {
    assert.deepStrictEqual(
      lower({
        messages: [
          user(
            { type: "image_url", image_url: { url: "data:image/png;base64,AAAA", detail: "low" } },
            { type: "image_url", image_url: { url: "data:image/jpeg;charset=x;base64,BBBB" } },
            { type: "file", file: { filename: "my_report.v2.pdf", file_data: "data:application/pdf;base64,CCCC" } },
            { type: "file", file: { file_data: "data:text/plain;base64,DDDD" } }
          )
        ]
      }),
      {
        messages: [
          {
            role: "user",
            content: [
              { image: { format: "png", source: { bytes: "AAAA" } } },
              { image: { format: "jpeg", source: { bytes: "BBBB" } } },
              { document: { format: "pdf", name: "my report v2 pdf", source: { bytes: "CCCC" } } },
              { document: { format: "txt", name: "document", source: { bytes: "DDDD" } } }
            ]
          }
        ]
      }
    )
  })

  it("refuse what has no block", () => {
    for (const part of [
      { type: "image_url", image_url: { url: "https://example.com/a.png" } },
      { type: "image_url", image_url: { url: "data:image/tiff;base64,AAAA" } },
      { type: "image_url" },
      { type: "file", file: { file_id: "file-1" } },
      { type: "file", file: { file_data: "data:application/zip;base64,AAAA" } },
      { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } }
    ]) {
      assert.strictEqual(refusal({ messages: [user(part)] }), "messages")
    }
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }
    assert.strictEqual(refusal({ messages: [{ role: "system", content: [image] }, ...request().messages] }), "messages")
    const bad = { role: "assistant", content: null, tool_calls: [call("1", "f", "[1]")] } as const
    assert.strictEqual(refusal({ tools: [weather], messages: [...request().messages, bad] }), "messages")
  })

  const toolTalk: ChatRequest["messages"] = [
    ...request().messages,
    {
      role: "assistant",
      content: null,
      reasoning: "Both.",
      reasoning_details: [
        { type: "reasoning.text", text: "Both.", signature: "sig", index: 0 },
        { type: "reasoning.encrypted", data: "c2VhbA==", index: 1 },
        { type: "reasoning.text", text: "unsigned", index: 2 }
      ],
      tool_calls: [call("t1", "get_weather", '{"place":"Paris"}'), call("t2", "get_weather", "")]
    },
    { role: "tool", tool_call_id: "t1", content: "sunny" },
    { role: "tool", tool_call_id: "t2", content: [{ type: "text", text: "rainy" }] },
    { role: "user", content: "thanks" }
  ]

  it("merge the results of parallel calls into one turn, and keep signed thoughts before the calls", () => {
    assert.deepStrictEqual(lower({ messages: toolTalk, tools: [weather] }), {
      messages: [
        ...hi,
        {
          role: "assistant",
          content: [
            { reasoningContent: { reasoningText: { text: "Both.", signature: "sig" } } },
            { reasoningContent: { redactedContent: "c2VhbA==" } },
            { toolUse: { toolUseId: "t1", name: "get_weather", input: { place: "Paris" } } },
            { toolUse: { toolUseId: "t2", name: "get_weather", input: {} } }
          ]
        },
        {
          role: "user",
          content: [
            { toolResult: { toolUseId: "t1", content: [{ text: "sunny" }] } },
            { toolResult: { toolUseId: "t2", content: [{ text: "rainy" }] } },
            { text: "thanks" }
          ]
        }
      ],
      toolConfig: { tools: [weatherSpec] }
    })
  })

  it("tell of calls in words where no tool may be called", () => {
    const told = {
      messages: [
        ...hi,
        {
          role: "assistant",
          content: [
            { reasoningContent: { reasoningText: { text: "Both.", signature: "sig" } } },
            { reasoningContent: { redactedContent: "c2VhbA==" } },
            { text: '[called get_weather with {"place":"Paris"}]' },
            { text: "[called get_weather with {}]" }
          ]
        },
        {
          role: "user",
          content: [
            { text: "[its result]" },
            { text: "sunny" },
            { text: "[its result]" },
            { text: "rainy" },
            { text: "thanks" }
          ]
        }
      ]
    }
    assert.deepStrictEqual(lower({ messages: toolTalk }), told)
    assert.deepStrictEqual(lower({ messages: toolTalk, tools: [weather], tool_choice: "none" }), told)
  })
})

describe("Bedrock parameters", () => {
  it("become the inference config, temperature at most 1", () => {
    assert.deepStrictEqual(
      lower({ temperature: 1.7, top_p: 0.9, max_tokens: 5, stop: "END", seed: 1, user: "u", service_tier: "flex" }),
      {
        messages: hi,
        inferenceConfig: { maxTokens: 5, stopSequences: ["END"], temperature: 1, topP: 0.9 },
        serviceTier: { type: "flex" }
      }
    )
    assert.deepStrictEqual(
      lower({ max_tokens: 5, max_completion_tokens: 6, stop: ["a", "", "b"], service_tier: "auto" }),
      {
        messages: hi,
        inferenceConfig: { maxTokens: 5, stopSequences: ["a", "b"] }
      }
    )
  })

  it("send a dear tier only where the model has its price", () => {
    assert.deepStrictEqual(lower({ service_tier: "priority" }), { messages: hi })
    const priced = offerOf(SONNET)
    const offer = { ...priced, pricing: { ...priced.pricing, serviceTiers: { priority: 1.75 } } }
    const { body } = Result.getOrThrow(lowerChat(request({ service_tier: "priority" }), offer, "alpha"))
    assert.deepStrictEqual(JSON.parse(String(body)), { messages: hi, serviceTier: { type: "priority" } })
  })

  it("leave out sampling that a Claude no longer takes", () => {
    const sampling = { temperature: 0.5, top_p: 0.9 }
    assert.deepStrictEqual(lower(sampling, HAIKU), { messages: hi, inferenceConfig: { temperature: 0.5 } })
    assert.deepStrictEqual(lower(sampling, "us.anthropic.claude-opus-4-7"), { messages: hi })
  })

  it("at their neutral values ask for nothing", () => {
    const neutral: Partial<ChatRequest> = {
      n: 1,
      logprobs: false,
      top_logprobs: 0,
      logit_bias: {},
      modalities: ["text"],
      response_format: { type: "text" },
      tools: [],
      tool_choice: "auto",
      parallel_tool_calls: false,
      reasoning_effort: null,
      stop: []
    }
    assert.deepStrictEqual(lower(neutral, NOVA), { messages: hi })
  })

  it("are refused where Bedrock has no such thing", () => {
    assert.strictEqual(refusal({ n: 2 }), "n")
    assert.strictEqual(refusal({ logprobs: true }), "logprobs")
    assert.strictEqual(refusal({ top_logprobs: 2 }), "top_logprobs")
    assert.strictEqual(refusal({ logit_bias: { "1": 5 } }), "logit_bias")
    assert.strictEqual(refusal({ modalities: ["text", "audio"] }), "modalities")
  })
})

describe("Bedrock tools", () => {
  const configured = (toolChoice: object) => ({
    messages: hi,
    toolConfig: { tools: [weatherSpec], toolChoice }
  })

  it("are lowered with every choice", () => {
    const tools = [weather]
    assert.deepStrictEqual(lower({ tools }), { messages: hi, toolConfig: { tools: [weatherSpec] } })
    assert.deepStrictEqual(lower({ tools, tool_choice: "auto" }), configured({ auto: {} }))
    assert.deepStrictEqual(lower({ tools, tool_choice: "required" }), configured({ any: {} }))
    const named = { type: "function", function: { name: "get_weather" } }
    assert.deepStrictEqual(lower({ tools, tool_choice: named }), configured({ tool: { name: "get_weather" } }))
    assert.deepStrictEqual(lower({ tools, tool_choice: "none" }), { messages: hi })
  })

  it("without parameters or description get a schema and no description", () => {
    const bare = { type: "function", function: { name: "f", description: "" } }
    assert.deepStrictEqual(lower({ tools: [bare] }), {
      messages: hi,
      toolConfig: { tools: [{ toolSpec: { name: "f", inputSchema: { json: { type: "object", properties: {} } } } }] }
    })
  })

  it("are called one at a time where the model has a switch for it", () => {
    assert.deepStrictEqual(lower({ tools: [weather], parallel_tool_calls: false }), {
      messages: hi,
      toolConfig: { tools: [weatherSpec] },
      additionalModelRequestFields: { tool_choice: { type: "auto", disable_parallel_tool_use: true } }
    })
    assert.strictEqual(refusal({ tools: [weather], parallel_tool_calls: false }, NOVA), "parallel_tool_calls")
  })

  it("are refused when they are no functions, or the choice is none of the known", () => {
    assert.strictEqual(refusal({ tools: [{ type: "web_search" }] }), "tools")
    assert.strictEqual(refusal({ tools: [weather], tool_choice: { type: "allowed_tools" } }), "tool_choice")
  })
})

describe("Bedrock answers in JSON", () => {
  const answerTool = (name: string, description: string, json: object) => ({
    toolSpec: { name, description, inputSchema: { json } }
  })

  it("come through a tool that must be called", () => {
    assert.deepStrictEqual(lower({ response_format: format() }), {
      messages: hi,
      toolConfig: {
        tools: [answerTool("person", "Gives the answer to the user.", schema)],
        toolChoice: { tool: { name: "person" } }
      }
    })
    assert.deepStrictEqual(lower({ response_format: { type: "json_object" } }, NOVA), {
      messages: hi,
      toolConfig: {
        tools: [
          answerTool("json_answer", "Gives the answer to the user.", { type: "object", additionalProperties: true })
        ],
        toolChoice: { tool: { name: "json_answer" } }
      }
    })
  })

  it("stand beside tools of the request, one of which may be called instead", () => {
    assert.deepStrictEqual(lower({ response_format: format(), tools: [weather] }), {
      messages: hi,
      toolConfig: {
        tools: [weatherSpec, answerTool("person", "Gives the answer to the user.", schema)],
        toolChoice: { any: {} }
      }
    })
    assert.deepStrictEqual(lower({ response_format: format(), tools: [weather], tool_choice: "required" }), {
      messages: hi,
      toolConfig: { tools: [weatherSpec], toolChoice: { any: {} } }
    })
  })

  it("are held to the schema by Bedrock where it can and should", () => {
    const held = (json: object) => ({
      messages: hi,
      outputConfig: {
        textFormat: { type: "json_schema", structure: { jsonSchema: { schema: JSON.stringify(json), name: "person" } } }
      }
    })
    const closed = {
      type: "object",
      properties: { a: { type: "integer" } },
      required: ["a"],
      additionalProperties: false
    }
    assert.deepStrictEqual(lower({ response_format: format(true) }, HAIKU), held(closed))
    assert.deepStrictEqual(lower({ response_format: format() }, OSS), held(schema))
  })

  it("are asked for in words of a model that takes neither", () => {
    assert.deepStrictEqual(lower({ response_format: format() }, LLAMA), {
      messages: hi,
      system: [
        { text: `Answer with nothing but one JSON object that follows this JSON schema: ${JSON.stringify(schema)}` }
      ]
    })
    assert.deepStrictEqual(lower({ response_format: { type: "json_object" } }, OSS), {
      messages: hi,
      system: [{ text: "Answer with nothing but one JSON object" }]
    })
  })

  it("are refused in forms that are none", () => {
    assert.strictEqual(refusal({ response_format: { type: "json_schema" } }), "response_format")
    assert.strictEqual(refusal({ response_format: { type: "grammar" } }), "response_format")
    const list = { type: "json_schema", json_schema: { name: "l", schema: { type: "array" } } }
    assert.strictEqual(refusal({ response_format: list }), "response_format")
  })
})

describe("Bedrock reasoning", () => {
  it("is a budget that leaves room for the answer, without sampling", () => {
    assert.deepStrictEqual(lower({ reasoning_effort: "medium", temperature: 0.2, top_p: 0.5 }), {
      messages: hi,
      inferenceConfig: { maxTokens: 12_288 },
      additionalModelRequestFields: { thinking: { type: "enabled", budget_tokens: 8_192 } }
    })
    assert.deepStrictEqual(thinking({ max_tokens: 4_000 }), { thinking: { type: "enabled", budget_tokens: 3_200 } })
    assert.isUndefined(thinking({ max_tokens: 1_000 }))
  })

  it("is adaptive where the model decides", () => {
    assert.deepStrictEqual(thinking({}, OPUS), { thinking: { type: "adaptive" }, output_config: { effort: "high" } })
    assert.deepStrictEqual(thinking({ reasoning_effort: "xhigh" }, "anthropic.claude-opus-5"), {
      thinking: { type: "adaptive", display: "summarized" },
      output_config: { effort: "xhigh" }
    })
    assert.deepStrictEqual(thinking({ reasoning_effort: "none" }, "anthropic.claude-sonnet-5"), {
      thinking: { type: "disabled" }
    })
  })

  it("is an effort for the other families that have one", () => {
    assert.deepStrictEqual(thinking({ reasoning_effort: "minimal" }, OSS), { reasoning_effort: "low" })
    assert.deepStrictEqual(thinking({}, "global.amazon.nova-2-lite-v1:0"), {
      reasoningConfig: { type: "enabled", maxReasoningEffort: "medium" }
    })
  })

  it("stays away where it cannot be", () => {
    const calls: ChatRequest["messages"] = [
      ...request().messages,
      { role: "assistant", content: null, tool_calls: [call("t1", "get_weather", "{}")] },
      { role: "tool", tool_call_id: "t1", content: "sunny" }
    ]
    assert.isUndefined(thinking({ tools: [weather], messages: calls }))
    assert.isUndefined(thinking({ tools: [weather], tool_choice: "required" }))
    assert.isUndefined(thinking({}, "anthropic.claude-3-5-sonnet-20241022-v2:0"))
    assert.isUndefined(thinking({}, NOVA))
    assert.isUndefined(thinking({ reasoning_effort: "none" }))
    assert.isUndefined(thinking({ reasoning_effort: "enormous" }))
  })
})

describe("Bedrock's extras", () => {
  const mark = { cache_control: { type: "ephemeral", ttl: "1h" } }
  const point = { cachePoint: { type: "default", ttl: "1h" } }

  it("are cache points behind messages, results and tools", () => {
    const messages: ChatRequest["messages"] = [
      { role: "system", content: "Rules", ...mark },
      { role: "user", content: "hi", cache_control: { type: "ephemeral" } },
      { role: "assistant", content: null, tool_calls: [call("t", "get_weather", "")] },
      { role: "user", content: "Wait." },
      { role: "tool", tool_call_id: "t", content: "19°", ...mark }
    ]
    assert.deepStrictEqual(lower({ messages, tools: [{ ...weather, ...mark }] }), {
      messages: [
        { role: "user", content: [{ text: "hi" }, { cachePoint: { type: "default" } }] },
        { role: "assistant", content: [{ toolUse: { toolUseId: "t", name: "get_weather", input: {} } }] },
        {
          role: "user",
          content: [{ toolResult: { toolUseId: "t", content: [{ text: "19°" }] } }, point, { text: "Wait." }]
        }
      ],
      system: [{ text: "Rules" }, point],
      toolConfig: { tools: [weatherSpec, point] }
    })
  })

  it("are strict tools where Bedrock holds a model to a schema, and documents to cite", () => {
    const strictOf = (upstream: string) =>
      JSON.stringify(lower({ tools: [weather] }, upstream)).includes('"strict":true')
    assert.deepStrictEqual([HAIKU, OSS, SONNET, NOVA].map(strictOf), [true, true, false, false])
    const lowered = lowerChat(request({ tools: [weather] }), offerOf(NOVA), "alpha")
    assert.deepStrictEqual(Result.getOrThrow(lowered).leftOut, ["tools.strict"])
    const file = { type: "file", file: { filename: "a", file_data: "data:text/plain;base64,AAAA" } }
    const options = { citations: { enabled: true }, context: "old" }
    assert.deepStrictEqual(lower({ messages: [user({ ...file, ...options })] }), {
      messages: [
        { role: "user", content: [{ document: { format: "txt", name: "a", source: { bytes: "AAAA" }, ...options } }] }
      ]
    })
  })

  it("are top_k at each family's place, and a thinking budget as asked", () => {
    assert.deepStrictEqual(lower({ top_k: 5 }), { messages: hi, additionalModelRequestFields: { top_k: 5 } })
    assert.deepStrictEqual(lower({ top_k: 5 }, NOVA), {
      messages: hi,
      additionalModelRequestFields: { inferenceConfig: { topK: 5 } }
    })
    const unsent = (overrides: Partial<ChatRequest>, upstream: string) =>
      Result.getOrThrow(lowerChat(request(overrides), offerOf(upstream), "alpha")).leftOut
    assert.deepStrictEqual(unsent({ top_k: 5, reasoning: { effort: "low" } }, LLAMA), ["top_k", "reasoning"])
    assert.deepStrictEqual(unsent({ temperature: 0.2, thinking: { type: "enabled", budget_tokens: 2_000 } }, SONNET), [
      "temperature"
    ])
    assert.deepStrictEqual(lower({ thinking: { type: "enabled", budget_tokens: 2_000 }, max_tokens: 4_000 }), {
      messages: hi,
      inferenceConfig: { maxTokens: 4_000 },
      additionalModelRequestFields: { thinking: { type: "enabled", budget_tokens: 2_000 } }
    })
  })

  it("are no thoughts before a text to be continued", () => {
    const messages: ChatRequest["messages"] = [...request().messages, { role: "assistant", content: "Once" }]
    assert.deepStrictEqual(lower({ messages, reasoning_effort: "high" }), {
      messages: [...hi, { role: "assistant", content: [{ text: "Once" }] }]
    })
  })
})
