import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { type ModelOffer } from "../../../src/domain/Catalog.ts"
import { type ChatMessage, type ChatRequest } from "../../../src/domain/Chat.ts"
import { lowerRequest } from "../../../src/providers/responses/Request.ts"
import { offer } from "../replayedTransport.ts"

type Members = Readonly<Record<string, unknown>>

const user: ChatMessage = { role: "user", content: "hi" }
const base: ChatRequest = { model: "test/small", messages: [user], stream: false }
const asked: Members = { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] }
const lower = (members: Members = {}, to: Partial<ModelOffer> = {}, stream = false) =>
  lowerRequest({ ...base, ...members } as ChatRequest, { ...offer, ...to }, "alpha", stream)
const body = (...given: Parameters<typeof lower>): Members =>
  JSON.parse(String(Result.getOrThrow(lower(...given)).body))
const input = (...messages: ReadonlyArray<Members>) => body({ messages })["input"]
const refusal = (members: Members) => {
  const lowered = lower(members)
  return Result.isFailure(lowered) ? lowered.failure.param : "accepted"
}

describe("a request of the Responses API", () => {
  it("stores nothing, and asks for encrypted reasoning of models that reason", () => {
    assert.deepStrictEqual(body(), { model: "small-2026", input: [asked], store: false, stream: false })
    assert.deepStrictEqual(body({}, { hidesReasoning: true }, true), {
      model: "small-2026",
      input: [asked],
      include: ["reasoning.encrypted_content"],
      store: false,
      stream: true
    })
    assert.strictEqual(body({ store: true })["store"], false)
    assert.strictEqual(body({ session_id: "chat-7" })["prompt_cache_key"], "chat-7")
  })

  it("writes the members under the API's names", () => {
    const same = {
      metadata: { team: "a" },
      prompt_cache_key: "k",
      safety_identifier: "s",
      service_tier: "flex",
      temperature: 0.3,
      top_p: 0.5,
      user: "u"
    }
    assert.deepStrictEqual(
      body({
        ...same,
        max_tokens: 100,
        max_completion_tokens: 200,
        reasoning_effort: "low",
        reasoning: { effort: "high", summary: "auto" },
        verbosity: "low",
        logprobs: true,
        top_logprobs: 2,
        parallel_tool_calls: false,
        x_unknown: 1,
        provider: { only: ["alpha"] },
        models: ["test/large"],
        seed: 7,
        presence_penalty: 1,
        frequency_penalty: 1,
        prediction: { type: "content", content: "x" }
      }),
      {
        ...same,
        top_logprobs: 2,
        model: "small-2026",
        input: [asked],
        parallel_tool_calls: false,
        text: { verbosity: "low" },
        reasoning: { effort: "low", summary: "auto" },
        max_output_tokens: 100,
        include: ["message.output_text.logprobs"],
        store: false,
        stream: false
      }
    )
    assert.strictEqual(body({ session_id: "s1", prompt_cache_key: "k" })["prompt_cache_key"], "k")
  })

  it("asks for reasoning whichever member says it, and switches it off where that can be done", () => {
    const reasoning = (members: Members, upstream = "gpt-6-sol") => body(members, { upstream })["reasoning"]
    assert.deepStrictEqual(reasoning({ reasoning: { effort: "high" } }), { effort: "high" })
    assert.deepStrictEqual(reasoning({ reasoning: { max_tokens: 2_000 } }), { effort: "low" })
    assert.deepStrictEqual(reasoning({ thinking: { type: "enabled", budget_tokens: 8_000 } }), { effort: "medium" })
    for (const off of [{ reasoning: { enabled: false } }, { thinking: { type: "disabled" } }]) {
      assert.deepStrictEqual(reasoning(off), { effort: "none" })
      assert.deepStrictEqual(reasoning(off, "gpt-5.4-mini"), { effort: "none" })
      for (const upstream of ["o3-pro", "gpt-5-pro", "gpt-5.4-pro", "gpt-5.3-codex", "gpt-4o"]) {
        assert.isUndefined(reasoning(off, upstream), upstream)
      }
    }
    assert.deepStrictEqual(reasoning({ reasoning_effort: "none" }, "o3-pro"), { effort: "none" })
  })

  it("asks for at least 16 tokens, the API's least", () => {
    assert.strictEqual(body({ max_tokens: 1 })["max_output_tokens"], 16)
    assert.strictEqual(body({ max_completion_tokens: 17 })["max_output_tokens"], 17)
    assert.notProperty(body({ max_tokens: null }), "max_output_tokens")
  })

  it("leaves out sampling for models that reason, unless they are told not to", () => {
    const sampling = { temperature: 0.3, top_p: 0.5 }
    const reasons = { hidesReasoning: true }
    assert.notProperty(body(sampling, reasons), "temperature")
    assert.notProperty(body(sampling, reasons), "top_p")
    assert.deepInclude(body({ ...sampling, reasoning_effort: "none" }, reasons), sampling)
  })

  it("passes on whether a stream is padded", () => {
    const stream_options = { include_usage: true, include_obfuscation: false }
    assert.deepStrictEqual(body({ stream_options }, {}, true)["stream_options"], { include_obfuscation: false })
    assert.notProperty(body({ stream_options: { include_usage: true } }, {}, true), "stream_options")
    assert.notProperty(body({ stream_options }), "stream_options")
  })

  it("refuses members without which the answer would be another", () => {
    assert.strictEqual(refusal({ n: 2 }), "n")
    assert.strictEqual(refusal({ stop: "END" }), "stop")
    assert.strictEqual(refusal({ stop: ["END"] }), "stop")
    assert.strictEqual(refusal({ logit_bias: { "5": 1 } }), "logit_bias")
    assert.strictEqual(refusal({ modalities: ["text", "audio"] }), "modalities")
    assert.strictEqual(refusal({ web_search_options: {} }), "web_search_options")
    assert.strictEqual(refusal({ functions: [{ name: "f" }] }), "functions")
    assert.strictEqual(refusal({ n: 1, stop: [], logit_bias: {}, modalities: ["text"] }), "accepted")
    assert.strictEqual(refusal({ stop: null, logit_bias: null, modalities: null, n: null }), "accepted")
  })
})

