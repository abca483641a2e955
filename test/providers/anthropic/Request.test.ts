import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { type ChatMessage, type ChatRequest } from "../../../src/domain/Chat.ts"
import { thoughtMaker } from "../../../src/providers/anthropic/Model.ts"
import { lowerRequest } from "../../../src/providers/anthropic/Request.ts"
import { Unsupported } from "../../../src/providers/Provider.ts"
import { offer } from "../replayedTransport.ts"

const hi: ChatMessage = { role: "user", content: "hi" }
const lower = (rest: Partial<ChatRequest>, upstream = "claude-sonnet-4-5") =>
  lowerRequest(
    { model: "test/small", messages: [hi], stream: false, ...rest },
    { ...offer, upstream, maxCompletionTokens: null },
    { maker: thoughtMaker("alpha", upstream), stream: false }
  )

const hiTurn = { role: "user", content: [{ type: "text", text: "hi" }] }
/** The whole body of a request for `hi`, with `rest` added or replaced. */
const body = (rest: object, model = "claude-sonnet-4-5") => ({
  model,
  max_tokens: 4096,
  messages: [hiTurn],
  stream: false,
  ...rest
})
/** The whole outgoing body. */
const sent = (request: Partial<ChatRequest>, upstream?: string): unknown =>
  JSON.parse(String(Result.getOrThrow(lower(request, upstream)).body))
/** The member named by a rejection, or null. */
const refused = (request: Partial<ChatRequest>, upstream?: string): string | null => {
  const lowered = lower(request, upstream)
  return Result.isFailure(lowered) && lowered.failure instanceof Unsupported ? lowered.failure.param : null
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
  input_schema: { type: "object", properties: { city: { type: "string" } }, additionalProperties: false },
  strict: true
}
const now = { type: "function", function: { name: "now" } }
const nowTool = { name: "now", input_schema: { type: "object", properties: {} } }
const part = (source: object, type = "image") => ({ type, source })

