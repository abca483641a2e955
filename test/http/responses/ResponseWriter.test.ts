/** A completion's events as those of the Responses API, and whole replies as responses. */
import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { ModelResponse } from "../../../src/api/Responses.ts"
import { type ResponsesRequest } from "../../../src/api/responses/Request.ts"
import { type ChatEvent, type ChatReply, type Delta, type Members, type UsageInfo } from "../../../src/domain/Chat.ts"
import { BudgetExceeded, gatewayError, ProvidersFailed } from "../../../src/domain/Errors.ts"
import { replayEvents } from "../../../src/domain/Replay.ts"
import { type CompletionEvent, type Head } from "../../../src/gateway/request/Answer.ts"
import { responseOf } from "../../../src/http/responses/Reply.ts"
import { ResponseEvents, ResponseWriter } from "../../../src/http/responses/ResponseWriter.ts"
import { thoughtsOfItem } from "../../../src/http/responses/Thoughts.ts"
import { ToolNames } from "../../../src/http/responses/ToolNames.ts"

const head: Head = {
  completionId: "chatcmpl_1f",
  generationId: "gen_1",
  createdAtMs: 1_500,
  model: "test/small",
  provider: "alpha",
  cacheHit: false
}

const usage: UsageInfo = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  cost: 0.5,
  cached_tokens: 60,
  cache_hit: false,
  prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 5, audio_tokens: 0 }
}

const delta = (members: Delta, finish_reason: string | null = null, logprobs?: unknown): CompletionEvent => ({
  _tag: "Choices",
  choices: [{ index: 0, delta: members, finish_reason, ...(logprobs === undefined ? {} : { logprobs }) }]
})
const call = (index: number, members: { readonly id?: string; readonly name?: string; readonly piece?: string }) =>
  delta({
    tool_calls: [
      {
        index,
        ...(members.id === undefined ? {} : { id: members.id, type: "function" }),
        function: {
          ...(members.name === undefined ? {} : { name: members.name }),
          arguments: members.piece ?? ""
        }
      }
    ]
  })
const told: CompletionEvent = { _tag: "Usage", usage, endedAtMs: 4_900 }

const tools = new ToolNames()
tools.nameOf({ kind: "custom", name: "apply_patch" })
tools.nameOf({ kind: "tool_search" })
const listIssues = tools.nameOf({ kind: "function", name: "list", namespace: "issues" })

const payload: ResponsesRequest = { model: "asked", stream: true }
const form = { payload, tools, keep: null }
const events = () => new ResponseEvents(form, () => ({ id: "resp_early", createdAtMs: 0 }))

type Event = ReturnType<typeof JSON.parse>

/** The events as a client reads them. They are numbered from 0, and the first two are the same. */
const read = (text: string): ReadonlyArray<Event> => {
  const all = text
    .split("\n\n")
    .filter((block) => block !== "")
    .map((block, at) => {
      const [, name, data] = /^event: ([\w.]+)\ndata: (.*)$/.exec(block) ?? []
      const event = JSON.parse(data ?? "")
      assert.deepInclude(event, { type: name, sequence_number: at })
      return event
    })
  assert.deepStrictEqual(
    all.slice(0, 2).map(({ type }) => type),
    ["response.created", "response.in_progress"]
  )
  return all
}

const written = (completed: ReadonlyArray<CompletionEvent>, of: Head = head): ReadonlyArray<Event> => {
  const writer = new ResponseWriter(of, events())
  return read(completed.map((event) => writer.write(event)).join("") + writer.end())
}

const terminal = ["response.completed", "response.incomplete", "response.failed"]

/**
 * The response at the end of a stream. Checks that one item is open at a time, that the pieces make
 * the items, and that nothing follows the end.
 */
