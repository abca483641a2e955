/** A completion's events as those of the Messages API, and whole replies as messages. */
import { assert, it } from "@effect/vitest"
import { type ChatEvent, type ChatReply, type Delta, type UsageInfo } from "../../../src/domain/Chat.ts"
import { gatewayError, ProvidersFailed } from "../../../src/domain/Errors.ts"
import { replayEvents } from "../../../src/domain/Replay.ts"
import { type CompletionEvent, type Head } from "../../../src/gateway/request/Answer.ts"
import { MessageWriter } from "../../../src/http/messages/MessageWriter.ts"
import { type MessageForm, messageOf } from "../../../src/http/messages/Reply.ts"
import { encryptedThought, signedThought } from "../../../src/http/messages/Thoughts.ts"

const head: Head = {
  completionId: "chatcmpl_1",
  generationId: "gen_1",
  createdAtMs: 0,
  model: "test/small",
  provider: "alpha",
  cacheHit: false,
  promptTokens: 90
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

const delta = (members: Delta, finish_reason: string | null = null): CompletionEvent => ({
  _tag: "Choices",
  choices: [{ index: 0, delta: members, finish_reason }]
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
const told: CompletionEvent = { _tag: "Usage", usage }

type Event = ReturnType<typeof JSON.parse>

/** The events as a client reads them. */
const written = (
  events: ReadonlyArray<CompletionEvent>,
  form: MessageForm = { model: "claude-asked", omitsThinking: false }
): ReadonlyArray<Event> => {
  const writer = new MessageWriter(head, "req_1", form)
  const text = events.map((event) => writer.write(event)).join("") + writer.end()
  return text
    .split("\n\n")
    .filter((block) => block !== "")
    .map((block) => {
      const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? []
      const event = JSON.parse(data ?? "")
      assert.strictEqual(event.type, name)
      return event
    })
}

/** Assembles the blocks, and checks that one is open at a time and that indexes rise by one. */
const blocksOf = (events: ReadonlyArray<Event>): ReadonlyArray<Event> => {
  const blocks: Array<Event> = []
  let open: number | null = null
  for (const { content_block, delta, index, type } of events) {
    if (type === "content_block_start") {
      assert.isNull(open)
      assert.strictEqual(index, blocks.length)
      open = index
      blocks.push({ ...content_block })
    }
    if (type === "content_block_delta") {
      assert.strictEqual(index, open)
      const block = blocks[index]
      if (delta.type === "input_json_delta") block.json = (block.json ?? "") + delta.partial_json
      if (delta.type === "signature_delta") block.signature = delta.signature
      for (const member of ["text", "thinking"]) if (member in delta) block[member] += delta[member]
    }
    if (type === "content_block_stop") {
      assert.strictEqual(index, open)
      open = null
    }
  }
  assert.isNull(open)
  return blocks.map(({ json, ...block }) =>
    block.type === "tool_use" ? { ...block, input: JSON.parse(json ?? "{}") } : block
  )
}

const outline = (events: ReadonlyArray<Event>) => events.map(({ type }) => type)
const stopOf = (events: ReadonlyArray<Event>) => events.find(({ type }) => type === "message_delta")?.delta.stop_reason

it("tells the gateway's count of the prompt at once: LangChain reads it there and nowhere else", () => {
  const [first] = written([delta({ content: "Hello" }, "stop"), told])
  assert.deepStrictEqual(first.message.usage, {
    input_tokens: 90,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 0
  })
})

it("a text: the message, one block, the stop reason with the whole usage, the end", () => {
  const events = written([
    delta({ role: "assistant", content: "" }),
    delta({ content: "Hel" }),
    delta({ content: "lo" }),
    delta({}, "stop"),
    told
  ])
  assert.deepStrictEqual(outline(events), [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop"
  ])
  assert.deepInclude(events[0].message, { id: "msg_1", model: "claude-asked", role: "assistant", content: [] })
  assert.deepInclude(events[0].message, { stop_reason: null })
  assert.deepStrictEqual(blocksOf(events), [{ type: "text", text: "Hello", citations: null }])
  // All tokens of the prompt: those that are neither read from nor written to the cache, and these.
  assert.deepStrictEqual(events.at(-2), {
    type: "message_delta",
    delta: { stop_reason: "end_turn", stop_sequence: null, stop_details: null },
    usage: {
      input_tokens: 10,
      cache_creation_input_tokens: 30,
      cache_read_input_tokens: 60,
      output_tokens: 20,
      output_tokens_details: { thinking_tokens: 5 },
      cost: 0.5
    }
  })
})

it("an empty text before a call makes no block, and a call that was sent stops for tools", () => {
  const events = written([
    delta({ role: "assistant", content: "" }),
    call(0, { id: "call_1", name: "f" }),
    call(0, { piece: `{"a":` }),
    call(0, { piece: "1}" }),
    delta({ content: "" }, "stop"),
    told
  ])
  assert.deepStrictEqual(blocksOf(events), [
    { type: "tool_use", id: "call_1", name: "f", input: { a: 1 }, caller: { type: "direct" } }
  ])
  assert.strictEqual(stopOf(events), "tool_use")
  assert.strictEqual(stopOf(written([delta({ content: "x" }, "tool_calls"), told])), "end_turn")
})

it("parallel calls keep their own inputs, one after the other or interleaved", () => {
  const one = [call(0, { id: "a", name: "f" }), call(0, { piece: `{"x":"}` }), call(0, { piece: `{\\"" }` })]
  const two = [call(1, { id: "b", name: "g" }), call(1, { piece: `{"y":` }), call(1, { piece: "[2]}" })]
  const three = [call(2, { id: "c", name: "h" })]
  const expected = [
    { type: "tool_use", id: "a", name: "f", input: { x: `}{"` }, caller: { type: "direct" } },
    { type: "tool_use", id: "b", name: "g", input: { y: [2] }, caller: { type: "direct" } },
    { type: "tool_use", id: "c", name: "h", input: {}, caller: { type: "direct" } }
  ]
  const woven = [0, 1, 2].flatMap((at) => [one[at], two[at], three[at]]).filter((event) => event !== undefined)
  for (const calls of [[...one, ...two, ...three], woven]) {
    const events = written([...calls, delta({}, "tool_calls"), told])
    assert.deepStrictEqual(blocksOf(events), expected)
  }
  // A call in turn is not held back.
  const live = written([...one, ...two.slice(0, 2)])
  assert.isTrue(live.some((event) => event.delta?.partial_json === `{"y":`))
})

it("holds back a bounded part of calls that are woven into each other", () => {
  const pieces = (index: number) => [
    call(index, { id: `call_${index}`, name: "f" }),
    call(index, { piece: `{"x":"` }),
    ...Array.from({ length: 3_000 }, () => call(index, { piece: "abc" })),
    call(index, { piece: `"}` })
  ]
  const [one, two] = [pieces(0), pieces(1)]
  const woven = one.flatMap((event, at) => [event, two[at] ?? event])
  const inputs = blocksOf(written([...woven, delta({}, "tool_calls"), told])).map(({ input }) => input)
  assert.deepStrictEqual(inputs, [{ x: "abc".repeat(3_000) }, { x: "abc".repeat(3_000) }])

  const opened = call(0, { id: "call_0", name: "f", piece: "{" })
  const many = Array.from({ length: 1_100 }, (_, at) => call(at + 1, { id: `call_${at + 1}`, name: "f" }))
  const long = Array.from({ length: 5 }, () => call(1, { piece: "x".repeat(1_048_576) }))
  for (const others of [many, long]) {
    const events = written([opened, ...others, told])
    assert.deepStrictEqual(outline(events).slice(-1), ["error"])
    assert.isBelow(events.length, 10)
  }
})

it("a text that arrives within a call waits for its end", () => {
  const events = written([
    call(0, { id: "a", name: "f", piece: `{"x"` }),
    delta({ content: "between" }),
    call(0, { piece: ":1}" }),
    call(0, { piece: " " }),
    delta({ content: " all" }),
    delta({}, "tool_calls"),
    told
  ])
  assert.deepStrictEqual(
    blocksOf(events).map(({ input, text }) => text ?? input),
    [{ x: 1 }, "between all"]
  )
})

const maker = { format: "anthropic-claude-v1", provider: "claude" }
const thought = (text: string, index: number) =>
  delta({ reasoning: text, reasoning_details: [{ type: "reasoning.text", text, index }] })
const thoughts = [
  thought("Let me", 0),
  thought(" see.", 0),
  delta({ reasoning_details: [{ type: "reasoning.text", signature: "sig-0", ...maker, index: 0 }] }),
  delta({ reasoning_details: [{ type: "reasoning.encrypted", data: "sealed", ...maker, index: 1 }] }),
  thought("Then.", 2),
  delta({ reasoning_details: [{ type: "reasoning.text", signature: "sig-2", ...maker, index: 2 }] }),
  delta({ content: "Done." }),
  delta({}, "stop"),
  told
]

it("thoughts come with signatures that lead back to their maker", () => {
  const [first, sealed, second, text] = blocksOf(written(thoughts))
  assert.deepStrictEqual([first.thinking, second.thinking, text.text], ["Let me see.", "Then.", "Done."])
  assert.deepStrictEqual(signedThought(first.thinking, first.signature, 0), {
    type: "reasoning.text",
    signature: "sig-0",
    ...maker,
    text: "Let me see.",
    index: 0
  })
  assert.deepStrictEqual(encryptedThought(sealed.data, 1), {
    type: "reasoning.encrypted",
    data: "sealed",
    ...maker,
    index: 1
  })
  assert.deepInclude(signedThought(second.thinking, second.signature, 2), { signature: "sig-2" })
})

it("a client that wants no thoughts gets their signatures alone", () => {
  const blocks = blocksOf(written(thoughts, { model: "m", omitsThinking: true }))
  assert.deepStrictEqual(
    blocks.map(({ thinking, type }) => [type, thinking]),
    [
      ["thinking", ""],
      ["redacted_thinking", undefined],
      ["thinking", ""],
      ["text", undefined]
    ]
  )
  assert.deepInclude(signedThought("", blocks[0].signature, 0), { signature: "sig-0", provider: "claude" })
  const unsigned = [delta({ reasoning: "Hm." }), delta({ content: "x" }, "stop"), told]
  assert.lengthOf(blocksOf(written(unsigned, { model: "m", omitsThinking: true })), 1)
  assert.deepStrictEqual(blocksOf(written(unsigned))[0], { type: "thinking", thinking: "Hm.", signature: "" })
})

it("what a provider wants back with a call travels in a block before it", () => {
  const extra_content = { google: { thought_signature: "g" } }
  const events = written([
    delta({
      tool_calls: [
        {
          index: 0,
          id: "a",
          type: "function",
          function: { name: "f", arguments: "{}" },
          extra_content
        } as object as never
      ]
    }),
    delta({}, "tool_calls"),
    told
  ])
  const [carrier, tool] = blocksOf(events)
  assert.deepInclude(encryptedThought(carrier.data, 0), { id: "a", members: { extra_content } })
  assert.strictEqual(tool.type, "tool_use")
})

it("an error ends the stream: no stop reason, no message_stop", () => {
  const error = gatewayError(new ProvidersFailed({ attempts: [], retryAfterMs: null }))
  const events = written([delta({ content: "Hel" }), { _tag: "Failed", error }, told])
  assert.deepStrictEqual(outline(events), ["message_start", "content_block_start", "content_block_delta", "error"])
  assert.deepInclude(events.at(-1), { request_id: "req_1" })
  assert.strictEqual(events.at(-1).error.type, "api_error")
})

it("names why a reply stopped", () => {
  const stop = (...events: ReadonlyArray<CompletionEvent>) => stopOf(written([...events, told]))
  assert.strictEqual(stop(delta({ content: "x" }, "length")), "max_tokens")
  assert.strictEqual(stop(delta({ content: "x" }, "content_filter")), "refusal")
  assert.strictEqual(stop(delta({ refusal: "I can't." }, "stop")), "refusal")
  assert.strictEqual(stop(delta({}, "stop")), "end_turn")
  assert.strictEqual(stop(call(0, { id: "a", name: "f", piece: "{" }), delta({}, "length")), "max_tokens")
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
          { id: "b", type: "function", function: { name: "g", arguments: "" } }
        ]
      },
      finish_reason: "tool_calls"
    }
  ],
  usage: null,
  systemFingerprint: null
}