describe("messages", () => {
  it("gather the instructions in front, in order, and keep their cache marks", () => {
    const cache_control = { type: "ephemeral" }
    assert.deepStrictEqual(
      sent({
        messages: [
          { role: "system", content: "Be brief." },
          { role: "system", content: [{ type: "text", text: "Rules", cache_control }] },
          hi,
          { role: "assistant", content: "Hello" },
          { role: "system", content: "Now rhyme." },
          { role: "user", content: "go" }
        ]
      }),
      body({
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
      })
    )
  })

  it("keep the cache marks of messages, parts, results and tools, and of the request", () => {
    const cache_control = { type: "ephemeral", ttl: "1h" }
    const mark = { cache_control }
    const marked: ReadonlyArray<ChatMessage> = [
      { role: "system", content: "Rules", ...mark },
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" }
        ],
        ...mark
      },
      { role: "assistant", content: "c", tool_calls: [call("t", "{}")], ...mark },
      { role: "tool", tool_call_id: "t", content: "19°", ...mark },
      { role: "assistant", content: null, tool_calls: [call("u", "{}")] },
      { role: "tool", tool_call_id: "u", content: [{ type: "text", text: "20°", ...mark }] }
    ]
    const tools = [
      { ...now, ...mark },
      { type: "function", function: { name: "then", ...mark } }
    ]
    assert.deepStrictEqual(sent({ messages: marked, tools, ...mark }), {
      model: "claude-sonnet-4-5",
      max_tokens: 4096,
      system: [{ type: "text", text: "Rules", ...mark }],
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "a" },
            { type: "text", text: "b", ...mark }
          ]
        },
        {
          role: "assistant",
          content: [
            { type: "text", text: "c" },
            { type: "tool_use", id: "t", name: "get_weather", input: {}, ...mark }
          ]
        },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: "19°" }], ...mark }]
        },
        { role: "assistant", content: [{ type: "tool_use", id: "u", name: "get_weather", input: {} }] },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "u", content: [{ type: "text", text: "20°" }], ...mark }]
        }
      ],
      tools: [
        { ...nowTool, ...mark },
        { ...nowTool, name: "then", ...mark }
      ],
      cache_control,
      stream: false
    })
  })

  it("carry the API's own documents, and what a file asks of them", () => {
    const own = { type: "document", source: { type: "text", media_type: "text/plain", data: "2+2=4" }, title: "Sums" }
    const found = { type: "search_result", source: "https://example.test", title: "T", content: [] }
    const options = { citations: { enabled: true }, context: "old" }
    const file = { type: "file", file: { file_data: "data:application/pdf;base64,CCCC" }, ...options }
    assert.deepStrictEqual(
      sent({ messages: [{ role: "user", content: [own, found, file] }] }),
      body({
        messages: [
          {
            role: "user",
            content: [
              own,
              found,
              { ...part({ type: "base64", media_type: "application/pdf", data: "CCCC" }, "document"), ...options }
            ]
          }
        ]
      })
    )
  })

  it("put results before what the user said beside them", () => {
    const { messages } = JSON.parse(
      String(
        Result.getOrThrow(
          lower({
            messages: [
              hi,
              { role: "assistant", content: "", tool_calls: [call("a", "{}"), call("b", "{}")] },
              { role: "tool", tool_call_id: "a", content: "1" },
              { role: "user", content: "Wait." },
              { role: "tool", tool_call_id: "b", content: "2" }
            ]
          })
        ).body
      )
    )
    assert.deepStrictEqual(
      messages.map((turn: { readonly content: ReadonlyArray<{ readonly type: string }> }) =>
        turn.content.map(({ type }) => type)
      ),
      [["text"], ["tool_use", "tool_use"], ["tool_result", "tool_result", "text"]]
    )
  })

  it("make instructions alone what the user says", () => {
    assert.deepStrictEqual(sent({ messages: [{ role: "system", content: "hi" }] }), body({}))
  })

  it("carry images and documents by address and inside", () => {
    assert.deepStrictEqual(
      sent({
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
      }),
      body({
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
      })
    )
  })

  it("carry parallel calls, and their results in one turn with what the user says next", () => {
    assert.deepStrictEqual(
      sent({
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
      }),
      body({
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
      })
    )
  })

  it("carry images in a tool's result, and a refusal as what was said", () => {
    const url = "https://example.test/a.png"
    assert.deepStrictEqual(
      sent({
        messages: [
          hi,
          { role: "assistant", content: null, tool_calls: [call("a", "{}")], refusal: "No." },
          { role: "tool", tool_call_id: "a", content: [{ type: "image_url", image_url: { url } }] }
        ]
      }),
      body({
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
      })
    )
  })

  it("end with a text to be continued, without the white space after it", () => {
    const messages: ReadonlyArray<ChatMessage> = [hi, { role: "assistant", content: "Once upon \n" }]
    const turns = [hiTurn, { role: "assistant", content: [{ type: "text", text: "Once upon" }] }]
    assert.deepStrictEqual(sent({ messages }), body({ messages: turns }))
    // A prefill has its format already, and no thinking before it.
    assert.deepStrictEqual(
      sent({ messages, reasoning_effort: "high", response_format: { type: "json_object" } }),
      body({ messages: turns })
    )
    assert.strictEqual(refused({ messages }, "claude-opus-4-6"), "messages")
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
    for (const content of contents)
      assert.strictEqual(refused({ messages: [{ role: "user", content: [content] }] }), "messages")
    const image = { type: "image_url", image_url: { url: "https://example.test/a.png" } }
    assert.strictEqual(refused({ messages: [{ role: "system", content: [image] }, hi] }), "messages")
    assert.strictEqual(refused({ messages: [hi, { role: "assistant", content: [image] }] }), "messages")
    assert.strictEqual(refused({ messages: [hi, { role: "tool", content: "x" }] }), "messages")
    assert.strictEqual(
      refused({ messages: [hi, { role: "assistant", content: null, tool_calls: [call("a", "{oops")] }] }),
      "messages"
    )
    assert.strictEqual(
      refused({ messages: [hi, { role: "assistant", content: null, tool_calls: [call("a", "[1]")] }] }),
      "messages"
    )
    assert.strictEqual(
      refused({ messages: [hi, { role: "assistant", content: null, tool_calls: [{ id: "a" }] }] }),
      "messages"
    )
  })
})