const responseIn = (all: ReadonlyArray<Event>): Event => {
  const items: Array<Event> = []
  let open: Members | null = null
  let made: Record<string, string> = {}
  const grow = (name: string, piece: string) => void (made[name] = (made[name] ?? "") + piece)
  for (const event of all) {
    const { item, item_id, output_index, type } = event
    if (output_index !== undefined) assert.strictEqual(output_index, items.length)
    if (item_id !== undefined) assert.strictEqual(item_id, open?.["id"])
    if (type === "response.output_item.added") {
      assert.isNull(open)
      open = item
      made = {}
    }
    if (type.endsWith(".delta"))
      grow(`${type.slice(0, -6)} ${event.summary_index ?? event.content_index ?? 0}`, event.delta)
    if (/(?:text|arguments|input)\.done$/.test(type)) {
      const whole = event.text ?? event.arguments ?? event.input
      assert.strictEqual(made[`${type.slice(0, -5)} ${event.summary_index ?? event.content_index ?? 0}`] ?? "", whole)
    }
    if (type === "response.output_item.done") {
      assert.strictEqual(item.id, open?.["id"])
      items.push(item)
      open = null
    }
  }
  assert.isTrue(terminal.includes(all.at(-1).type))
  assert.lengthOf(
    all.filter(({ type }) => terminal.includes(type)),
    1
  )
  const { response, type } = all.at(-1)
  Schema.decodeUnknownSync(ModelResponse)(response)
  assert.strictEqual(`response.${response.status}`, type)
  assert.deepStrictEqual(response.output.slice(0, items.length), items)
  if (type !== "response.failed") assert.isNull(open)
  return response
}

const responseFrom = (...completed: ReadonlyArray<CompletionEvent>) => responseIn(written([...completed, told]))
const outline = (all: ReadonlyArray<Event>) => all.map(({ type }) => type.replace("response.", ""))

it("a text: the response, one message with its parts, the whole response", () => {
  const all = written([
    delta({ role: "assistant", content: "" }),
    delta({ content: "Hel" }),
    delta({ content: "lo" }),
    delta({}, "stop"),
    told
  ])
  assert.deepStrictEqual(outline(all), [
    "created",
    "in_progress",
    "output_item.added",
    "content_part.added",
    "output_text.delta",
    "output_text.delta",
    "output_text.done",
    "content_part.done",
    "output_item.done",
    "completed"
  ])
  assert.deepInclude(all[0].response, { id: "resp_1f", status: "in_progress", output: [], usage: null, created_at: 1 })
  assert.deepStrictEqual(all[2].item, {
    id: "msg_1f0",
    type: "message",
    status: "in_progress",
    role: "assistant",
    content: []
  })
  const response = responseIn(all)
  assert.deepInclude(response, { id: "resp_1f", model: "asked", error: null, completed_at: 4, store: false })
  const part = { type: "output_text", text: "Hello", annotations: [], logprobs: [] }
  assert.deepStrictEqual(response.output, [
    { id: "msg_1f0", type: "message", status: "completed", role: "assistant", content: [part] }
  ])
  assert.deepStrictEqual(response.usage, {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
    output_tokens: 20,
    output_tokens_details: { reasoning_tokens: 5 },
    total_tokens: 120,
    cost: 0.5
  })
})

it("repeats the request, with a value for each member", () => {
  const { response } = written([told])[0]
  const wanted =
    `id object created_at completed_at status incomplete_details model previous_response_id instructions output
    error tools tool_choice truncation parallel_tool_calls text top_p presence_penalty frequency_penalty top_logprobs
    temperature reasoning usage max_output_tokens max_tool_calls store background service_tier metadata
    safety_identifier prompt_cache_key user`.split(/\s+/)
  assert.lengthOf(wanted, 32)
  assert.deepStrictEqual(Object.keys(response).sort(), [...wanted].sort())
  const asked = {
    instructions: "Be brief.",
    metadata: { run: "7" },
    temperature: 0.2,
    tools: [{ type: "function", name: "f" }],
    tool_choice: { type: "function", name: "f" },
    text: { verbosity: "low" },
    reasoning: { effort: "high" },
    max_output_tokens: 50,
    prompt_cache_key: "k",
    store: true
  }
  const echo = new ResponseEvents({ payload: { ...payload, ...asked }, tools, keep: null }, () => ({
    id: "r",
    createdAtMs: 0
  }))
  assert.deepInclude(echo.response, {
    instructions: "Be brief.",
    metadata: { run: "7" },
    temperature: 0.2,
    tools: [{ description: null, parameters: null, strict: null, type: "function", name: "f" }],
    tool_choice: { type: "function", name: "f" },
    text: { format: { type: "text" }, verbosity: "low" },
    reasoning: { effort: "high", summary: null },
    max_output_tokens: 50,
    prompt_cache_key: "k",
    store: false
  })
})

