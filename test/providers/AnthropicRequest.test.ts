import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { type ChatMessage, type ChatRequest } from "../../src/domain/Chat.ts"
import { lowerRequest } from "../../src/providers/dialects/AnthropicRequest.ts"
import { Unsupported } from "../../src/providers/Provider.ts"
import { offer } from "./replayedTransport.ts"

const hi: ChatMessage = { role: "user", content: "hi" }
const lower = (rest: Partial<ChatRequest>, upstream = "claude-sonnet-4-5") =>
  lowerRequest(
    { model: "test/small", messages: [hi], stream: false, ...rest },
    { ...offer, upstream, maxCompletionTokens: null },
    false
  )

const hiTurn = { role: "user", content: [{ type: "text", text: "hi" }] }
/** The whole body of a request for `hi`, with what `rest` adds or replaces. */
const body = (rest: object, model = "claude-sonnet-4-5") => ({
  model,
  max_tokens: 4096,
  messages: [hiTurn],
  stream: false,
  ...rest
})
const sends = (request: Partial<ChatRequest>, rest: object, upstream = "claude-sonnet-4-5"): void => {
  const lowered = Result.getOrThrow(lower(request, upstream))
  assert.deepStrictEqual(JSON.parse(lowered.body), body(rest, upstream))
}
const refuses = (request: Partial<ChatRequest>, param: string, upstream?: string): void => {
  const lowered = lower(request, upstream)
  assert.isTrue(Result.isFailure(lowered))
  if (Result.isFailure(lowered)) {
    assert.instanceOf(lowered.failure, Unsupported)
    assert.strictEqual(lowered.failure.param, param)
  }
}

const call = (id: string, args: string) => ({
  id,
  type: "function",
  function: { name: "get_weather", arguments: args }
})
const weather = {
  type: "function",
  function: {
    name: "get_weather",
    description: "Now",
    strict: true,
    parameters: { type: "object", properties: { city: { type: "string" } } }
  }
}
const weatherTool = {
  name: "get_weather",
  description: "Now",
  input_schema: { type: "object", properties: { city: { type: "string" } } }
}
const now = { type: "function", function: { name: "now" } }
const nowTool = { name: "now", input_schema: { type: "object", properties: {} } }
const part = (source: object, type = "image") => ({ type, source })