describe("tools", () => {
  const tools = [weather, now]
  const both = [weatherTool, nowTool]

  it("go with the choice among them", () => {
    assert.deepStrictEqual(sent({ tools }), body({ tools: both }))
    assert.deepStrictEqual(sent({ tools, tool_choice: "auto" }), body({ tools: both }))
    assert.deepStrictEqual(sent({ tools, tool_choice: "none" }), body({ tools: both, tool_choice: { type: "none" } }))
    assert.deepStrictEqual(
      sent({ tools, tool_choice: "required" }),
      body({ tools: both, tool_choice: { type: "any" } })
    )
    const named = { type: "function", function: { name: "now" } }
    assert.deepStrictEqual(
      sent({ tools, tool_choice: named }),
      body({ tools: both, tool_choice: { type: "tool", name: "now" } })
    )
    const allowed = (mode: string) => ({ type: "allowed_tools", allowed_tools: { mode, tools: [named] } })
    assert.deepStrictEqual(sent({ tools, tool_choice: allowed("auto") }), body({ tools: [nowTool] }))
    assert.deepStrictEqual(
      sent({ tools, tool_choice: allowed("required") }),
      body({ tools: [nowTool], tool_choice: { type: "any" } })
    )
    assert.deepStrictEqual(sent({ tools: [], tool_choice: "required" }), body({}))
  })

  it("are called one at a time when asked to", () => {
    const disable_parallel_tool_use = true
    const one = { tools, parallel_tool_calls: false }
    assert.deepStrictEqual(sent(one), body({ tools: both, tool_choice: { type: "auto", disable_parallel_tool_use } }))
    assert.deepStrictEqual(
      sent({ ...one, tool_choice: "required" }),
      body({ tools: both, tool_choice: { type: "any", disable_parallel_tool_use } })
    )
    assert.deepStrictEqual(sent({ ...one, tool_choice: "none" }), body({ tools: both, tool_choice: { type: "none" } }))
    assert.deepStrictEqual(sent({ tools, parallel_tool_calls: true }), body({ tools: both }))
    assert.deepStrictEqual(sent({ parallel_tool_calls: false }), body({}))
  })

  it("are refused where they are no functions, or cannot be forced", () => {
    assert.strictEqual(refused({ tools: [{ type: "custom", custom: { name: "x" } }] }), "tools")
    assert.strictEqual(refused({ tools, tool_choice: "sometimes" }), "tool_choice")
    assert.strictEqual(refused({ tools, tool_choice: { type: "custom" } }), "tool_choice")
    assert.strictEqual(refused({ tools, tool_choice: "required" }, "claude-opus-5-5"), "tool_choice")
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
    assert.deepStrictEqual(sent({ response_format: form({ strict: true }) }), body({ output_config: { format } }))
    assert.deepStrictEqual(
      sent({ response_format: form({ strict: true }), tools: [now] }),
      body({ tools: [nowTool], output_config: { format } })
    )
    assert.isFalse(Result.getOrThrow(lower({ response_format: form({ strict: true }) })).answersByTool)
  })

  it("is a tool that must be called otherwise", () => {
    assert.deepStrictEqual(sent({ response_format: form({}) }), body({ tools: [answer(schema)], tool_choice: forced }))
    assert.deepStrictEqual(
      sent({ response_format: form({ strict: true, description: "A city" }) }, "claude-sonnet-4-0"),
      body({ tools: [answer(schema, "A city")], tool_choice: forced }, "claude-sonnet-4-0")
    )
    assert.deepStrictEqual(
      sent({ response_format: { type: "json_object" } }),
      body({ tools: [answer(anything)], tool_choice: forced })
    )
    assert.isTrue(Result.getOrThrow(lower({ response_format: { type: "json_object" } })).answersByTool)
  })

  it("stands beside the client's own tools", () => {
    const json = { response_format: { type: "json_object" }, tools: [now] }
    assert.deepStrictEqual(sent(json), body({ tools: [nowTool, answer(anything)], tool_choice: { type: "any" } }))
    assert.deepStrictEqual(
      sent({ ...json, tool_choice: "none" }),
      body({ tools: [nowTool, answer(anything)], tool_choice: forced })
    )
    assert.deepStrictEqual(
      sent({ ...json, tool_choice: "required" }),
      body({ tools: [nowTool], tool_choice: { type: "any" } })
    )
  })

  it("is the schema or an instruction where nothing can be forced", () => {
    assert.deepStrictEqual(
      sent({ response_format: form({}) }, "claude-opus-5-5"),
      body({ output_config: { format } }, "claude-opus-5-5")
    )
    const text = "Answer with one JSON object and nothing else."
    assert.deepStrictEqual(
      sent({ response_format: { type: "json_object" } }, "claude-opus-5-5"),
      body({ system: [{ type: "text", text }] }, "claude-opus-5-5")
    )
  })

  it("is nothing for text, and refused where it is unknown or no object", () => {
    assert.deepStrictEqual(sent({ response_format: { type: "text" } }), body({}))
    assert.strictEqual(refused({ response_format: { type: "grammar" } }), "response_format")
    assert.strictEqual(refused({ response_format: { type: "json_schema" } }), "response_format")
    assert.strictEqual(refused({ response_format: form({ schema: { type: "array" } }) }), "response_format")
  })
})