it("an empty text before a call makes no item, and a call without arguments gets an object", () => {
  const response = responseFrom(
    delta({ role: "assistant", content: "" }),
    call(0, { id: "call_1", name: "f" }),
    call(0, { piece: `{"a":` }),
    call(0, { piece: "1}" }),
    call(1, { id: "call_2", name: "g" }),
    delta({ content: "" }, "tool_calls")
  )
  assert.deepStrictEqual(response.output, [
    { id: "fc_1f0", call_id: "call_1", status: "completed", type: "function_call", name: "f", arguments: `{"a":1}` },
    { id: "fc_1f1", call_id: "call_2", status: "completed", type: "function_call", name: "g", arguments: "{}" }
  ])
})

it("parallel calls keep their own arguments, one after the other or interleaved", () => {
  const one = [call(0, { id: "a", name: "f" }), call(0, { piece: `{"x":"}` }), call(0, { piece: `{\\"" }` })]
  const two = [call(1, { id: "b", name: "g" }), call(1, { piece: `{"y":` }), call(1, { piece: "[2]}" })]
  const three = [call(2, { id: "c", name: "h" })]
  const woven = [0, 1, 2].flatMap((at) => [one[at], two[at], three[at]]).filter((event) => event !== undefined)
  for (const calls of [[...one, ...two, ...three], woven]) {
    const { output } = responseFrom(...calls, delta({}, "tool_calls"))
    assert.deepStrictEqual(
      output.map((item: Event) => [item.call_id, JSON.parse(item.arguments)]),
      [
        ["a", { x: `}{"` }],
        ["b", { y: [2] }],
        ["c", {}]
      ]
    )
  }
  // A call in turn is not held back.
  const live = written([...one, ...two.slice(0, 2)])
  assert.isTrue(live.some((event) => event.delta === `{"y":`))
})

it("a text that arrives within a call waits for its end", () => {
  const { output } = responseFrom(
    call(0, { id: "a", name: "f", piece: `{"x"` }),
    delta({ content: "between" }),
    call(0, { piece: ":1}" }),
    call(0, { piece: " " }),
    delta({ content: " all" }),
    delta({}, "tool_calls")
  )
  assert.deepStrictEqual(
    output.map((item: Event) => item.arguments ?? item.content[0].text),
    [`{"x":1}`, "between all"]
  )
})

it("holds back a bounded part of calls that are woven into each other", () => {
  const opened = call(0, { id: "call_0", name: "f", piece: "{" })
  const many = Array.from({ length: 1_100 }, (_, at) => call(at + 1, { id: `call_${at + 1}`, name: "f" }))
  const long = Array.from({ length: 5 }, () => call(1, { piece: "x".repeat(1_048_576) }))
  for (const others of [many, long]) {
    const all = written([opened, ...others, told])
    assert.deepInclude(responseIn(all).error, { code: "server_error" })
    assert.isBelow(all.length, 10)
  }
  const endless = Array.from({ length: 33 }, () => delta({ content: "x".repeat(1_048_576) }))
  assert.deepInclude(responseIn(written([...endless, told])).error, { code: "server_error" })
  const calls = [0, 1].map((index) => [
    call(index, { id: `call_${index}`, name: "f" }),
    ...Array.from({ length: 3_000 }, () => call(index, { piece: index === 0 ? "[]" : "" })).slice(0, 1)
  ])
  assert.lengthOf(responseFrom(...calls.flat()).output, 2)
})

