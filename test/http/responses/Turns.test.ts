/** Items of the Responses API as messages of a chat completion. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { translated } from "../../../src/http/responses/Request.ts"
import { encryptedContent } from "../../../src/http/responses/Thoughts.ts"

type Members = Readonly<Record<string, unknown>>

const asked = (...input: ReadonlyArray<Members>) =>
  Result.getOrThrow(translated({ model: "test/small", stream: false, input }))
const messages = (...input: ReadonlyArray<Members>) => asked(...input).request.messages as ReadonlyArray<unknown>

const user = { role: "user", content: "Read both." }
const call = (call_id: string, more: Members = {}) => ({
  type: "function_call",
  id: `fc_${call_id}`,
  call_id,
  name: "read",
  arguments: '{"path":"a"}',
  status: "completed",
  ...more
})
const output = (call_id: string, value: unknown) => ({ type: "function_call_output", call_id, output: value })
const called = (id: string, name = "read", given = '{"path":"a"}') => ({
  id,
  type: "function",
  function: { name, arguments: given }
})
const said = (text: string, more: Members = {}) => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [], logprobs: [] }],
  ...more
})
const pixel = { type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "high" }
const pixelPart = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA", detail: "high" } }

it("keeps roles, texts, pictures, files and audio", () => {
  const input_audio = { data: "AAAA", format: "wav" }
  assert.deepStrictEqual(
    messages(
      { type: "message", role: "developer", content: [{ type: "input_text", text: "Be brief." }] },
      { role: "system", content: "Be kind." },
      {
        role: "user",
        content: [
          { type: "input_text", text: "See" },
          { type: "input_text", text: "" },
          pixel,
          { type: "input_file", file_data: "data:application/pdf;base64,AAAA", filename: "a.pdf" },
          { type: "input_file", file_url: "https://example.com/b.pdf" },
          { type: "input_audio", input_audio }
        ]
      },
      { role: "user", content: "" }
    ),
    [
      { role: "developer", content: "Be brief." },
      { role: "system", content: "Be kind." },
      {
        role: "user",
        content: [
          { type: "text", text: "See" },
          pixelPart,
          { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" } },
          { type: "file", file: { file_data: "https://example.com/b.pdf" } },
          { type: "input_audio", input_audio }
        ]
      }
    ]
  )
})

it("joins what the assistant says and calls, and leaves out ids and empty texts", () => {
  const sent = messages(user, said(""), said("Let me look."), call("call_1"), call("call_2"), output("call_1", "A"))
  assert.deepStrictEqual(sent.slice(1), [
    { role: "assistant", content: "Let me look.", tool_calls: [called("call_1"), called("call_2")] },
    { role: "tool", tool_call_id: "call_1", content: "A" }
  ])
  assert.notInclude(JSON.stringify(sent), "msg_")
  assert.notInclude(JSON.stringify(sent), "fc_")
})

it("puts outputs behind their calls, in the order of the calls", () => {
  assert.deepStrictEqual(
    messages(
      user,
      call("call_1"),
      call("call_2"),
      output("call_2", "B"),
      { role: "user", content: "Hurry." },
      output("call_1", "A"),
      call("call_3"),
      output("call_3", "")
    ).slice(1),
    [
      { role: "assistant", content: null, tool_calls: [called("call_1"), called("call_2")] },
      { role: "tool", tool_call_id: "call_1", content: "A" },
      { role: "tool", tool_call_id: "call_2", content: "B" },
      { role: "user", content: "Hurry." },
      { role: "assistant", content: null, tool_calls: [called("call_3")] },
      { role: "tool", tool_call_id: "call_3", content: "" }
    ]
  )
})

it("makes an output without its call, or a second one, the user's text", () => {
  const [, second, third] = messages(call("call_1"), output("call_1", "A"), output("call_1", "B"), output("lost", "C"))
  assert.deepStrictEqual(second, { role: "tool", tool_call_id: "call_1", content: "A" })
  assert.deepStrictEqual(third, {
    role: "user",
    content: [
      { type: "text", text: "Output of the tool call call_1:" },
      { type: "text", text: "B" }
    ]
  })
  assert.include(JSON.stringify(messages({ type: "function_call_output", name: "read", output: "D" })), '"D"')
})

it("answers the last call of an id that servers use again", () => {
  assert.deepStrictEqual(messages(call("call_0"), output("call_0", "A"), call("call_0"), output("call_0", "B")), [
    { role: "assistant", content: null, tool_calls: [called("call_0")] },
    { role: "tool", tool_call_id: "call_0", content: "A" },
    { role: "assistant", content: null, tool_calls: [called("call_0")] },
    { role: "tool", tool_call_id: "call_0", content: "B" }
  ])
})

it("keeps pictures and files of outputs", () => {
  const parts = [{ type: "input_text", text: "The screen:" }, pixel]
  assert.deepStrictEqual(messages(call("call_1"), output("call_1", parts))[1], {
    role: "tool",
    tool_call_id: "call_1",
    content: [{ type: "text", text: "The screen:" }, pixelPart]
  })
})

it("keeps phases, one for each message", () => {
  assert.deepStrictEqual(
    messages(
      said("Looking.", { phase: "commentary" }),
      said("Still.", { phase: "commentary" }),
      said("Done.", { phase: "final_answer" })
    ),
    [
      {
        role: "assistant",
        content: [
          { type: "text", text: "Looking." },
          { type: "text", text: "Still." }
        ],
        phase: "commentary"
      },
      { role: "assistant", content: "Done.", phase: "final_answer" }
    ]
  )
})

it("keeps refusals apart from texts", () => {
  assert.deepStrictEqual(messages({ role: "assistant", content: [{ type: "refusal", refusal: "No." }] }), [
    { role: "assistant", content: null, refusal: "No." }
  ])
})

it("calls custom tools with one text, and searches for tools by a function", () => {
  assert.deepStrictEqual(
    messages(
      { type: "custom_tool_call", id: "ctc_1", call_id: "call_1", name: "apply_patch", input: "*** Begin Patch" },
      { type: "custom_tool_call_output", call_id: "call_1", output: "Done" },
      { type: "tool_search_call", call_id: "call_2", execution: "client", arguments: { query: "issues" } },
      { type: "tool_search_output", call_id: "call_2", execution: "client", tools: [] },
      { type: "function_call", call_id: "call_3", namespace: "mcp__issues", name: "create", arguments: "{}" },
      { type: "tool_search_call", execution: "server", arguments: {} },
      { type: "tool_search_output", execution: "server", tools: [] }
    ),
    [
      {
        role: "assistant",
        content: null,
        tool_calls: [called("call_1", "apply_patch", '{"input":"*** Begin Patch"}')]
      },
      { role: "tool", tool_call_id: "call_1", content: "Done" },
      { role: "assistant", content: null, tool_calls: [called("call_2", "tool_search", '{"query":"issues"}')] },
      { role: "tool", tool_call_id: "call_2", content: '{"tools":[]}' },
      { role: "assistant", content: null, tool_calls: [called("call_3", "mcp__issues__create", "{}")] }
    ]
  )
})

describe("reasoning", () => {
  const reasoning = (more: Members) => ({ type: "reasoning", id: "rs_1", summary: [], ...more })

  it("belongs to the assistant's turn that follows, and alone is left out", () => {
    assert.deepStrictEqual(
      messages(
        reasoning({ summary: [{ type: "summary_text", text: "Hm." }], encrypted_content: "gAAAA" }),
        call("call_1"),
        output("call_1", "A"),
        reasoning({ content: [{ type: "reasoning_text", text: "So." }] }),
        said("Yes."),
        user,
        reasoning({ encrypted_content: "gBBBB" }),
        user
      ),
      [
        {
          role: "assistant",
          content: null,
          reasoning: "Hm.",
          reasoning_details: [
            {
              type: "reasoning.summary",
              summary: "Hm.",
              id: "rs_1",
              format: "openai-responses-v1",
              native: true,
              index: 0
            },
            {
              type: "reasoning.encrypted",
              data: "gAAAA",
              id: "rs_1",
              format: "openai-responses-v1",
              native: true,
              index: 1
            }
          ],
          tool_calls: [called("call_1")]
        },
        { role: "tool", tool_call_id: "call_1", content: "A" },
        { role: "assistant", content: "Yes.", reasoning: "So." },
        user,
        user
      ]
    )
  })

  it("of other providers comes back with its maker, its signature and its place", () => {
    const detail = {
      type: "reasoning.text",
      signature: "sig",
      format: "anthropic-claude-v1",
      provider: "claude",
      text: "Hm."
    }
    const summary = [{ type: "summary_text", text: "Hm." }]
    assert.deepStrictEqual(
      messages(
        reasoning({ summary, encrypted_content: encryptedContent(detail) }),
        said("One."),
        reasoning({ summary, encrypted_content: encryptedContent(detail) }),
        said("Two.")
      ),
      [
        {
          role: "assistant",
          content: [
            { type: "text", text: "One." },
            { type: "text", text: "Two." }
          ],
          reasoning: "Hm.\n\nHm.",
          reasoning_details: [
            { ...detail, index: 0 },
            { ...detail, index: 2 }
          ]
        }
      ]
    )
  })

  it("of a call comes back with the call", () => {
    const extra_content = { google: { thought_signature: "sig", provider: "gemini" } }
    const sealed = encryptedContent({ type: "tollgate.call", id: "call_1", members: { extra_content } })
    assert.deepStrictEqual(messages(reasoning({ encrypted_content: sealed }), call("call_1")), [
      { role: "assistant", content: null, tool_calls: [{ ...called("call_1"), extra_content }] }
    ])
  })
})

it("needs a provider of the Responses API for other items and parts, and passes their JSON on as text", () => {
  for (const item of [
    { type: "compaction", id: "cmp_1" },
    { type: "local_shell_call", call_id: "call_1", action: { type: "exec", command: ["ls"] } },
    { type: "mcp_call", id: "mcp_1", name: "x", arguments: "{}", server_label: "y" },
    { type: "invented", text: "ada@example.com" },
    { text: "no type" }
  ]) {
    const { accountObjects, only, request } = asked(item)
    assert.strictEqual(only?.param, "input.0")
    assert.deepStrictEqual(request.messages as unknown, [{ role: "user", content: JSON.stringify(item) }])
    assert.isNull(accountObjects)
  }
  const part = { type: "input_video", video_url: "https://example.com" }
  assert.strictEqual(asked({ role: "user", content: [part] }).only?.param, "input.0.content.0")
  assert.isNull(asked(user, { type: "web_search_call", id: "ws_1", action: { type: "search" } }).only)
})

it("leaves sealed and encoded bytes out of that text", () => {
  const bytes = "iVBORw0KGgo".repeat(100)
  const items = [
    { type: "compaction", encrypted_content: "gAAAA" },
    { type: "image_generation_call", result: bytes, status: "completed" },
    {
      type: "computer_call_output",
      call_id: "c",
      output: { image_url: `data:image/png;base64,${bytes}`, detail: "low" }
    }
  ]
  assert.deepStrictEqual(messages(...items), [
    { role: "user", content: '{"type":"compaction"}' },
    { role: "user", content: '{"type":"image_generation_call","status":"completed"}' },
    { role: "user", content: '{"type":"computer_call_output","call_id":"c","output":{"detail":"low"}}' }
  ])
})

it("tells the first reference to an object of the vendor's account", () => {
  const file = asked(user, { role: "user", content: [{ type: "input_file", file_id: "file_1" }] })
  assert.strictEqual(file.accountObjects, "input.1.content.0.file_id")
  assert.isNull(file.only)
  assert.deepStrictEqual(file.request.messages.at(-1)?.content as unknown, [
    { type: "file", file: { file_id: "file_1" } }
  ])
  const picture = asked({ role: "user", content: [{ type: "input_image", file_id: "file_2" }, pixel] })
  assert.strictEqual(picture.accountObjects, "input.0.content.0.file_id")
  assert.strictEqual(picture.only?.param, "input.0.content.0")
  const shown = asked({
    type: "computer_call_output",
    call_id: "call_1",
    output: { type: "computer_screenshot", file_id: "file_3" }
  })
  assert.strictEqual(shown.accountObjects, "input.0.output.file_id")
  // A function's own arguments are no references.
  assert.isNull(asked(call("call_1", { arguments: '{"file_id":"file_1"}' })).accountObjects)
})

it("takes a message of as many parts as a body may have", () => {
  const content = Array.from({ length: 160_000 }, () => ({ type: "output_text", text: "a" }))
  assert.lengthOf(asked({ role: "assistant", content }).request.messages[0]?.content ?? [], 160_000)
})