describe("reasoning_effort", () => {
  const effort = (reasoning_effort: string, rest: Partial<ChatRequest> = {}) => ({ reasoning_effort, ...rest })
  const enabled = (budget_tokens: number) => ({ thinking: { type: "enabled", budget_tokens } })
  const adaptive = { type: "adaptive" }
  const summarized = { type: "adaptive", display: "summarized" }

  it("is a share of the output limit where the model wants a number", () => {
    assert.deepStrictEqual(sent(effort("low", { max_tokens: 20_000 })), body({ max_tokens: 20_000, ...enabled(4_000) }))
    assert.deepStrictEqual(
      sent(effort("high", { max_completion_tokens: 10_000 })),
      body({ max_tokens: 10_000, ...enabled(8_000) })
    )
    assert.deepStrictEqual(sent(effort("minimal")), body(enabled(1_024)))
    assert.deepStrictEqual(sent(effort("none")), body({}))
    assert.deepStrictEqual(sent(effort("high", { max_tokens: 1_024 })), body({ max_tokens: 1_024 }))
    assert.deepStrictEqual(sent(effort("high"), "claude-3-5-haiku-latest"), body({}, "claude-3-5-haiku-latest"))
  })

  it("is an effort where the model thinks as it sees fit", () => {
    assert.deepStrictEqual(
      sent(effort("xhigh"), "claude-opus-4-6"),
      body({ thinking: adaptive, output_config: { effort: "high" } }, "claude-opus-4-6")
    )
    assert.deepStrictEqual(
      sent(effort("xhigh"), "claude-opus-4-8"),
      body({ thinking: summarized, output_config: { effort: "xhigh" } }, "claude-opus-4-8")
    )
    assert.deepStrictEqual(
      sent(effort("minimal"), "claude-sonnet-5"),
      body({ thinking: summarized, output_config: { effort: "low" } }, "claude-sonnet-5")
    )
    assert.deepStrictEqual(
      sent(effort("max"), "claude-opus-5"),
      body({ thinking: summarized, output_config: { effort: "max" } }, "claude-opus-5")
    )
  })

  it("none turns thinking off as far as the model lets it", () => {
    assert.deepStrictEqual(sent(effort("none"), "claude-opus-4-8"), body({}, "claude-opus-4-8"))
    assert.deepStrictEqual(
      sent(effort("none"), "claude-opus-5"),
      body({ thinking: { type: "disabled" } }, "claude-opus-5")
    )
    assert.deepStrictEqual(
      sent(effort("none"), "claude-sonnet-5-5"),
      body({ thinking: { type: "between_tools" } }, "claude-sonnet-5-5")
    )
    assert.deepStrictEqual(
      sent(effort("none"), "claude-opus-5-5"),
      body({ output_config: { effort: "low" } }, "claude-opus-5-5")
    )
  })

  it("makes way for a forced tool, and for calls whose thoughts are lost", () => {
    const forced: Partial<ChatRequest> = { tools: [now], tool_choice: "required" }
    const tools = { tools: [nowTool], tool_choice: { type: "any" } }
    assert.deepStrictEqual(sent(effort("high", forced)), body(tools))
    assert.deepStrictEqual(
      sent(effort("high", forced), "claude-opus-5"),
      body({ ...tools, output_config: { effort: "high" } }, "claude-opus-5")
    )
    const messages: ReadonlyArray<ChatMessage> = [
      hi,
      { role: "assistant", content: null, tool_calls: [call("a", "{}")] },
      { role: "tool", tool_call_id: "a", content: "1" }
    ]
    assert.notProperty(JSON.parse(String(Result.getOrThrow(lower(effort("high", { messages }))).body)), "thinking")
    const later: ReadonlyArray<ChatMessage> = [...messages, { role: "assistant", content: "So." }, hi]
    assert.nestedPropertyVal(
      JSON.parse(String(Result.getOrThrow(lower(effort("high", { messages: later }))).body)),
      "thinking.type",
      "enabled"
    )
  })

  it("leaves sampling to the model", () => {
    assert.deepStrictEqual(sent(effort("medium", { temperature: 0.2, top_p: 0.5 })), body(enabled(2_048)))
  })

  it("stands beside a schema, and is refused when unknown", () => {
    const response_format = {
      type: "json_schema",
      json_schema: { name: "a", strict: true, schema: { type: "object" } }
    }
    const format = { type: "json_schema", schema: { type: "object", additionalProperties: false } }
    assert.deepStrictEqual(
      sent(effort("low", { response_format }), "claude-opus-5-5"),
      body({ thinking: summarized, output_config: { effort: "low", format } }, "claude-opus-5-5")
    )
    assert.strictEqual(refused(effort("enormous")), "reasoning_effort")
  })
})