it("tools come back as they were declared: custom, of a namespace, a search for tools", () => {
  const patch = `*** Begin "Patch"\n\u2713 \ud83d\ude00 \\ end`
  const sent = JSON.stringify({ input: patch }).replace("\u2713", "\\u2713").replace("\ud83d", "\\ud83d")
  const { output } = responseFrom(
    call(0, { id: "a", name: "apply_patch" }),
    ...sent.split("").map((piece) => call(0, { piece })),
    call(1, { id: "b", name: listIssues, piece: `{"q":1}` }),
    call(2, { id: "c", name: "tool_search", piece: `{"query":"git"}` }),
    delta({}, "tool_calls")
  )
  const done = { status: "completed" }
  assert.deepStrictEqual(output, [
    { id: "ctc_1f0", call_id: "a", ...done, type: "custom_tool_call", name: "apply_patch", input: patch },
    {
      id: "fc_1f1",
      call_id: "b",
      ...done,
      type: "function_call",
      name: "list",
      namespace: "issues",
      arguments: `{"q":1}`
    },
    {
      id: "tsc_1f2",
      call_id: "c",
      ...done,
      type: "tool_search_call",
      execution: "client",
      arguments: { query: "git" }
    }
  ])
})

it("the input of a custom tool is streamed as it is, wherever its JSON is cut", () => {
  const input = `a "b"\n\t\\n \u00e9 \ud83d\ude00 /`
  const forms = [JSON.stringify({ input }), ` { "input" : ${JSON.stringify(input).replaceAll("/", "\\/")} } `]
  for (const sent of [...forms, JSON.stringify({ patch: input }), JSON.stringify({ more: 1, input })]) {
    for (let at = 1; at < sent.length; at++) {
      const pieces = [sent.slice(0, at), sent.slice(at)].map((piece) => call(0, { piece }))
      const all = written([call(0, { id: "a", name: "apply_patch" }), ...pieces, delta({}, "tool_calls"), told])
      assert.strictEqual(responseIn(all).output[0].input, input)
      for (const { delta: piece } of all) assert.isTrue(piece === undefined || piece.isWellFormed())
    }
  }
  const live = written([call(0, { id: "a", name: "apply_patch", piece: `{"input":"*** Be` })])
  assert.strictEqual(live.find(({ delta: piece }) => piece !== undefined)?.delta, "*** Be")
  // What is no JSON is passed on as it is.
  const raw = responseFrom(call(0, { id: "a", name: "apply_patch", piece: "*** Begin" }), delta({}, "tool_calls"))
  assert.strictEqual(raw.output[0].input, "*** Begin")
  const own = { index: 0, id: "a", type: "custom", custom: { name: "apply_patch", input: "*** Begin" } }
  assert.strictEqual(responseFrom(delta({ tool_calls: [own] }), delta({}, "tool_calls")).output[0].input, "*** Begin")
})

const maker = { format: "anthropic-claude-v1", provider: "claude" }
const thought = (text: string, index: number) =>
  delta({ reasoning: text, reasoning_details: [{ type: "reasoning.text", text, index }] })
const signed = (signature: string, index: number) =>
  delta({ reasoning_details: [{ type: "reasoning.text", signature, ...maker, index }] })

it("thoughts come with content that leads back to their maker", () => {
  const { output } = responseFrom(
    thought("Let me", 0),
    thought(" see.", 0),
    signed("sig-0", 0),
    delta({ reasoning_details: [{ type: "reasoning.encrypted", data: "sealed", ...maker, index: 1 }] }),
    thought("Then.", 2),
    signed("sig-2", 2),
    delta({ content: "Done." }),
    delta({}, "stop")
  )
  assert.deepStrictEqual(
    output.map(({ id, summary }: Event) => [id, summary?.map(({ text }: Event) => text)]),
    [
      ["rs_1f0", ["Let me see."]],
      ["rs_1f1", []],
      ["rs_1f2", ["Then."]],
      ["msg_1f3", undefined]
    ]
  )
  assert.deepStrictEqual(
    output.slice(0, 3).flatMap((item: Event) => thoughtsOfItem(item).details),
    [
      { type: "reasoning.text", signature: "sig-0", ...maker, text: "Let me see." },
      { type: "reasoning.encrypted", data: "sealed", ...maker },
      { type: "reasoning.text", signature: "sig-2", ...maker, text: "Then." }
    ]
  )
})