describe("the input of the Responses API", () => {
  const system = (content: unknown) => ({ role: "system", content })

  it("begins with the leading system messages as instructions; later ones are the developer's", () => {
    const messages = [system("Be kind."), system([{ type: "text", text: "Be brief." }]), user, system("Now rhyme.")]
    const { input: items, instructions } = body({ messages })
    assert.strictEqual(instructions, "Be kind.\n\nBe brief.")
    assert.deepStrictEqual(items, [
      asked,
      { type: "message", role: "developer", content: [{ type: "input_text", text: "Now rhyme." }] }
    ])
  })

  it("keeps system messages in the input where nothing else is, or JSON without a schema is wanted", () => {
    const developer = { type: "message", role: "developer", content: [{ type: "input_text", text: "Say JSON." }] }
    const alone = body({ messages: [system("Say JSON.")] })
    assert.deepStrictEqual([alone["input"], alone["instructions"]], [[developer], undefined])
    const json = body({ messages: [system("Say JSON."), user], response_format: { type: "json_object" } })
    assert.deepStrictEqual([json["input"], json["instructions"]], [[developer, asked], undefined])
    const picture = { type: "image_url", image_url: { url: "https://a.test/x.png" } }
    const seen = body({ messages: [system([picture]), user] })
    assert.notProperty(seen, "instructions")
  })

  it("lowers every part of a user's message", () => {
    const content = [
      { type: "text", text: "Look:" },
      { type: "text", text: "" },
      { type: "image_url", image_url: { url: "https://a.test/x.png", detail: "low" } },
      { type: "image_url", image_url: "data:image/png;base64,AAAA" },
      { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" } },
      { type: "file", file: { file_id: "file_1" } },
      { type: "file", file: { file_data: "https://a.test/a.pdf" } },
      { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } }
    ]
    assert.deepStrictEqual(input({ role: "user", content }), [
      {
        type: "message",
        role: "user",
        content: [
          { type: "input_text", text: "Look:" },
          { type: "input_image", image_url: "https://a.test/x.png", detail: "low" },
          { type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "auto" },
          { type: "input_file", file_data: "data:application/pdf;base64,AAAA", filename: "a.pdf" },
          { type: "input_file", file_id: "file_1" },
          { type: "input_file", file_url: "https://a.test/a.pdf" },
          { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } }
        ]
      }
    ])
    for (const part of [{ type: "video_url" }, { type: "image_url" }, { type: "file", file: {} }]) {
      assert.strictEqual(refusal({ messages: [{ role: "user", content: [part] }] }), "messages", part.type)
    }
  })

  it("makes items of an answer, its calls and their results, without the ids of items", () => {
    const long = "x".repeat(65)
    const items = input(
      user,
      {
        role: "assistant",
        content: [{ type: "text", text: "I look." }],
        refusal: "Not that.",
        phase: "commentary",
        tool_calls: [
          { id: "call_1", type: "function", function: { name: "f", arguments: '{"a":1}' } },
          { id: "call_2", type: "custom", custom: { name: "sh", input: "ls" } },
          { id: long, type: "function", function: { name: "g", arguments: "" } }
        ]
      },
      { role: "tool", tool_call_id: "call_1", content: "42" },
      { role: "tool", tool_call_id: "call_2", content: [{ type: "text", text: "a.txt" }] },
      {
        role: "tool",
        tool_call_id: long,
        content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }]
      },
      { role: "tool", tool_call_id: "call_4", content: null }
    ) as ReadonlyArray<Members>
    const short = items[4]?.["call_id"]
    assert.match(String(short), /^call_[0-9a-f]{48}$/)
    assert.deepStrictEqual(items, [
      asked,
      {
        type: "message",
        role: "assistant",
        content: [
          { type: "output_text", text: "I look." },
          { type: "refusal", refusal: "Not that." }
        ],
        phase: "commentary"
      },
      { type: "function_call", call_id: "call_1", name: "f", arguments: '{"a":1}' },
      { type: "custom_tool_call", call_id: "call_2", name: "sh", input: "ls" },
      { type: "function_call", call_id: short, name: "g", arguments: "{}" },
      { type: "function_call_output", call_id: "call_1", output: "42" },
      { type: "custom_tool_call_output", call_id: "call_2", output: [{ type: "input_text", text: "a.txt" }] },
      {
        type: "function_call_output",
        call_id: short,
        output: [{ type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "auto" }]
      },
      { type: "function_call_output", call_id: "call_4", output: "" }
    ])
    assert.strictEqual(refusal({ messages: [{ role: "tool", content: "x" }] }), "messages")
    for (const call of [{ function: { name: "f" } }, { id: "a", function: {} }]) {
      assert.strictEqual(refusal({ messages: [{ role: "assistant", tool_calls: [call] }] }), "messages")
    }
  })

  it("returns encrypted reasoning to the provider that made it, and to no other", () => {
    const mine = { id: "rs_1", format: "openai-responses-v1", provider: "alpha" }
    const answer = (details: ReadonlyArray<Members>, content: string | null = "9.8") => ({
      role: "assistant",
      content,
      reasoning: "shown",
      reasoning_details: details
    })
    const details = [
      { type: "reasoning.summary", summary: "one", ...mine, index: 0 },
      { type: "reasoning.summary", summary: "two", ...mine, index: 1 },
      { type: "reasoning.encrypted", data: "gAAAA", ...mine, index: 2 },
      { type: "reasoning.encrypted", data: "gBBBB", ...mine, id: "rs_2", index: 3 }
    ]
    const said = { type: "message", role: "assistant", content: [{ type: "output_text", text: "9.8" }] }
    const thoughts = [
      {
        type: "reasoning",
        summary: [
          { type: "summary_text", text: "one" },
          { type: "summary_text", text: "two" }
        ],
        encrypted_content: "gAAAA"
      },
      { type: "reasoning", summary: [], encrypted_content: "gBBBB" }
    ]
    assert.deepStrictEqual(input(user, answer(details)), [asked, ...thoughts, said])
    const unnamed = details.map((detail) => ({ ...detail, provider: undefined }))
    assert.deepStrictEqual(input(user, answer(unnamed)), [asked, ...thoughts, said], "a client dropped the provider")
    for (const other of [{ provider: "azure" }, { provider: undefined, format: "anthropic-claude-v1" }]) {
      assert.deepStrictEqual(input(user, answer(details.map((detail) => ({ ...detail, ...other })))), [asked, said])
    }
    assert.deepStrictEqual(input(user, answer(details.slice(0, 2))), [asked, said], "a summary alone")
    assert.deepStrictEqual(input(user, answer(details, null), user), [asked, asked], "reasoning without an answer")
  })
})