describe("messages", () => {
  it("gather the instructions in front, in order, and keep their cache marks", () => {
    const cache_control = { type: "ephemeral" }
    sends(
      {
        messages: [
          { role: "system", content: "Be brief." },
          { role: "system", content: [{ type: "text", text: "Rules", cache_control }] },
          hi,
          { role: "assistant", content: "Hello" },
          { role: "system", content: "Now rhyme." },
          { role: "user", content: "go" }
        ]
      },
      {
        system: [
          { type: "text", text: "Be brief." },
          { type: "text", text: "Rules", cache_control },
          { type: "text", text: "Now rhyme." }
        ],
        messages: [
          hiTurn,
          { role: "assistant", content: [{ type: "text", text: "Hello" }] },
          { role: "user", content: [{ type: "text", text: "go" }] }
        ]
      }
    )
  })

  it("make instructions alone what the user says", () => {
    sends({ messages: [{ role: "system", content: "hi" }] }, {})
  })

  it("carry images and documents by address and inside", () => {
    sends(
      {
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "What is this?" },
              { type: "image_url", image_url: { url: "https://example.test/a.png", detail: "high" } },
              { type: "image_url", image_url: { url: "data:image/jpg;base64,AAAA" } },
              { type: "image_url", image_url: "data:image/webp;base64,BBBB" },
              { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,CCCC" } },
              { type: "file", file: { file_data: "data:text/plain;charset=utf-8;base64,aMOp" } },
              { type: "file", file: { file_data: "https://example.test/b.pdf" } },
              { type: "text", text: " " }
            ]
          }
        ]
      },
      {
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "What is this?" },
              part({ type: "url", url: "https://example.test/a.png" }),
              part({ type: "base64", media_type: "image/jpeg", data: "AAAA" }),
              part({ type: "base64", media_type: "image/webp", data: "BBBB" }),
              { ...part({ type: "base64", media_type: "application/pdf", data: "CCCC" }, "document"), title: "a.pdf" },
              part({ type: "text", media_type: "text/plain", data: "hé" }, "document"),
              part({ type: "url", url: "https://example.test/b.pdf" }, "document")
            ]
          }
        ]
      }
    )
  })

  it("carry parallel calls, and their results in one turn with what the user says next", () => {
    sends(
      {
        messages: [
          hi,
          {
            role: "assistant",
            content: "Checking.",
            tool_calls: [call("functions.w:0", '{"city":"Paris"}'), call("b", "")]
          },
          { role: "tool", tool_call_id: "functions.w:0", content: "19°" },
          { role: "tool", tool_call_id: "b", content: "" },
          { role: "user", content: "And?" },
          { role: "user", content: [{ type: "text", text: "Well?" }] }
        ]
      },
      {
        messages: [
          hiTurn,
          {
            role: "assistant",
            content: [
              { type: "text", text: "Checking." },
              { type: "tool_use", id: "functions_w_0", name: "get_weather", input: { city: "Paris" } },
              { type: "tool_use", id: "b", name: "get_weather", input: {} }
            ]
          },
          {
            role: "user",
            content: [
              { type: "tool_result", tool_use_id: "functions_w_0", content: [{ type: "text", text: "19°" }] },
              { type: "tool_result", tool_use_id: "b" },
              { type: "text", text: "And?" },
              { type: "text", text: "Well?" }
            ]
          }
        ]
      }
    )
  })

  it("carry images in a tool's result, and a refusal as what was said", () => {
    const url = "https://example.test/a.png"
    sends(
      {
        messages: [
          hi,
          { role: "assistant", content: null, tool_calls: [call("a", "{}")], refusal: "No." },
          { role: "tool", tool_call_id: "a", content: [{ type: "image_url", image_url: { url } }] }
        ]
      },
      {
        messages: [
          hiTurn,
          {
            role: "assistant",
            content: [
              { type: "text", text: "No." },
              { type: "tool_use", id: "a", name: "get_weather", input: {} }
            ]
          },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: [part({ type: "url", url })] }] }
        ]
      }
    )
  })

  it("end with a text to be continued, without the white space after it", () => {
    const messages: ReadonlyArray<ChatMessage> = [hi, { role: "assistant", content: "Once upon \n" }]
    const turns = [hiTurn, { role: "assistant", content: [{ type: "text", text: "Once upon" }] }]
    sends({ messages }, { messages: turns })
    // What continues has its form already, and no thoughts before it.
    sends({ messages, reasoning_effort: "high", response_format: { type: "json_object" } }, { messages: turns })
    refuses({ messages }, "messages", "claude-opus-4-6")
  })

  it("refuse what the API has no block for", () => {
    const contents: ReadonlyArray<Record<string, unknown>> = [
      { type: "input_audio", input_audio: { data: "", format: "wav" } },
      { type: "image_url", image_url: { url: "data:image/tiff;base64,AAAA" } },
      { type: "image_url", image_url: { url: "data:image/png,AAAA" } },
      { type: "image_url", image_url: { url: "ftp://example.test/a.png" } },
      { type: "file", file: { file_id: "file-1" } },
      { type: "file", file: { file_data: "data:text/html;base64,AAAA" } },
      { type: "file" },
      {}
    ]
    for (const content of contents) refuses({ messages: [{ role: "user", content: [content] }] }, "messages")
    const image = { type: "image_url", image_url: { url: "https://example.test/a.png" } }
    refuses({ messages: [{ role: "system", content: [image] }, hi] }, "messages")
    refuses({ messages: [hi, { role: "assistant", content: [image] }] }, "messages")
    refuses({ messages: [hi, { role: "tool", content: "x" }] }, "messages")
    refuses({ messages: [hi, { role: "assistant", content: null, tool_calls: [call("a", "{oops")] }] }, "messages")
    refuses({ messages: [hi, { role: "assistant", content: null, tool_calls: [call("a", "[1]")] }] }, "messages")
    refuses({ messages: [hi, { role: "assistant", content: null, tool_calls: [{ id: "a" }] }] }, "messages")
  })
})

describe("tools", () => {
  const tools = [weather, now]
  const both = [weatherTool, nowTool]

  it("go with the choice among them", () => {
    sends({ tools }, { tools: both })
    sends({ tools, tool_choice: "auto" }, { tools: both })
    sends({ tools, tool_choice: "none" }, { tools: both, tool_choice: { type: "none" } })
    sends({ tools, tool_choice: "required" }, { tools: both, tool_choice: { type: "any" } })
    const named = { type: "function", function: { name: "now" } }
    sends({ tools, tool_choice: named }, { tools: both, tool_choice: { type: "tool", name: "now" } })
    const allowed = (mode: string) => ({ type: "allowed_tools", allowed_tools: { mode, tools: [named] } })
    sends({ tools, tool_choice: allowed("auto") }, { tools: [nowTool] })
    sends({ tools, tool_choice: allowed("required") }, { tools: [nowTool], tool_choice: { type: "any" } })
    sends({ tools: [], tool_choice: "required" }, {})
  })

  it("are called one at a time when asked to", () => {
    const disable_parallel_tool_use = true
    const one = { tools, parallel_tool_calls: false }
    sends(one, { tools: both, tool_choice: { type: "auto", disable_parallel_tool_use } })
    sends({ ...one, tool_choice: "required" }, { tools: both, tool_choice: { type: "any", disable_parallel_tool_use } })
    sends({ ...one, tool_choice: "none" }, { tools: both, tool_choice: { type: "none" } })
    sends({ tools, parallel_tool_calls: true }, { tools: both })
    sends({ parallel_tool_calls: false }, {})
  })

  it("are refused where they are no functions, or cannot be forced", () => {
    refuses({ tools: [{ type: "custom", custom: { name: "x" } }] }, "tools")
    refuses({ tools, tool_choice: "sometimes" }, "tool_choice")
    refuses({ tools, tool_choice: { type: "custom" } }, "tool_choice")
    refuses({ tools, tool_choice: "required" }, "tool_choice", "claude-opus-5-5")
  })
})