it("the texts of one summary are one item, with what its provider encrypted", () => {
  const marks = { id: "rs_vendor", format: "openai-responses-v1", provider: "openai" }
  const all = written([
    delta({ reasoning: "One", reasoning_details: [{ type: "reasoning.summary", summary: "One", ...marks, index: 0 }] }),
    delta({ reasoning: ".", reasoning_details: [{ type: "reasoning.summary", summary: ".", index: 0 }] }),
    delta({ reasoning: "Two", reasoning_details: [{ type: "reasoning.summary", summary: "Two", ...marks, index: 1 }] }),
    delta({ reasoning_details: [{ type: "reasoning.encrypted", data: "gAAA", ...marks, index: 2 }] }),
    delta({ content: "Done." }, "stop"),
    told
  ])
  const [item] = responseIn(all).output
  assert.deepStrictEqual(item.summary, [
    { type: "summary_text", text: "One." },
    { type: "summary_text", text: "Two" }
  ])
  assert.deepStrictEqual(thoughtsOfItem(item).details, [
    { type: "reasoning.summary", summary: "One.", ...marks },
    { type: "reasoning.summary", summary: "Two", ...marks },
    { type: "reasoning.encrypted", data: "gAAA", ...marks }
  ])
  assert.deepStrictEqual(
    outline(all).filter((type) => type.includes("part")),
    [
      "reasoning_summary_part.added",
      "reasoning_summary_part.done",
      "reasoning_summary_part.added",
      "reasoning_summary_part.done",
      "content_part.added",
      "content_part.done"
    ]
  )
})

it("unsigned thoughts are a summary without encrypted content", () => {
  const [item] = responseFrom(
    delta({ reasoning: "H" }),
    delta({ reasoning: "m." }),
    delta({ content: "x" }, "stop")
  ).output
  assert.deepStrictEqual(item, { id: "rs_1f0", type: "reasoning", summary: [{ type: "summary_text", text: "Hm." }] })
})

it("what a provider wants back with a call travels in an item before it", () => {
  const extra_content = { google: { thought_signature: "g" } }
  const wire = { index: 0, id: "a", type: "function", function: { name: "f", arguments: "{}" }, extra_content }
  const { output } = responseFrom(delta({ tool_calls: [wire] }), delta({}, "tool_calls"))
  assert.deepStrictEqual(thoughtsOfItem(output[0]).ofCall, { id: "a", members: { extra_content } })
  assert.deepInclude(output[1], { type: "function_call", call_id: "a" })
})

it("refusals, citations, log probabilities and phases are told", () => {
  assert.deepInclude(responseFrom(delta({ refusal: "I can't." }, "stop")).output[0].content[0], {
    type: "output_text",
    text: "I can't."
  })
  const cited = {
    type: "url_citation",
    url_citation: { url: "https://a.example", title: "A", start_index: 0, end_index: 1 }
  }
  const logprob = { token: "x", logprob: -0.5, bytes: [120], top_logprobs: [] }
  const all = written([
    delta({ content: "x" }, null, { content: [logprob] }),
    delta({ annotations: [cited] }),
    delta({ phase: "final_answer" }, "stop"),
    told
  ])
  const annotation = { type: "url_citation", url: "https://a.example", title: "A", start_index: 0, end_index: 1 }
  assert.deepInclude(
    all.find(({ type }) => type === "response.output_text.annotation.added"),
    { annotation, annotation_index: 0, content_index: 0 }
  )
  const [{ content, phase }] = responseIn(all).output
  assert.deepStrictEqual(
    [content[0].annotations, content[0].logprobs, phase],
    [[annotation], [logprob], "final_answer"]
  )
})

it("a reply that is cut: by the client's limit, by a filter, by the budget", () => {
  const cut = (reason: string, of: Head = head) => {
    const { error, incomplete_details, output, status } = responseIn(
      written([delta({ content: "x" }, reason), told], of)
    )
    return [status, incomplete_details?.reason, error?.code, output[0].status]
  }
  assert.deepStrictEqual(cut("length"), ["incomplete", "max_output_tokens", undefined, "incomplete"])
  assert.deepStrictEqual(cut("content_filter"), ["incomplete", "content_filter", undefined, "incomplete"])
  const clamped = { ...head, isClamped: true }
  assert.deepStrictEqual(cut("length", clamped), ["failed", undefined, "insufficient_quota", "incomplete"])
  assert.deepStrictEqual(cut("stop", clamped), ["completed", undefined, undefined, "completed"])
  const half = [call(0, { id: "a", name: "f", piece: "{}" }), call(1, { id: "b", name: "f", piece: "{" })]
  assert.deepStrictEqual(
    responseFrom(...half, delta({}, "length")).output.map(({ status }: Event) => status),
    ["completed", "incomplete"]
  )
})