const form = { model: "claude-asked", omitsThinking: false }

it("a whole reply is the message that its stream makes", () => {
  const message = messageOf({ _tag: "Reply", head, reply, usage }, form)
  const asEvents = (event: ChatEvent): CompletionEvent => (event._tag === "End" ? told : event)
  const events = written(replayEvents(reply).map(asEvents))
  assert.deepStrictEqual(
    [...blocksOf(events)].sort((one, other) => String(one.type).localeCompare(other.type)),
    [...(message.content as ReadonlyArray<Event>)].sort((one, other) => String(one.type).localeCompare(other.type))
  )
  assert.deepStrictEqual(
    message.content.map(({ type }) => type),
    ["thinking", "redacted_thinking", "text", "tool_use", "tool_use"]
  )
  assert.deepStrictEqual([message.stop_reason, stopOf(events)], ["tool_use", "tool_use"])
  assert.deepStrictEqual(message.usage, events.at(-2).usage)
  assert.deepStrictEqual([message.id, message.model], ["msg_1", "claude-asked"])
})

it("a reply without anything has no blocks, and an input that is no JSON is passed on as text", () => {
  const [choice] = reply.choices
  const with_ = (message: object) =>
    messageOf(
      {
        _tag: "Reply",
        head,
        usage,
        reply: { ...reply, choices: [{ ...choice, message: { role: "assistant", content: "", ...message } } as never] }
      },
      form
    )
  assert.deepStrictEqual(with_({}).content, [])
  const [tool] = with_({ tool_calls: [{ id: "a", function: { name: "f", arguments: "{oops" } }] }).content
  assert.deepStrictEqual(tool?.["input"], { INVALID_JSON: "{oops" })
})
