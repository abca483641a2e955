/** Requests of the Messages API as chat completions: what is translated, left out, refused. */
import { assert, it } from "@effect/vitest"
import { Result } from "effect"
import { type MessagesRequest } from "../../../src/api/Messages.ts"
import { translated } from "../../../src/http/messages/Request.ts"
import { carried } from "../../../src/domain/ThoughtCarrier.ts"

const body = (more: Readonly<Record<string, unknown>>): MessagesRequest => ({
  model: "test/small",
  max_tokens: 100,
  stream: false,
  messages: [{ role: "user", content: "Hi" }],
  ...more
})

const chat = (more: Readonly<Record<string, unknown>>) => Result.getOrThrow(translated(body(more)))
const messages = (...turns: ReadonlyArray<{ readonly role: string; readonly content: unknown }>) =>
  chat({ messages: turns }).request.messages
const refusal = (more: Readonly<Record<string, unknown>>) => {
  const read = translated(body(more))
  return Result.isFailure(read) ? read.failure.message : (read.success.only?.message ?? "not refused")
}

const pixel = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } }
const pixelPart = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }
const cache_control = { type: "ephemeral" }

it("passes the parameters on under the names of chat completions", () => {
  const { dropped, request } = chat({
    temperature: 0.5,
    top_p: 0.9,
    top_k: 5,
    stop_sequences: ["END"],
    metadata: { user_id: "user-1" },
    service_tier: "standard_only",
    cache_control
  })
  assert.deepStrictEqual(request as unknown, {
    model: "test/small",
    messages: [{ role: "user", content: "Hi" }],
    stream: false,
    max_tokens: 100,
    cache_control,
    temperature: 0.5,
    top_p: 0.9,
    top_k: 5,
    stop: ["END"],
    user: "user-1",
    service_tier: "default"
  })
  assert.deepStrictEqual(dropped, [])
})

it("asks for reasoning by effort, by budget, or not at all", () => {
  const reasoning = (more: Readonly<Record<string, unknown>>) => chat(more).request["reasoning"]
  assert.deepStrictEqual(reasoning({ output_config: { effort: "high" }, thinking: { type: "adaptive" } }), {
    effort: "high"
  })
  assert.deepStrictEqual(reasoning({ thinking: { type: "enabled", budget_tokens: 2_048 } }), { max_tokens: 2_048 })
  assert.deepStrictEqual(reasoning({ thinking: { type: "adaptive" } }), { enabled: true })
  assert.deepStrictEqual(reasoning({ thinking: { type: "disabled" }, output_config: { effort: "high" } }), {
    enabled: false
  })
  assert.isUndefined(reasoning({}))
})

it("keeps instructions where they are, and leaves out the line that names the client", () => {
  const { messages } = chat({
    system: [
      { type: "text", text: "x-anthropic-billing-header: cc_version=2.1.290" },
      { type: "text", text: "Be brief.", cache_control }
    ],
    messages: [
      { role: "user", content: "Hi" },
      { role: "system", content: [{ type: "text", text: "Now in French." }] },
      {
        role: "user",
        content: [
          { type: "text", text: "" },
          { type: "text", text: "Go" }
        ]
      }
    ]
  }).request
  assert.deepStrictEqual(messages as unknown, [
    { role: "system", content: [{ type: "text", text: "Be brief.", cache_control }] },
    { role: "user", content: "Hi" },
    { role: "system", content: "Now in French." },
    { role: "user", content: "Go" }
  ])
})

it("puts the results of tools first, in order, with their pictures", () => {
  const turn = {
    role: "user",
    content: [
      { type: "text", text: "Both are here." },
      { type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "seen" }, pixel] },
      { type: "tool_result", tool_use_id: "toolu_2", content: "no such file", is_error: true },
      { type: "tool_result", tool_use_id: "toolu_3" }
    ]
  }
  assert.deepStrictEqual(messages(turn) as unknown, [
    { role: "tool", tool_call_id: "toolu_1", content: [{ type: "text", text: "seen" }, pixelPart] },
    { role: "tool", tool_call_id: "toolu_2", content: "Error: no such file" },
    { role: "tool", tool_call_id: "toolu_3", content: "" },
    { role: "user", content: "Both are here." }
  ])
})

