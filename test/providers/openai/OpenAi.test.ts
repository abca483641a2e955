import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { type ChatRequest } from "../../../src/domain/Chat.ts"
import { type EmbeddingInput } from "../../../src/domain/Embedding.ts"
import { makeOpenAi } from "../../../src/providers/openai/OpenAi.ts"
import { CredentialsRefused, Malformed, Rejected, ServerFault, TimedOut } from "../../../src/providers/Provider.ts"
import { chatBody, embeddingsBody, errorBody } from "../../support/upstream/Bodies.ts"
import { config, fixture, offer, replay, type Replay } from "../replayedTransport.ts"

const request: ChatRequest = { model: "test/small", messages: [{ role: "user", content: "hi" }], stream: false }
const json = (value: unknown, rest: Partial<Replay> = {}): Replay => ({
  chunks: [Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value))],
  type: "application/json",
  ...rest
})
const chat = (given: Replay, sent: ChatRequest = request) =>
  makeOpenAi(config(), replay(given)).chat({ request: sent, offer })
const embed = (given: Replay, input: EmbeddingInput, rest: object = {}) =>
  makeOpenAi(config(), replay(given)).embed({ request: { model: "test/embed", input, ...rest }, offer })
const choice = (message: object, rest: object = {}) =>
  json({ choices: [{ index: 0, message: { role: "assistant", ...message }, ...rest }] })

