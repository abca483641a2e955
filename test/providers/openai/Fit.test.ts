/** What each vendor of the OpenAI dialect gets of the members that it does not take. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { type ParameterRules } from "../../../src/domain/Catalog.ts"
import { type ChatMessage, type ChatRequest } from "../../../src/domain/Chat.ts"
import { makeOpenAi } from "../../../src/providers/openai/OpenAi.ts"
import { chatBody } from "../../support/upstream/Bodies.ts"
import { config, offer, replay } from "../replayedTransport.ts"

type Members = Readonly<Record<string, unknown>>

interface To {
  readonly upstream?: string
  readonly parameters?: ParameterRules
}

/** The members that the vendor gets and those that it does not, or the one that it refuses. */
const outcome = (baseUrl: string, members: Members, { parameters, upstream = "small-2026" }: To = {}) => {
  const bodies: Array<Members> = []
  let leftOut: ReadonlyArray<string> = []
  const transport = replay({
    chunks: [Buffer.from(JSON.stringify(chatBody()))],
    type: "application/json",
    onSend: (_path, body) => void bodies.push(JSON.parse(body))
  })
  const provider = makeOpenAi(config({ baseUrl, ...(parameters === undefined ? {} : { parameters }) }), transport)
  const request = { model: "test/small", messages: [{ role: "user", content: "hi" }], stream: false, ...members }
  const call = {
    request: request as ChatRequest,
    offer: { ...offer, upstream },
    leftOut: (names: ReadonlyArray<string>) => void (leftOut = names)
  }
  const answered =
    members["stream"] === true
      ? Effect.asVoid(Effect.scoped(provider.chatStream(call)))
      : Effect.asVoid(provider.chat(call))
  const exit = Effect.runSyncExit(Effect.flip(answered))
  if (Exit.isSuccess(exit) && exit.value.reason._tag === "Unsupported") return { refused: exit.value.reason.param }
  const { messages: _messages, model: _model, stream: _stream, ...sent } = bodies[0] ?? {}
  return { sent, leftOut }
}

const openai = "https://api.openai.com/v1"
const mistral = "https://api.mistral.ai/v1"
const deepseek = "https://api.deepseek.com/v1"
const groq = "https://api.groq.com/openai/v1"
const xai = "https://api.x.ai/v1"
const perplexity = "https://api.perplexity.ai"
const unknown = "http://127.0.0.1:1/v1"
const books = { store: true, metadata: { a: "b" }, user: "u" }

describe("a request is fitted to its vendor", () => {
  it.each([
    [mistral, books, {}, { sent: {}, leftOut: ["store", "metadata", "user"] }],
    [mistral, { max_completion_tokens: 9 }, {}, { sent: { max_tokens: 9 }, leftOut: [] }],
    [mistral, { seed: 7 }, {}, { sent: { random_seed: 7 }, leftOut: [] }],
    [mistral, { store: false, logprobs: false }, {}, { sent: {}, leftOut: [] }],
    [mistral, { logprobs: true }, {}, { refused: "logprobs" }],
    [mistral, { stream: true }, {}, { sent: {}, leftOut: [] }],
    [deepseek, { ...books, max_completion_tokens: 9 }, {}, { sent: { max_tokens: 9 }, leftOut: Object.keys(books) }],
    [deepseek, { n: 1 }, {}, { sent: {}, leftOut: [] }],
    [deepseek, { n: 2 }, {}, { refused: "n" }],
    [deepseek, { response_format: { type: "json_schema", json_schema: {} } }, {}, { refused: "response_format" }],
    [
      deepseek,
      { response_format: { type: "json_object" } },
      {},
      { sent: { response_format: { type: "json_object" } }, leftOut: [] }
    ],
    [deepseek, { logprobs: true }, {}, { sent: { logprobs: true }, leftOut: [] }],
    [deepseek, { logprobs: true }, { upstream: "deepseek-reasoner" }, { refused: "logprobs" }],
    [groq, { logit_bias: { 1: 2 } }, {}, { refused: "logit_bias" }],
    [groq, { reasoning_effort: "low" }, { upstream: "llama-3.3-70b" }, { sent: {}, leftOut: ["reasoning_effort"] }],
    [
      groq,
      { reasoning_effort: "low" },
      { upstream: "openai/gpt-oss-20b" },
      { sent: { reasoning_effort: "low" }, leftOut: [] }
    ],
    [xai, { presence_penalty: 1 }, { upstream: "grok-4-0709" }, { sent: {}, leftOut: ["presence_penalty"] }],
    [xai, { stop: "x" }, { upstream: "grok-4-0709" }, { refused: "stop" }],
    [xai, { stop: "x" }, { upstream: "grok-4-1-fast-non-reasoning" }, { sent: { stop: "x" }, leftOut: [] }],
    [perplexity, { tools: [{ type: "function" }] }, {}, { refused: "tools" }],
    [unknown, { ...books, n: 2, x: 1 }, {}, { sent: { ...books, n: 2, x: 1 }, leftOut: [] }],
    [openai, { top_k: 4, session_id: "s" }, {}, { sent: { prompt_cache_key: "s" }, leftOut: ["top_k"] }]
  ] as const)("%s: %j", (baseUrl, members, to, expected) => {
    assert.deepStrictEqual<unknown>(outcome(baseUrl, members, to), expected)
  })

  it.each([
    ["gpt-4o", {}, true],
    ["o3", {}, false],
    ["gpt-5-mini-2025-08-07", {}, false],
    ["gpt-5-chat-latest", {}, true],
    ["gpt-5.1", {}, true],
    ["gpt-5.1", { reasoning_effort: "none" }, true],
    ["gpt-5.1", { reasoning_effort: "low" }, false],
    ["gpt-5.1-codex", {}, false],
    ["gpt-5.5", {}, false],
    ["gpt-5.5", { reasoning_effort: "none" }, true]
  ] as const)("%s with %j samples as asked: %s", (upstream, members, takes) => {
    const { leftOut, sent } = outcome(openai, { temperature: 0.2, top_p: 0.5, ...members }, { upstream })
    assert.deepStrictEqual(leftOut, takes ? [] : ["temperature", "top_p"])
    assert.strictEqual(sent?.["temperature"], takes ? 0.2 : undefined)
    const logprobs = outcome(openai, { logprobs: true, ...members }, { upstream })
    assert.strictEqual(logprobs.refused, takes ? undefined : "logprobs")
  })

  it("takes what the operator says of a server", () => {
    const parameters: ParameterRules = { refused: ["store", "n"], limit: "max_completion_tokens" }
    assert.deepStrictEqual<unknown>(outcome(unknown, { ...books, max_tokens: 9 }, { parameters }), {
      sent: { metadata: { a: "b" }, user: "u", max_completion_tokens: 9 },
      leftOut: ["store"]
    })
    assert.deepStrictEqual<unknown>(outcome(unknown, { n: 2 }, { parameters }), { refused: "n" })
    assert.deepStrictEqual<unknown>(outcome(mistral, { user: "u" }, { parameters: { refused: [] } }), {
      sent: { user: "u" },
      leftOut: []
    })
  })
})