describe("other members", () => {
  it("limit the output: what the client says, what the offer says, 4096", () => {
    assert.deepStrictEqual(sent({ max_tokens: 10, max_completion_tokens: 20 }), body({ max_tokens: 10 }))
    assert.deepStrictEqual(sent({ max_tokens: 10 }), body({ max_tokens: 10 }))
    const request: ChatRequest = { model: "test/small", messages: [hi], stream: true }
    const lowered = Result.getOrThrow(lowerRequest(request, offer, { maker: thoughtMaker("alpha", ""), stream: true }))
    assert.deepStrictEqual(JSON.parse(String(lowered.body)), {
      ...body({}, "small-2026"),
      max_tokens: 16_384,
      stream: true
    })
  })

  it("clamp the temperature, and sample as the model lets them", () => {
    const both = { temperature: 1.7, top_p: 0.5 }
    assert.deepStrictEqual(
      sent(both, "claude-3-haiku-20240307"),
      body({ temperature: 1, top_p: 0.5 }, "claude-3-haiku-20240307")
    )
    assert.deepStrictEqual(sent(both), body({ temperature: 1 }))
    assert.deepStrictEqual(sent({ temperature: null, top_p: 0.5 }), body({ top_p: 0.5 }))
    assert.deepStrictEqual(sent({ temperature: 0 }), body({ temperature: 0 }))
    assert.deepStrictEqual(sent(both, "claude-opus-4-7"), body({}, "claude-opus-4-7"))
  })

  it("map stops, users and tiers", () => {
    assert.deepStrictEqual(sent({ stop: "END" }), body({ stop_sequences: ["END"] }))
    assert.deepStrictEqual(sent({ stop: ["A", "B"] }), body({ stop_sequences: ["A", "B"] }))
    assert.deepStrictEqual(sent({ stop: [] }), body({}))
    assert.strictEqual(refused({ stop: ["A", "\n"] }), "stop")
    assert.deepStrictEqual(sent({ user: "u-1" }), body({ metadata: { user_id: "u-1" } }))
    assert.deepStrictEqual(sent({ service_tier: "auto" }), body({ service_tier: "auto" }))
    assert.deepStrictEqual(sent({ service_tier: "default" }), body({ service_tier: "standard_only" }))
    assert.deepStrictEqual(sent({ service_tier: "flex" }), body({}))
  })

  it("are refused only when they ask for something", () => {
    assert.deepStrictEqual(
      sent({ n: 1, logprobs: false, top_logprobs: 0, logit_bias: {}, modalities: ["text"], x_vendor: 1 }),
      body({})
    )
    assert.strictEqual(refused({ n: 2 }), "n")
    assert.strictEqual(refused({ logprobs: true }), "logprobs")
    assert.strictEqual(refused({ top_logprobs: 1 }), "top_logprobs")
    assert.strictEqual(refused({ logit_bias: { "1": -100 } }), "logit_bias")
    assert.strictEqual(refused({ modalities: ["text", "audio"] }), "modalities")
  })
})