describe("response_format", () => {
  const schema = { type: "object", properties: { city: { type: "string", maxLength: 9 } }, required: ["city"] }
  const form = (rest: object) => ({ type: "json_schema", json_schema: { name: "city", schema, ...rest } })
  const closed = {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false
  }
  const format = { type: "json_schema", schema: closed }
  const answer = (input_schema: object, description = "Gives the answer to the user.") => ({
    name: "respond_with_json",
    description,
    input_schema
  })
  const forced = { type: "tool", name: "respond_with_json", disable_parallel_tool_use: true }
  const anything = { type: "object", additionalProperties: true }

  it("is the API's own schema where it is strict and the model knows one", () => {
    sends({ response_format: form({ strict: true }) }, { output_config: { format } })
    sends({ response_format: form({ strict: true }), tools: [now] }, { tools: [nowTool], output_config: { format } })
    assert.isFalse(Result.getOrThrow(lower({ response_format: form({ strict: true }) })).answersByTool)
  })

  it("is a tool that must be called otherwise", () => {
    sends({ response_format: form({}) }, { tools: [answer(schema)], tool_choice: forced })
    sends(
      { response_format: form({ strict: true, description: "A city" }) },
      { tools: [answer(schema, "A city")], tool_choice: forced },
      "claude-sonnet-4-0"
    )
    sends({ response_format: { type: "json_object" } }, { tools: [answer(anything)], tool_choice: forced })
    assert.isTrue(Result.getOrThrow(lower({ response_format: { type: "json_object" } })).answersByTool)
  })

  it("stands beside the client's own tools", () => {
    const json = { response_format: { type: "json_object" }, tools: [now] }
    sends(json, { tools: [nowTool, answer(anything)], tool_choice: { type: "any" } })
    sends({ ...json, tool_choice: "none" }, { tools: [nowTool, answer(anything)], tool_choice: forced })
    sends({ ...json, tool_choice: "required" }, { tools: [nowTool], tool_choice: { type: "any" } })
  })

  it("is the schema or an instruction where nothing can be forced", () => {
    sends({ response_format: form({}) }, { output_config: { format } }, "claude-opus-5-5")
    const text = "Answer with one JSON object and nothing else."
    sends({ response_format: { type: "json_object" } }, { system: [{ type: "text", text }] }, "claude-opus-5-5")
  })

  it("is nothing for text, and refused where it is unknown or no object", () => {
    sends({ response_format: { type: "text" } }, {})
    refuses({ response_format: { type: "grammar" } }, "response_format")
    refuses({ response_format: { type: "json_schema" } }, "response_format")
    refuses({ response_format: form({ schema: { type: "array" } }) }, "response_format")
  })
})