it("an error ends the stream: the open item has no end, and the usage is told", () => {
  const error = gatewayError(new ProvidersFailed({ attempts: [], retryAfterMs: null }))
  const all = written([delta({ content: "Hel" }), { _tag: "Failed", error }, told])
  assert.deepStrictEqual(outline(all).slice(2), [
    "output_item.added",
    "content_part.added",
    "output_text.delta",
    "failed"
  ])
  const response = responseIn(all)
  assert.deepStrictEqual(response.error, {
    code: "server_error",
    message: "The response broke off before its end.",
    type: "provider_error",
    param: null,
    details: { attempts: [], error_code: "provider_error" }
  })
  assert.deepInclude(response, { completed_at: null })
  assert.deepInclude(response.output[0], { status: "incomplete" })
  assert.strictEqual(response.usage.output_tokens, 20)
  const budget = new BudgetExceeded({ capNano: 1, spentNano: 1, reservedNano: 0, neededNano: 1, resetsAtMs: 0 })
  const cut = written([delta({ content: "Hel" }), { _tag: "Failed", error: gatewayError(budget) }, told])
  assert.strictEqual(responseIn(cut).error.code, "insufficient_quota")
  // Every stream has its end.
  assert.strictEqual(responseIn(written([delta({ content: "Hel" })])).error.code, "server_error")
  assert.strictEqual(responseIn(written([])).error.code, "server_error")
})

const tooLong = { code: "context_length_exceeded", message: "Too long.", type: "", param: null, details: {} }

it("a silence is filled with the response in progress, before the completion and within it", () => {
  const shared = events()
  const early = shared.keepAlive() + shared.keepAlive()
  const writer = new ResponseWriter(head, shared)
  const text = writer.write(delta({ content: "x" })) + shared.keepAlive() + writer.write(delta({}, "stop"))
  const all = read(early + text + writer.write(told) + writer.end())
  assert.deepStrictEqual(
    outline(all).filter((type) => /^(?:created|in_progress|completed)$/.test(type)),
    ["created", "in_progress", "in_progress", "in_progress", "completed"]
  )
  // The name that was told first stays.
  for (const { response } of all) if (response !== undefined) assert.strictEqual(response.id, "resp_early")
  const failed = read(events().failed(tooLong))
  assert.deepStrictEqual(outline(failed), ["created", "in_progress", "failed"])
  assert.strictEqual(responseIn(failed).error.code, "context_length_exceeded")
})

const reply: ChatReply = {
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: "Done.",
        reasoning: "Let me see.",
        reasoning_details: [
          { type: "reasoning.text", text: "Let me see.", signature: "sig-0", ...maker, index: 0 },
          { type: "reasoning.encrypted", data: "sealed", ...maker, index: 1 }
        ],
        tool_calls: [
          { id: "a", type: "function", function: { name: "f", arguments: `{"x":1}` } },
          { id: "b", type: "function", function: { name: "apply_patch", arguments: `{"input":"***"}` } }
        ]
      },
      finish_reason: "tool_calls"
    }
  ],
  extra: { service_tier: "flex" },
  usage: null,
  systemFingerprint: null
}

it("a whole reply is the response that its stream makes", () => {
  const response = responseOf({ _tag: "Reply", head, reply, usage, endedAtMs: 4_900 }, form)
  const asEvents = (event: ChatEvent): CompletionEvent => (event._tag === "End" ? told : event)
  assert.deepStrictEqual(responseIn(written(replayEvents(reply).map(asEvents))), response)
  assert.deepStrictEqual(
    response.output.map(({ type }: Members) => type),
    ["reasoning", "reasoning", "message", "function_call", "custom_tool_call"]
  )
  assert.deepInclude(response, { status: "completed", service_tier: "flex", completed_at: 4 })
  const cut = {
    ...reply,
    choices: [{ index: 0, message: { role: "assistant", content: "x" }, finish_reason: "length" }]
  } as const
  assert.deepInclude(responseOf({ _tag: "Reply", head: { ...head, isClamped: true }, reply: cut, usage }, form), {
    status: "failed"
  })
})