it("makes documents and search results parts; text stays text", () => {
  const [message] = messages({
    role: "user",
    content: [
      { type: "document", source: { type: "base64", media_type: "application/pdf", data: "BBBB" }, title: "a.pdf" },
      { type: "document", source: { type: "url", url: "https://a.example/b.pdf" }, citations: { enabled: true } },
      { type: "document", source: { type: "text", media_type: "text/plain", data: "plain" }, title: "Notes" },
      { type: "document", source: { type: "content", content: [{ type: "text", text: "inner" }, pixel] } },
      {
        type: "search_result",
        title: "Found",
        source: "https://a.example",
        content: [{ type: "text", text: "result" }]
      }
    ]
  })
  assert.deepStrictEqual(message?.content as unknown, [
    { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,BBBB" } },
    {
      type: "file",
      file: { filename: "document.pdf", file_data: "https://a.example/b.pdf" },
      citations: { enabled: true }
    },
    { type: "text", text: "Notes" },
    { type: "text", text: "plain" },
    { type: "text", text: "inner" },
    pixelPart,
    { type: "text", text: "Found\nhttps://a.example" },
    { type: "text", text: "result" }
  ])
})

it("gives thoughts back to their maker, and calls what their provider wants back", () => {
  const signature = carried({ type: "reasoning.text", text: "x", signature: "sig", provider: "claude", index: 7 })
  const data = carried({ type: "reasoning.encrypted", data: "sealed", provider: "openai", id: "rs_1", index: 3 })
  const ofCall = carried({ type: "tollgate.call", id: "toolu_1", members: { extra_content: { google: "g" } } })
  const [message] = messages({
    role: "assistant",
    content: [
      { type: "thinking", thinking: "First.", signature },
      { type: "redacted_thinking", data },
      { type: "thinking", thinking: "Raw.", signature: "of-anthropic" },
      { type: "thinking", thinking: "Unsigned.", signature: "" },
      { type: "redacted_thinking", data: "raw-data" },
      { type: "text", text: "" },
      { type: "redacted_thinking", data: ofCall },
      { type: "tool_use", id: "toolu_1", name: "f", input: { a: 1 } }
    ]
  })
  const own = { format: "anthropic-claude-v1", native: true }
  assert.deepStrictEqual(message as unknown, {
    role: "assistant",
    content: null,
    reasoning: "First.Raw.Unsigned.",
    reasoning_details: [
      { type: "reasoning.text", signature: "sig", provider: "claude", text: "First.", index: 0 },
      { type: "reasoning.encrypted", data: "sealed", provider: "openai", id: "rs_1", index: 1 },
      { type: "reasoning.text", text: "Raw.", signature: "of-anthropic", ...own, index: 2 },
      { type: "reasoning.encrypted", data: "raw-data", ...own, index: 3 }
    ],
    tool_calls: [
      {
        id: "toolu_1",
        type: "function",
        function: { name: "f", arguments: `{"a":1}` },
        extra_content: { google: "g" }
      }
    ]
  })
})

it("a carrier that a client made up is no detail of any provider", () => {
  for (const signature of ["tg1_", "tg1_bm8", `tg1_${Buffer.from("[1]").toString("base64url")}`]) {
    const [message] = messages({ role: "assistant", content: [{ type: "thinking", thinking: "T", signature }] })
    const text = JSON.stringify(message?.["reasoning_details"])
    assert.include(text, `"text":"T"`)
    assert.notInclude(text, "signature")
  }
})

it("translates tools and their choice", () => {
  const schema = { type: "object", properties: {} }
  const { request } = chat({
    tools: [{ name: "f", description: "does f", input_schema: schema, strict: true, cache_control }],
    tool_choice: { type: "tool", name: "f", disable_parallel_tool_use: true }
  })
  assert.deepStrictEqual(request.tools as unknown, [
    {
      type: "function",
      function: { name: "f", description: "does f", parameters: schema, strict: true },
      cache_control
    }
  ])
  assert.deepStrictEqual(request.tool_choice, { type: "function", function: { name: "f" } })
  assert.isFalse(request.parallel_tool_calls)
  const choice = (type: string) => chat({ tools: [{ name: "f" }], tool_choice: { type } }).request.tool_choice
  assert.deepStrictEqual(["auto", "any", "none"].map(choice), ["auto", "required", "none"])
  assert.deepStrictEqual(
    chat({ output_config: { format: { type: "json_schema", schema } } }).request.response_format as unknown,
    { type: "json_schema", json_schema: { name: "answer", strict: true, schema } }
  )
})

it("refuses a conversation that the server keeps, in the code by which the SDK sends the whole one", () => {
  for (const thread of [{ type: "create" }, { type: "continue", previous_message_id: "msg_1" }]) {
    const read = translated(body({ thread }))
    assert.deepInclude(Result.isFailure(read) ? read.failure : {}, {
      param: "thread",
      code: "thread_unsupported_request"
    })
  }
})

it("names what it leaves out, and what no other provider could answer", () => {
  assert.deepStrictEqual(
    chat({ context_management: { edits: [] }, speed: "fast", container: null, mcp_servers: [], betas: ["b"] }).dropped,
    ["context_management", "speed"]
  )
  assert.match(
    refusal({ tools: [{ type: "web_search_20250305", name: "web_search" }] }),
    /^tools.0: web_search_20250305 /
  )
  assert.match(refusal({ mcp_servers: [{ url: "https://a.example" }] }), /^mcp_servers: /)
  assert.match(refusal({ container: "c" }), /^container: /)
  const turn = (role: string, block: object) => ({ messages: [{ role, content: [block] }] })
  assert.match(refusal(turn("assistant", { type: "server_tool_use" })), /^messages.0.content.0: .*server_tool_use/)
  assert.match(refusal(turn("user", { type: "image", source: { type: "file", file_id: "f" } })), /source.*file/)
  assert.match(refusal(turn("user", { type: "container_upload" })), /container_upload/)
  assert.match(refusal(turn("user", { type: "no\r\nword" })), /type unknown/)
  assert.match(refusal(turn("user", { type: "tool_result", content: "x" })), /tool_use_id/)
  assert.match(refusal({ tools: [{ name: "f" }], tool_choice: { type: "some" } }), /^tool_choice/)
  assert.match(refusal({ output_config: { format: { type: "grammar" } } }), /^output_config.format/)
})

it("takes a block of as many texts as a body may have", () => {
  const source = { type: "content", content: Array.from({ length: 160_000 }, () => ({ type: "text", text: "a" })) }
  const [message] = messages({ role: "user", content: [{ type: "document", source }] })
  assert.lengthOf(message?.content ?? [], 160_000)
})