describe("OpenAI chat", () => {
  it.effect("reads a completion and keeps what it does not know", () =>
    Effect.gen(function* () {
      const reply = yield* chat(json(fixture("chat.json")))
      assert.deepStrictEqual(reply.usage, { promptTokens: 19, completionTokens: 10, cachedTokens: 3 })
      assert.strictEqual(reply.systemFingerprint, "fp_44709d6fcb")
      const [first] = reply.choices
      assert.deepStrictEqual(first?.message, {
        role: "assistant",
        content: "Hello! How can I assist you today?",
        refusal: null,
        annotations: []
      })
      assert.strictEqual(first?.finish_reason, "stop")
      assert.nestedPropertyVal(first, "logprobs.content[0].token", "Hello")
    })
  )

  it.effect("reads parallel tool calls", () =>
    Effect.gen(function* () {
      const { choices } = yield* chat(json(fixture("chat-tools.json")))
      assert.strictEqual(choices[0]?.message.content, null)
      assert.deepStrictEqual(
        choices[0]?.message.tool_calls?.map((call) => call["id"]),
        ["call_abc", "call_def"]
      )
    })
  )

  it.effect("reads reasoning by either name, content in parts, and no usage", () =>
    Effect.gen(function* () {
      const deepseek = yield* chat(choice({ content: "4", reasoning_content: "2+2" }, { finish_reason: "stop" }))
      assert.deepStrictEqual(deepseek.choices[0]?.message, { role: "assistant", content: "4", reasoning: "2+2" })
      assert.isNull(deepseek.usage)
      const parts = [
        { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
        { type: "text", text: "a" },
        { type: "text", text: "b" }
      ]
      const mistral = yield* chat(choice({ content: parts }))
      assert.deepStrictEqual(mistral.choices[0]?.message, { role: "assistant", content: "ab", reasoning: "hm" })
    })
  )

  it.effect("counts reasoning as part of the completion, also where a vendor counts it apart", () =>
    Effect.gen(function* () {
      const usageOf = (usage: object) =>
        Effect.map(
          chat(json({ choices: [{ message: { role: "assistant", content: "4" }, finish_reason: "stop" }], usage })),
          (reply) => reply.usage
        )
      const details = { completion_tokens_details: { reasoning_tokens: 94 } }
      const among = { prompt_tokens: 32, completion_tokens: 103, total_tokens: 135, ...details }
      const expected = { promptTokens: 32, completionTokens: 103, cachedTokens: 0, reasoningTokens: 94 }
      assert.deepStrictEqual(yield* usageOf(among), expected)
      assert.deepStrictEqual(yield* usageOf({ ...among, completion_tokens: 9 }), expected)
      const untold = { prompt_tokens: 32, completion_tokens: 50, ...details }
      assert.deepStrictEqual(yield* usageOf(untold), { ...expected, completionTokens: 50, reasoningTokens: 50 })
    })
  )

  it.effect.each([
    ["http://127.0.0.1:1/v1", "small", false, "max_tokens"],
    ["https://api.openai.com/v1", "gpt-4o", false, "max_completion_tokens"],
    ["https://api.openai.com/v1", "o3", true, "max_completion_tokens"],
    ["https://acme.openai.azure.com/openai/v1", "our-deployment", true, "max_completion_tokens"],
    ["https://acme.openai.azure.com/openai/v1", "gpt-4o", false, "max_tokens"],
    ["http://127.0.0.1:1/v1", "gpt-5-mini", true, "max_completion_tokens"],
    ["https://api.mistral.ai/v1", "magistral", true, "max_tokens"]
  ] as const)(
    "sends one output limit, the smaller: %s, %s",
    Effect.fnUntraced(function* ([baseUrl, upstream, hidesReasoning, name]) {
      const bodies: Array<Record<string, unknown>> = []
      const onSend = (_path: string, body: string) => void bodies.push(JSON.parse(body))
      const provider = makeOpenAi(config({ baseUrl }), replay(json(chatBody(), { onSend })))
      for (const limits of [
        { max_tokens: 7, max_completion_tokens: 400_000 },
        { max_tokens: 400_000, max_completion_tokens: 7 },
        { max_tokens: null, max_completion_tokens: 7 },
        { max_tokens: 7 }
      ]) {
        yield* provider.chat({ request: { ...request, ...limits }, offer: { ...offer, upstream, hidesReasoning } })
        const { max_completion_tokens, max_tokens } = bodies.pop() ?? {}
        const expected = name === "max_tokens" ? [7, undefined] : [undefined, 7]
        assert.deepStrictEqual([max_tokens, max_completion_tokens], expected, JSON.stringify(limits))
      }
    })
  )

  it.effect("refuses what is no answer", () =>
    Effect.gen(function* () {
      const reasonFor = (given: Replay) => Effect.map(Effect.flip(chat(given)), (error) => error.reason)
      assert.deepStrictEqual(yield* reasonFor(json({ choices: [] })), new Malformed({ detail: "empty completion" }))
      assert.deepStrictEqual(yield* reasonFor(choice({ content: "" })), new Malformed({ detail: "empty completion" }))
      assert.instanceOf(yield* reasonFor(json(Buffer.from("<html>"), { type: "text/html" })), Malformed)
      assert.instanceOf(yield* reasonFor(json(Buffer.from('{"choices":'))), Malformed)
      assert.deepStrictEqual(
        yield* reasonFor(json({ error: { message: "overloaded", code: 503 } })),
        new ServerFault({ status: 503, retryAfterMs: null })
      )
      assert.deepStrictEqual(
        yield* reasonFor(json(errorBody("key"), { status: 401 })),
        new CredentialsRefused({ status: 401 })
      )
      const timeout = new TimedOut({ phase: "connect" })
      assert.strictEqual(yield* reasonFor(json({}, { failure: timeout })), timeout)
    })
  )

  it.effect("takes an empty text with a finish reason as an answer", () =>
    Effect.gen(function* () {
      const reply = yield* chat(choice({ content: "" }, { finish_reason: "stop" }))
      assert.strictEqual(reply.choices[0]?.message.content, "")
    })
  )

  it.effect("sends the client's request, but for the model and the gateway's own members", () =>
    Effect.gen(function* () {
      const sent: Array<{ path: string; body: unknown }> = []
      const onSend = (path: string, body: string) => void sent.push({ path, body: JSON.parse(body) })
      const full: ChatRequest = {
        model: "test/small",
        messages: [
          { role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }] },
          {
            role: "assistant",
            content: null,
            tool_calls: [{ id: "call_1", type: "function", function: { name: "f", arguments: "{}" } }]
          },
          { role: "tool", tool_call_id: "call_1", content: "42" }
        ],
        stream: null,
        temperature: null,
        max_tokens: 5,
        metadata: { team: "a" },
        tools: [{ type: "function", function: { name: "f", parameters: {} } }],
        response_format: { type: "json_object" },
        provider: { allow_fallbacks: true },
        models: ["test/large"],
        stream_options: { include_usage: false, include_obfuscation: false },
        x_vendor: { deep: [1] }
      }
      const provider = makeOpenAi(config(), replay(json(chatBody(), { onSend })))
      yield* provider.chat({ request: full, offer })
      const { models: _models, provider: _provider, stream_options: _options, ...kept } = full
      assert.deepStrictEqual(sent[0], {
        path: "/chat/completions",
        body: { ...kept, model: "small-2026", stream: false }
      })
      const mocked = { ...full, metadata: { mock: { fail: "cut" } } }
      yield* Effect.scoped(Effect.asVoid(provider.chatStream({ request: mocked, offer })))
      assert.deepStrictEqual(sent[1]?.body, {
        ...kept,
        metadata: { mock: { fail: "cut" } },
        model: "small-2026",
        stream: true,
        stream_options: { include_usage: true, include_obfuscation: false }
      })
    })
  )

  it.effect("never repeats the key that the provider repeated", () =>
    Effect.gen(function* () {
      const keyed = config({ apiKey: Redacted.make("sk-very-secret") })
      const given = json(errorBody("header sk-very-secret is malformed"), { status: 400 })
      const error = yield* Effect.flip(makeOpenAi(keyed, replay(given)).chat({ request, offer }))
      assert.instanceOf(error.reason, Rejected)
      assert.notInclude(JSON.stringify(error), "secret")
      assert.isTrue(error.isRequestsFault)
    })
  )
})