describe("the tools of the Responses API", () => {
  const schema = { type: "object", properties: { a: { type: "string" } } }

  it("are flat, and strict only if the client said so", () => {
    const grammar = { definition: "start: A", syntax: "lark" }
    const { tools } = body({
      tools: [
        { type: "function", function: { name: "f", description: "d", parameters: schema } },
        { type: "function", function: { name: "g", parameters: schema, strict: true } },
        { type: "function", function: { name: "h", strict: null } },
        { type: "custom", custom: { name: "sh", description: "d", format: { type: "grammar", grammar } } },
        { type: "custom", custom: { name: "free", format: { type: "text" } } }
      ]
    })
    assert.deepStrictEqual(tools, [
      { type: "function", name: "f", description: "d", parameters: schema, strict: false },
      { type: "function", name: "g", parameters: schema, strict: true },
      {
        type: "function",
        name: "h",
        parameters: { type: "object", properties: {}, required: [], additionalProperties: false },
        strict: false
      },
      { type: "custom", name: "sh", description: "d", format: { type: "grammar", ...grammar } },
      { type: "custom", name: "free", format: { type: "text" } }
    ])
    assert.strictEqual(refusal({ tools: [{ type: "web_search" }] }), "tools")
  })

  it("are chosen in every way", () => {
    const chosen = (tool_choice: unknown) => body({ tool_choice })["tool_choice"]
    for (const mode of ["auto", "none", "required"]) assert.strictEqual(chosen(mode), mode)
    assert.deepStrictEqual(chosen({ type: "function", function: { name: "f" } }), { type: "function", name: "f" })
    assert.deepStrictEqual(chosen({ type: "custom", custom: { name: "sh" } }), { type: "custom", name: "sh" })
    const allowed = { mode: "required", tools: [{ type: "function", function: { name: "f" } }] }
    assert.deepStrictEqual(chosen({ type: "allowed_tools", allowed_tools: allowed }), {
      type: "allowed_tools",
      mode: "required",
      tools: [{ type: "function", name: "f" }]
    })
    assert.notProperty(body({ tool_choice: null }), "tool_choice")
    assert.strictEqual(refusal({ tool_choice: { type: "mcp" } }), "tool_choice")
  })

  it("stand beside a flat format of the answer", () => {
    const format = (response_format: unknown, more: Members = {}) => body({ response_format, ...more })["text"]
    assert.deepStrictEqual(format({ type: "text" }), { format: { type: "text" } })
    assert.deepStrictEqual(format({ type: "json_object" }, { verbosity: "high" }), {
      format: { type: "json_object" },
      verbosity: "high"
    })
    assert.deepStrictEqual(
      format({ type: "json_schema", json_schema: { name: "r", description: "d", schema, strict: true } }),
      { format: { type: "json_schema", name: "r", description: "d", schema, strict: true } }
    )
    assert.deepStrictEqual(format({ type: "json_schema", json_schema: { name: "r", schema } }), {
      format: { type: "json_schema", name: "r", schema, strict: false }
    })
    assert.strictEqual(refusal({ response_format: { type: "grammar" } }), "response_format")
    assert.strictEqual(refusal({ response_format: { type: "json_schema" } }), "response_format")
  })
})
