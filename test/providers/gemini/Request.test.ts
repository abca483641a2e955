/** Requests in Gemini's form, compared as whole JSON, and unsupported ones. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { type ChatMessage, type ChatRequest } from "../../../src/domain/Chat.ts"
import { chatBody } from "../../../src/providers/gemini/Request.ts"
import { geminiMaker } from "../../../src/providers/gemini/Signatures.ts"
import { Unsupported } from "../../../src/providers/Provider.ts"
import { offer } from "../replayedTransport.ts"

const plain = "gemini-2.0-flash"
const lower = (request: Partial<ChatRequest>, upstream = plain) =>
  chatBody(
    { model: "google/g", messages: [{ role: "user", content: "hi" }], stream: false, ...request },
    { ...offer, upstream },
    geminiMaker("alpha")
  )
const body = (request: Partial<ChatRequest>, upstream = plain): unknown =>
  JSON.parse(String(Result.getOrThrow(lower(request, upstream)).body))
const contents = (...messages: ReadonlyArray<ChatMessage>) => body({ messages })
const refusal = (request: Partial<ChatRequest>, upstream = plain) => {
  const lowered = lower(request, upstream)
  assert.isTrue(Result.isFailure(lowered))
  return Result.isFailure(lowered) ? lowered.failure : assert.fail()
}

const hi = { contents: [{ role: "user", parts: [{ text: "hi" }] }] }
const config = (generationConfig: object) => ({ ...hi, generationConfig })
const call = (id: string, name: string, args: string, rest: object = {}) => ({
  id,
  type: "function",
  function: { name, arguments: args },
  ...rest
})
const weather = {
  type: "function",
  function: {
    name: "get_weather",
    description: "Weather of a place",
    parameters: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
    strict: true
  }
}
const declared = {
  functionDeclarations: [
    {
      name: "get_weather",
      description: "Weather of a place",
      parametersJsonSchema: weather.function.parameters
    }
  ]
}

describe("Gemini turns", () => {
  it("a plain message is one turn", () => assert.deepStrictEqual(body({}), hi))

  it("system prompts become one instruction, wherever they stand", () => {
    assert.deepStrictEqual(
      contents(
        { role: "system", content: "Be brief." },
        { role: "system", content: [{ type: "text", text: "Be kind." }] },
        { role: "user", content: "hi" },
        { role: "assistant", content: "hello" },
        { role: "system", content: "Now in French." },
        { role: "user", content: "bye" }
      ),
      {
        contents: [
          { role: "user", parts: [{ text: "hi" }] },
          { role: "model", parts: [{ text: "hello" }] },
          { role: "user", parts: [{ text: "bye" }] }
        ],
        systemInstruction: { parts: [{ text: "Be brief." }, { text: "Be kind." }, { text: "Now in French." }] }
      }
    )
  })

  it("a system prompt that stands alone is the question", () => {
    assert.deepStrictEqual(contents({ role: "system", content: "Say hello." }), {
      contents: [{ role: "user", parts: [{ text: "Say hello." }] }]
    })
  })

  it("messages of one side in a row are one turn", () => {
    assert.deepStrictEqual(
      contents(
        { role: "user", content: "a" },
        { role: "user", content: "b", name: "Bob" },
        { role: "assistant", content: [{ type: "refusal", refusal: "no" }], reasoning: "hm" },
        { role: "assistant", content: "c" },
        { role: "user", content: "" }
      ),
      {
        contents: [
          { role: "user", parts: [{ text: "a" }, { text: "b" }] },
          { role: "model", parts: [{ text: "no" }, { text: "c" }] },
          { role: "user", parts: [{ text: "" }] }
        ]
      }
    )
  })

  it("media come inline or by address", () => {
    const parts = [
      { type: "text", text: "What is this?" },
      { type: "text", text: "" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA", detail: "low" } },
      { type: "image_url", image_url: { url: "https://example.test/a/cat.JPG?size=2" } },
      { type: "image_url", image_url: "https://example.test/cat" },
      { type: "image_url", image_url: { url: "data:image/svg+xml,%3Csvg%2F%3E" } },
      { type: "input_audio", input_audio: { data: "BBBB", format: "mp3" } },
      { type: "video_url", video_url: { url: "gs://bucket/a.mp4" } },
      { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,CCCC" } }
    ]
    assert.deepStrictEqual(contents({ role: "user", content: parts }), {
      contents: [
        {
          role: "user",
          parts: [
            { text: "What is this?" },
            { inlineData: { mimeType: "image/png", data: "AAAA" } },
            { fileData: { mimeType: "image/jpeg", fileUri: "https://example.test/a/cat.JPG?size=2" } },
            { fileData: { fileUri: "https://example.test/cat" } },
            { inlineData: { mimeType: "image/svg+xml", data: Buffer.from("<svg/>").toString("base64") } },
            { inlineData: { mimeType: "audio/mp3", data: "BBBB" } },
            { fileData: { mimeType: "video/mp4", fileUri: "gs://bucket/a.mp4" } },
            { inlineData: { mimeType: "application/pdf", data: "CCCC" } }
          ]
        }
      ]
    })
  })

  it.each([
    ["a file of another vendor", { type: "file", file: { file_id: "file-1" } }],
    ["an address of another kind", { type: "image_url", image_url: { url: "ftp://example.test/a.png" } }],
    ["a data: URL without data", { type: "image_url", image_url: { url: "data:image/png;base64" } }],
    ["a data: URL that is not encoded well", { type: "image_url", image_url: { url: "data:text/plain,%E0%A4%A" } }],
    ["an unknown kind", { type: "hologram" }],
    ["no kind", {}]
  ])("%s is refused", (_name, part) => {
    assert.deepInclude(refusal({ messages: [{ role: "user", content: [part] }] }), { param: "messages" })
  })

  it("an image in a system prompt is refused", () => {
    const image = [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }]
    assert.include(refusal({ messages: [{ role: "system", content: image }] }).message, "system")
  })

  it("images in tool results stay there from generation 3 on, and follow as the user's before it", () => {
    const seen = (url: string) => [
      { type: "text", text: "seen" },
      { type: "image_url", image_url: { url } }
    ]
    const asked: ChatMessage = {
      role: "assistant",
      content: null,
      tool_calls: [call("a", "f", "{}"), call("b", "f", "{}")]
    }
    const messages: ReadonlyArray<ChatMessage> = [
      asked,
      { role: "tool", tool_call_id: "b", content: seen("data:image/png;base64,BBBB") },
      { role: "tool", tool_call_id: "a", content: seen("https://example.test/a.png") }
    ]
    const result = (id: string, rest: object = {}) => ({
      functionResponse: { id, name: "f", response: { output: "seen" }, ...rest }
    })
    const inside = { inlineData: { mimeType: "image/png", data: "BBBB" } }
    const outside = { fileData: { mimeType: "image/png", fileUri: "https://example.test/a.png" } }
    const turns = (upstream: string): unknown =>
      (body({ messages }, upstream) as { contents: Array<unknown> }).contents.slice(1)
    assert.deepStrictEqual(turns(plain), [
      { role: "user", parts: [result("a"), result("b")] },
      { role: "user", parts: [inside, outside] }
    ])
    assert.deepStrictEqual(turns("gemini-3.5-flash"), [
      { role: "user", parts: [result("a"), result("b", { parts: [inside] })] },
      { role: "user", parts: [outside] }
    ])
  })
})

describe("Gemini calls and results", () => {
  const conversation = (ids: readonly [string, string], rest: object = {}): ReadonlyArray<ChatMessage> => [
    { role: "user", content: "Paris and Rome?" },
    {
      role: "assistant",
      content: "Let me see.",
      tool_calls: [
        call(ids[0], "get_weather", '{"place":"Paris"}', rest),
        call(ids[1], "get_weather", '{"place":"Rome"}')
      ]
    },
    { role: "tool", tool_call_id: ids[1], content: "rain" },
    { role: "tool", tool_call_id: ids[0], content: '{"sky":"clear"}' },
    { role: "user", content: "Thanks" }
  ]

  it("results are one turn in the order of their calls, by name; made-up ids stay here", () => {
    assert.deepStrictEqual(contents(...conversation(["call_a", "call_b"])), {
      contents: [
        { role: "user", parts: [{ text: "Paris and Rome?" }] },
        {
          role: "model",
          parts: [
            { text: "Let me see." },
            { functionCall: { name: "get_weather", args: { place: "Paris" } } },
            { functionCall: { name: "get_weather", args: { place: "Rome" } } }
          ]
        },
        {
          role: "user",
          parts: [
            { functionResponse: { name: "get_weather", response: { sky: "clear" } } },
            { functionResponse: { name: "get_weather", response: { output: "rain" } } }
          ]
        },
        { role: "user", parts: [{ text: "Thanks" }] }
      ]
    })
  })

  it("Gemini's own ids and signatures go back to it", () => {
    const signed = { extra_content: { google: { thought_signature: "CvcQ" } } }
    const sent = body({ messages: conversation(["t0qhw5fh", "u1riw6gi"], signed) }, "gemini-3-flash-preview")
    assert.deepNestedPropertyVal(sent, "contents[1].parts[1]", {
      functionCall: { id: "t0qhw5fh", name: "get_weather", args: { place: "Paris" } },
      thoughtSignature: "CvcQ"
    })
    assert.deepNestedPropertyVal(sent, "contents[1].parts[2]", {
      functionCall: { id: "u1riw6gi", name: "get_weather", args: { place: "Rome" } }
    })
    assert.deepNestedPropertyVal(sent, "contents[2].parts[1]", {
      functionResponse: { id: "u1riw6gi", name: "get_weather", response: { output: "rain" } }
    })
  })

  it("from generation 3 on, the first call of a turn without a signature says so", () => {
    for (const upstream of ["gemini-3-flash-preview", "gemini-3.1-pro-preview", "gemini-flash-latest"]) {
      const sent = body({ messages: conversation(["call_a", "call_b"]) }, upstream)
      assert.nestedPropertyVal(sent, "contents[1].parts[1].thoughtSignature", "skip_thought_signature_validator")
      assert.notNestedProperty(sent, "contents[1].parts[2].thoughtSignature")
    }
    for (const upstream of ["gemini-2.5-pro", "gemma-3-27b-it"]) {
      const sent = body({ messages: conversation(["call_a", "call_b"]) }, upstream)
      assert.notNestedProperty(sent, "contents[1].parts[1].thoughtSignature")
    }
  })

  it("an id used twice means the last call that bore it; a name stands in for an unknown id", () => {
    const sent = contents(
      { role: "assistant", content: null, tool_calls: [call("call_0", "f", "")] },
      { role: "tool", tool_call_id: "call_0", content: "1" },
      { role: "assistant", content: null, tool_calls: [call("call_0", "g", "{}")] },
      { role: "tool", tool_call_id: "call_0", content: "2" },
      { role: "tool", name: "h", content: "[3]" }
    )
    assert.deepStrictEqual(sent, {
      contents: [
        { role: "model", parts: [{ functionCall: { name: "f", args: {} } }] },
        { role: "user", parts: [{ functionResponse: { name: "f", response: { output: "1" } } }] },
        { role: "model", parts: [{ functionCall: { name: "g", args: {} } }] },
        {
          role: "user",
          parts: [
            { functionResponse: { name: "g", response: { output: "2" } } },
            { functionResponse: { name: "h", response: { output: "[3]" } } }
          ]
        }
      ]
    })
  })

  it.each<readonly [string, ReadonlyArray<ChatMessage>]>([
    ["a result that answers no call", [{ role: "tool", tool_call_id: "call_9", content: "x" }]],
    ["arguments that are no object", [{ role: "assistant", content: null, tool_calls: [call("c", "f", "[1]")] }]],
    ["arguments that are no JSON", [{ role: "assistant", content: null, tool_calls: [call("c", "f", "{oops")] }]],
    ["a call of no function", [{ role: "assistant", content: null, tool_calls: [{ id: "c", type: "custom" }] }]]
  ])("%s is refused", (_name, messages) => {
    const reason = refusal({ messages })
    assert.instanceOf(reason, Unsupported)
    assert.strictEqual(reason.param, "messages")
  })
})

describe("Gemini tools", () => {
  const choice = (tool_choice: NonNullable<ChatRequest["tool_choice"]>) => body({ tools: [weather], tool_choice })
  const calling = (functionCallingConfig: object) => ({
    ...hi,
    tools: [declared],
    toolConfig: { functionCallingConfig }
  })

  it("are declared by JSON schema", () => {
    assert.deepStrictEqual(body({ tools: [weather] }), { ...hi, tools: [declared] })
    assert.deepStrictEqual(body({ tools: [{ type: "function", function: { name: "f" } }] }), {
      ...hi,
      tools: [{ functionDeclarations: [{ name: "f" }] }]
    })
    assert.deepStrictEqual(body({ tools: [], tool_choice: "auto" }), hi)
  })

  it("are chosen by mode and name", () => {
    assert.deepStrictEqual(choice("auto"), calling({ mode: "AUTO" }))
    assert.deepStrictEqual(choice("none"), calling({ mode: "NONE" }))
    assert.deepStrictEqual(choice("required"), calling({ mode: "ANY" }))
    const named = { type: "function", function: { name: "get_weather" } }
    assert.deepStrictEqual(choice(named), calling({ mode: "ANY", allowedFunctionNames: ["get_weather"] }))
    const allowed = (mode: string) => choice({ type: "allowed_tools", allowed_tools: { mode, tools: [named] } })
    assert.deepStrictEqual(allowed("auto"), calling({ mode: "VALIDATED", allowedFunctionNames: ["get_weather"] }))
    assert.deepStrictEqual(allowed("required"), calling({ mode: "ANY", allowedFunctionNames: ["get_weather"] }))
  })

  it("of other kinds, and unknown choices, are refused", () => {
    assert.strictEqual(refusal({ tools: [{ type: "custom", custom: { name: "f" } }] }).param, "tools")
    assert.strictEqual(refusal({ tools: [weather], tool_choice: "maybe" }).param, "tool_choice")
    assert.strictEqual(refusal({ tools: [weather], tool_choice: { type: "custom" } }).param, "tool_choice")
  })
})

describe("Gemini's generationConfig", () => {
  it("has sampling, limits and stops", () => {
    assert.deepStrictEqual(
      body({
        temperature: 2,
        top_p: 0.9,
        max_tokens: 5,
        max_completion_tokens: 7,
        n: 2,
        stop: "END",
        seed: 42,
        logprobs: true,
        top_logprobs: 3
      }),
      config({
        temperature: 2,
        topP: 0.9,
        maxOutputTokens: 5,
        stopSequences: ["END"],
        candidateCount: 2,
        seed: 42,
        responseLogprobs: true,
        logprobs: 3
      })
    )
    assert.deepStrictEqual(
      body({ stop: ["a", "b"], seed: 2 ** 40 + 3 }),
      config({ stopSequences: ["a", "b"], seed: 3 })
    )
  })

  it("is left out when nothing is asked for that Gemini does", () => {
    assert.deepStrictEqual(
      body({
        temperature: null,
        n: 1,
        stop: [],
        logprobs: false,
        top_logprobs: 0,
        presence_penalty: 0.5,
        frequency_penalty: -1,
        logit_bias: {},
        modalities: ["text"],
        response_format: { type: "text" },
        parallel_tool_calls: false,
        user: "u",
        metadata: { a: "b" },
        service_tier: "auto",
        x_vendor: 1
      }),
      hi
    )
  })

  it("asks for JSON, with a schema where one is given", () => {
    const schema = { type: "object", properties: { a: { $ref: "#/$defs/A" } }, $defs: { A: { type: "string" } } }
    assert.deepStrictEqual(
      body({ response_format: { type: "json_object" } }),
      config({ responseMimeType: "application/json" })
    )
    assert.deepStrictEqual(
      body({ response_format: { type: "json_schema", json_schema: { name: "r", strict: true, schema } } }),
      config({ responseMimeType: "application/json", responseJsonSchema: schema })
    )
    assert.strictEqual(refusal({ response_format: { type: "grammar" } }).param, "response_format")
  })

  it("asks for JSON beside tools from generation 3 on", () => {
    const both = { tools: [weather], response_format: { type: "json_object" } }
    assert.nestedPropertyVal(
      body(both, "gemini-3-flash-preview"),
      "generationConfig.responseMimeType",
      "application/json"
    )
    assert.strictEqual(refusal(both, "gemini-2.5-flash").param, "response_format")
  })

  it.each<readonly [string, Partial<ChatRequest>]>([
    ["logit_bias", { logit_bias: { 5: 1 } }],
    ["modalities", { modalities: ["text", "audio"] }],
    ["reasoning_effort", { reasoning_effort: "enormous" }]
  ])("%s is refused where Gemini cannot do it", (param, request) => {
    assert.deepInclude(refusal(request), { _tag: "Unsupported", param })
  })
})

describe("Gemini's thinkingConfig", () => {
  it.each<readonly [string, string | null, object | undefined]>([
    ["gemini-2.0-flash", "high", undefined],
    ["gemma-3-27b-it", "high", undefined],
    ["gemini-2.5-flash-image", "high", undefined],
    ["gemini-2.5-flash", null, { includeThoughts: true }],
    ["gemini-2.5-flash-lite", null, undefined],
    ["gemini-2.5-flash-lite", "minimal", { includeThoughts: true, thinkingBudget: 512 }],
    ["gemini-2.5-flash", "none", { thinkingBudget: 0 }],
    ["gemini-2.5-pro", "none", { thinkingBudget: 128 }],
    ["gemini-2.5-pro", "low", { includeThoughts: true, thinkingBudget: 1_024 }],
    ["gemini-2.5-pro", "medium", { includeThoughts: true, thinkingBudget: 8_192 }],
    ["gemini-2.5-pro", "xhigh", { includeThoughts: true, thinkingBudget: 24_576 }],
    ["gemini-3-pro-preview", "medium", { includeThoughts: true, thinkingLevel: "high" }],
    ["gemini-3.1-pro-preview", "medium", { includeThoughts: true, thinkingLevel: "medium" }],
    ["gemini-3.1-pro-preview", "minimal", { includeThoughts: true, thinkingLevel: "low" }],
    ["gemini-3.8-flash", "none", { thinkingLevel: "minimal" }],
    ["gemini-3.8-flash", "xhigh", { includeThoughts: true, thinkingLevel: "high" }],
    ["gemini-flash-latest", "low", { includeThoughts: true, thinkingLevel: "low" }]
  ])("of %s at effort %s", (upstream, effort, expected) => {
    const sent = body(effort === null ? {} : { reasoning_effort: effort }, upstream)
    assert.deepStrictEqual(sent, expected === undefined ? hi : config({ thinkingConfig: expected }))
  })
})

describe("Gemini's extras", () => {
  const unsent = (request: Partial<ChatRequest>, upstream = plain) =>
    Result.getOrThrow(lower(request, upstream)).leftOut

  it("are calls held to their schema where the model can be", () => {
    const toolConfig = { functionCallingConfig: { mode: "VALIDATED" } }
    assert.deepInclude(body({ tools: [weather] }, "gemini-2.5-flash"), { toolConfig })
    assert.notProperty(body({ tools: [weather] }), "toolConfig")
    assert.deepStrictEqual(unsent({ tools: [weather] }), ["tools.strict"])
    assert.deepStrictEqual(unsent({ tools: [weather], tool_choice: "required" }), [])
  })

  it("are top_k, images of the models that make them, and a search of the web without functions", () => {
    assert.deepStrictEqual(body({ top_k: 5 }), config({ topK: 5 }))
    const modalities = ["image", "text"]
    assert.deepStrictEqual(
      body({ modalities }, "gemini-2.5-flash-image"),
      config({ responseModalities: ["TEXT", "IMAGE"] })
    )
    assert.strictEqual(refusal({ modalities }).param, "modalities")
    assert.deepStrictEqual(body({ web_search_options: {} }), { ...hi, tools: [{ googleSearch: {} }] })
    assert.strictEqual(refusal({ web_search_options: {}, tools: [weather] }).param, "web_search_options")
  })

  it("think within the budget that is asked for, and say where they do not think", () => {
    const thinking = (tokens: number, upstream: string) => body({ reasoning: { max_tokens: tokens } }, upstream)
    const budget = (thinkingBudget: number) => config({ thinkingConfig: { includeThoughts: true, thinkingBudget } })
    assert.deepStrictEqual(thinking(3_000, "gemini-2.5-flash"), budget(3_000))
    assert.deepStrictEqual(thinking(99_000, "gemini-2.5-flash"), budget(24_576))
    assert.deepStrictEqual(thinking(99_000, "gemini-2.5-pro"), budget(32_768))
    assert.deepStrictEqual(
      thinking(99_000, "gemini-3.5-flash"),
      config({ thinkingConfig: { includeThoughts: true, thinkingLevel: "high" } })
    )
    assert.deepStrictEqual(unsent({ thinking: { type: "enabled", budget_tokens: 2_000 } }), ["thinking"])
    assert.deepStrictEqual(unsent({ user: "u", presence_penalty: 0, store: false }), ["user"])
  })
})