describe("OpenAI embeddings", () => {
  it.effect("sends token ids unchanged: one vector for a list of ids, one a list for a list of lists", () =>
    Effect.gen(function* () {
      const sent: Array<unknown> = []
      const onSend = (_path: string, body: string) => void sent.push(JSON.parse(body).input)
      const one = yield* embed(json(embeddingsBody([[1]]), { onSend }), [9906, 1917, 0])
      const two = yield* embed(json(embeddingsBody([[1], [2]]), { onSend }), [[9906, 1917], [0]])
      assert.deepStrictEqual([one.vectors, two.vectors], [[[1]], [[1], [2]]])
      assert.deepStrictEqual(sent, [
        [9906, 1917, 0],
        [[9906, 1917], [0]]
      ])
    })
  )

  it.effect.each(["embeddings-float.json", "embeddings-base64.json"])(
    "%s reads as numbers in the order of the inputs",
    Effect.fnUntraced(function* (name: string) {
      const reply = yield* embed(json(fixture(name)), ["a", "b"])
      assert.deepStrictEqual(reply, {
        vectors: [
          [-1, 0.125, 0],
          [0.5, -0.25, 1]
        ],
        usage: { promptTokens: 8, completionTokens: 0, cachedTokens: 0 }
      })
    })
  )

  it.effect("asks for floats whatever the client asked for", () =>
    Effect.gen(function* () {
      const sent: Array<unknown> = []
      const onSend = (path: string, body: string) => void sent.push([path, JSON.parse(body)])
      yield* embed(json(embeddingsBody([[1]]), { onSend }), "a", { encoding_format: "base64", dimensions: 1 })
      assert.deepStrictEqual(sent, [
        ["/embeddings", { model: "small-2026", input: "a", encoding_format: "float", dimensions: 1 }]
      ])
    })
  )

  it.effect("refuses missing, doubled and unreadable vectors", () =>
    Effect.gen(function* () {
      for (const body of [
        embeddingsBody([[1]]),
        {
          data: [
            { index: 0, embedding: [1] },
            { index: 0, embedding: [2] }
          ]
        },
        {
          data: [
            { index: 0, embedding: [1] },
            { index: 2, embedding: [2] }
          ]
        },
        {
          data: [
            { index: 0, embedding: [1] },
            { index: 1, embedding: ["x"] }
          ]
        },
        embeddingsBody([[1], "AAA="]),
        embeddingsBody([[1], []])
      ]) {
        const error = yield* Effect.flip(embed(json(body), ["a", "b"]))
        assert.instanceOf(error.reason, Malformed)
      }
    })
  )
})