describe("what other providers sealed", () => {
  const call = (provider: string) => ({
    id: "call00001",
    type: "function",
    function: { name: "f", arguments: "{}" },
    extra_content: { google: { thought_signature: "c2VhbA==", provider } }
  })
  const detail = (provider: string | null) => ({
    type: "reasoning.encrypted",
    data: "c2VhbA==",
    index: 0,
    ...(provider === null ? {} : { provider })
  })
  const messages = (maker: string | null, more: Members): ReadonlyArray<ChatMessage> => [
    {
      role: "assistant",
      content: "a",
      tool_calls: [call(maker ?? "alpha")],
      reasoning_details: [{ ...detail(maker), ...more }],
      images: [{ ...call(maker ?? "alpha"), type: "image_url", image_url: { url: "data:," } }],
      citations: [{}],
      grounding_metadata: {},
      phase: "commentary"
    },
    { role: "tool", tool_call_id: "call00001", content: "1" }
  ]
  const sentTo = (baseUrl: string, maker: string | null, more: Members = {}): string => {
    const bodies: Array<string> = []
    const transport = replay({ chunks: [], onSend: (_path, body) => void bodies.push(body) })
    const request: ChatRequest = { model: "test/small", messages: messages(maker, more), stream: false }
    Effect.runSyncExit(makeOpenAi(config({ baseUrl }), transport).chat({ request, offer }))
    return bodies[0] ?? ""
  }

  it("reaches no server of this dialect, and what a server sealed goes back to it", () => {
    for (const baseUrl of [openai, mistral, groq, "https://openrouter.ai/api/v1", unknown]) {
      assert.notInclude(sentTo(baseUrl, "gemini"), "c2VhbA==")
      assert.notMatch(sentTo(baseUrl, "gemini"), /citations|grounding_metadata|phase/)
    }
    assert.notInclude(sentTo(openai, "alpha"), "images")
    for (const baseUrl of ["https://openrouter.ai/api/v1", unknown])
      assert.notInclude(sentTo(baseUrl, null, { native: true }), "reasoning_details")
    for (const maker of ["alpha", null])
      assert.include(
        sentTo("https://openrouter.ai/api/v1", maker),
        '"reasoning_details":[{"type":"reasoning.encrypted"'
      )
  })

  it.effect("is marked with its maker where a reply brings it", () =>
    Effect.gen(function* () {
      const message = { role: "assistant", content: "a", reasoning_details: [detail(null)] }
      const body = { choices: [{ index: 0, message, finish_reason: "stop" }] }
      const transport = replay({ chunks: [Buffer.from(JSON.stringify(body))], type: "application/json" })
      const request: ChatRequest = { model: "test/small", messages: [{ role: "user", content: "hi" }], stream: false }
      const { choices } = yield* makeOpenAi(config(), transport).chat({ request, offer })
      assert.deepStrictEqual<unknown>(choices[0]?.message["reasoning_details"], [detail("alpha")])
    })
  )
})

describe("pictures in tool results", () => {
  const picture = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }
  const text = { type: "text", text: "seen" }
  const result = (id: string, content: ChatMessage["content"]): ChatMessage => ({
    role: "tool",
    tool_call_id: id,
    content: content ?? ""
  })
  const messages: ReadonlyArray<ChatMessage> = [
    result("call00001", [text, picture]),
    result("call00002", [picture]),
    { role: "user", content: "And?" }
  ]
  const messagesTo = (baseUrl: string): unknown => {
    const bodies: Array<Members> = []
    const transport = replay({ chunks: [], onSend: (_path, body) => void bodies.push(JSON.parse(body)) })
    const request: ChatRequest = { model: "test/small", messages, stream: false }
    Effect.runSyncExit(makeOpenAi(config({ baseUrl }), transport).chat({ request, offer }))
    return bodies[0]?.["messages"]
  }

  it("follow the results as the user's where a vendor takes only text there", () => {
    const moved = [
      result("call00001", [text]),
      result("call00002", ""),
      { role: "user", content: [picture, picture] },
      { role: "user", content: "And?" }
    ]
    for (const baseUrl of [openai, groq, deepseek]) assert.deepStrictEqual(messagesTo(baseUrl), moved)
    for (const baseUrl of ["https://openrouter.ai/api/v1", unknown])
      assert.deepStrictEqual<unknown>(messagesTo(baseUrl), messages)
  })
})