describe("reasoning_effort", () => {
  const effort = (reasoning_effort: string, rest: Partial<ChatRequest> = {}) => ({ reasoning_effort, ...rest })
  const enabled = (budget_tokens: number) => ({ thinking: { type: "enabled", budget_tokens } })
  const adaptive = { type: "adaptive" }
  const summarized = { type: "adaptive", display: "summarized" }

  it("is a share of the output limit where the model wants a number", () => {
    sends(effort("low", { max_tokens: 20_000 }), { max_tokens: 20_000, ...enabled(4_000) })
    sends(effort("high", { max_completion_tokens: 10_000 }), { max_tokens: 10_000, ...enabled(8_000) })
    sends(effort("minimal"), enabled(1_024))
    sends(effort("none"), {})
    sends(effort("high", { max_tokens: 1_024 }), { max_tokens: 1_024 })
    sends(effort("high"), {}, "claude-3-5-haiku-latest")
  })

  it("is an effort where the model thinks as it sees fit", () => {
    sends(effort("xhigh"), { thinking: adaptive, output_config: { effort: "high" } }, "claude-opus-4-6")
    sends(effort("xhigh"), { thinking: summarized, output_config: { effort: "xhigh" } }, "claude-opus-4-8")
    sends(effort("minimal"), { thinking: summarized, output_config: { effort: "low" } }, "claude-sonnet-5")
    sends(effort("max"), { thinking: summarized, output_config: { effort: "max" } }, "claude-opus-5")
  })

  it("none turns thinking off as far as the model lets it", () => {
    sends(effort("none"), {}, "claude-opus-4-8")
    sends(effort("none"), { thinking: { type: "disabled" } }, "claude-opus-5")
    sends(effort("none"), { thinking: { type: "between_tools" } }, "claude-sonnet-5-5")
    sends(effort("none"), { output_config: { effort: "low" } }, "claude-opus-5-5")
  })

  it("makes way for a forced tool, and for calls whose thoughts are lost", () => {
    const forced: Partial<ChatRequest> = { tools: [now], tool_choice: "required" }
    const tools = { tools: [nowTool], tool_choice: { type: "any" } }
    sends(effort("high", forced), tools)
    sends(effort("high", forced), { ...tools, output_config: { effort: "high" } }, "claude-opus-5")
    const messages: ReadonlyArray<ChatMessage> = [
      hi,
      { role: "assistant", content: null, tool_calls: [call("a", "{}")] },
      { role: "tool", tool_call_id: "a", content: "1" }
    ]
    assert.notProperty(JSON.parse(Result.getOrThrow(lower(effort("high", { messages }))).body), "thinking")
    const later: ReadonlyArray<ChatMessage> = [...messages, { role: "assistant", content: "So." }, hi]
    assert.nestedPropertyVal(
      JSON.parse(Result.getOrThrow(lower(effort("high", { messages: later }))).body),
      "thinking.type",
      "enabled"
    )
  })

  it("leaves sampling to the model", () => {
    sends(effort("medium", { temperature: 0.2, top_p: 0.5 }), enabled(2_048))
  })

  it("stands beside a schema, and is refused when unknown", () => {
    const response_format = {
      type: "json_schema",
      json_schema: { name: "a", strict: true, schema: { type: "object" } }
    }
    const format = { type: "json_schema", schema: { type: "object", additionalProperties: false } }
    sends(
      effort("low", { response_format }),
      { thinking: summarized, output_config: { effort: "low", format } },
      "claude-opus-5-5"
    )
    refuses(effort("enormous"), "reasoning_effort")
  })
})

describe("other members", () => {
  it("limit the output: what the client says, what the offer says, 4096", () => {
    sends({ max_tokens: 10, max_completion_tokens: 20 }, { max_tokens: 20 })
    sends({ max_tokens: 10 }, { max_tokens: 10 })
    const request: ChatRequest = { model: "test/small", messages: [hi], stream: true }
    const lowered = Result.getOrThrow(lowerRequest(request, offer, true))
    assert.deepStrictEqual(JSON.parse(lowered.body), { ...body({}, "small-2026"), max_tokens: 16_384, stream: true })
  })

  it("clamp the temperature, and sample as the model lets them", () => {
    const both = { temperature: 1.7, top_p: 0.5 }
    sends(both, { temperature: 1, top_p: 0.5 }, "claude-3-haiku-20240307")
    sends(both, { temperature: 1 })
    sends({ temperature: null, top_p: 0.5 }, { top_p: 0.5 })
    sends({ temperature: 0 }, { temperature: 0 })
    sends(both, {}, "claude-opus-4-7")
  })

  it("map stops, users and tiers", () => {
    sends({ stop: "END" }, { stop_sequences: ["END"] })
    sends({ stop: ["A", "B"] }, { stop_sequences: ["A", "B"] })
    sends({ stop: [] }, {})
    refuses({ stop: ["A", "\n"] }, "stop")
    sends({ user: "u-1" }, { metadata: { user_id: "u-1" } })
    sends({ service_tier: "auto" }, { service_tier: "auto" })
    sends({ service_tier: "default" }, { service_tier: "standard_only" })
    sends({ service_tier: "flex" }, {})
  })

  it("are refused only when they ask for something", () => {
    sends({ n: 1, logprobs: false, top_logprobs: 0, logit_bias: {}, modalities: ["text"], x_vendor: 1 }, {})
    refuses({ n: 2 }, "n")
    refuses({ logprobs: true }, "logprobs")
    refuses({ top_logprobs: 1 }, "top_logprobs")
    refuses({ logit_bias: { "1": -100 } }, "logit_bias")
    refuses({ modalities: ["text", "audio"] }, "modalities")
  })
})