describe("strict tools", () => {
  const strict = (name: string, properties: object, required: ReadonlyArray<string> = Object.keys(properties)) => ({
    type: "function",
    function: { name, strict: true, parameters: { type: "object", properties, required } }
  })
  const isStrict = (tools: ReadonlyArray<Record<string, unknown>>, upstream?: string): boolean => {
    const lowered = Result.getOrThrow(lower({ tools }, upstream))
    assert.deepStrictEqual(lowered.leftOut, lowered.body.includes('"strict":true') ? [] : ["tools.strict"])
    return lowered.body.includes('"strict":true')
  }
  const text = { type: "string" }

  it("stay strict within the API's limits, on the models that have them", () => {
    assert.isTrue(isStrict([strict("a", { x: { ...text, minLength: 3 } })]))
    assert.isFalse(isStrict([strict("a", { x: text })], "claude-sonnet-4-0"))
    assert.isTrue(isStrict(Array.from({ length: 20 }, (_, at) => strict(`t${at}`, {}))))
    assert.isFalse(isStrict(Array.from({ length: 21 }, (_, at) => strict(`t${at}`, {}))))
    const many = (count: number, schema: object) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, schema]))
    assert.isTrue(isStrict([strict("a", many(24, text), [])]))
    assert.isFalse(isStrict([strict("a", { in: { type: "array", items: { properties: many(25, text) } } })]))
    const either = { anyOf: [text, { type: "null" }] }
    assert.isTrue(isStrict([strict("a", many(16, either))]))
    assert.isFalse(isStrict([strict("a", many(16, either)), strict("b", { p: { type: ["string", "null"] } })]))
    assert.isFalse(isStrict([strict("a", { x: { $ref: "#/$defs/x" } })]))
  })
})

describe("reasoning", () => {
  const thinkingOf = (request: Partial<ChatRequest>, upstream?: string): unknown =>
    JSON.parse(String(Result.getOrThrow(lower(request, upstream)).body))
  const budget = (tokens: number, max_tokens = 4096) =>
    body({ max_tokens, thinking: { type: "enabled", budget_tokens: tokens } })
  const adaptively = (effort: string) =>
    body({ thinking: { type: "adaptive" }, output_config: { effort } }, "claude-opus-4-6")

  it("means the same in each of its three forms", () => {
    assert.deepStrictEqual(thinkingOf({ reasoning_effort: "low" }), budget(1024))
    assert.deepStrictEqual(thinkingOf({ reasoning: { effort: "low" } }), budget(1024))
    assert.deepStrictEqual(thinkingOf({ reasoning: { enabled: true } }), thinkingOf({ reasoning_effort: "medium" }))
    assert.deepStrictEqual(thinkingOf({ reasoning: { enabled: false } }), body({}))
    assert.deepStrictEqual(thinkingOf({ thinking: { type: "adaptive" } }, "claude-opus-4-6"), adaptively("high"))
    assert.deepStrictEqual(thinkingOf({ thinking: { type: "disabled" } }), body({}))
    assert.deepStrictEqual(thinkingOf({ reasoning: { effort: "high" } }, "claude-opus-4-6"), adaptively("high"))
    assert.deepStrictEqual(
      thinkingOf({ reasoning: { max_tokens: 3_000 }, max_tokens: 4_096 }, "claude-opus-4-6"),
      adaptively("medium")
    )
  })

  it("has the budget that is asked for, and room for the answer", () => {
    const thinking = { type: "enabled", budget_tokens: 3_000 }
    assert.deepStrictEqual(thinkingOf({ thinking, max_tokens: 8_000 }), budget(3_000, 8_000))
    assert.deepStrictEqual(thinkingOf({ reasoning: { max_tokens: 3_000 } }), budget(3_000, 7_096))
    assert.deepStrictEqual(thinkingOf({ reasoning: { max_tokens: 90_000 } }), budget(15_564, 16_384))
    assert.deepStrictEqual(thinkingOf({ thinking, max_tokens: 2_000 }), budget(1_900, 2_000))
  })

  it("is named where it was left out, as sampling is", () => {
    const unsent = (request: Partial<ChatRequest>, upstream?: string) =>
      Result.getOrThrow(lower(request, upstream)).leftOut
    assert.deepStrictEqual(unsent({ reasoning_effort: "high" }, "claude-3-5-haiku-latest"), ["reasoning_effort"])
    assert.deepStrictEqual(unsent({ reasoning: { exclude: true } }), [])
    assert.deepStrictEqual(unsent({ reasoning: { effort: "high" }, max_tokens: 900 }), ["reasoning"])
    assert.deepStrictEqual(unsent({ reasoning_effort: "high", temperature: 0.2, top_k: 4 }), ["temperature", "top_k"])
    assert.deepStrictEqual(unsent({ temperature: 1, top_p: 1, presence_penalty: 0, n: 1 }), [])
    assert.deepStrictEqual(unsent({ temperature: 0.2, top_p: 0.5 }), ["top_p"])
    assert.deepStrictEqual(unsent({ service_tier: "flex" }), ["service_tier"])
    assert.deepStrictEqual(unsent({ seed: 7, metadata: {}, x_vendor: 1, "a b": 1, é: 2 }), [
      "seed",
      "x_vendor",
      "other"
    ])
    const flood = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`m${at}`, at]))
    assert.lengthOf(unsent(flood), 32)
  })

  it("is sampled from the most likely tokens where the model lets it", () => {
    assert.deepStrictEqual(sent({ top_k: 5 }), body({ top_k: 5 }))
    assert.deepStrictEqual(sent({ top_k: 5 }, "claude-opus-4-7"), body({}, "claude-opus-4-7"))
  })
})
