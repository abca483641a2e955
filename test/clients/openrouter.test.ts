/** OpenRouter's library against the gateway. It validates every response with its own schema. */
import { assert, layer } from "@effect/vitest"
import { HTTPClient, OpenRouter } from "@openrouter/sdk"
import { type OpenRouterError, ResponseValidationError } from "@openrouter/sdk/models/errors"
import { type ChatStreamChunk } from "@openrouter/sdk/models"
import { Effect } from "effect"
import { assertRetryAfter, Clients, pricing, prompt, recordingFetch, rejection } from "./Clients.ts"
import { hello, parallelCalls, picture, structured, vector, weatherTool } from "./fixtures.ts"

const user = (content: string) => ({ role: "user" as const, content: prompt(content) })
const tools = [{ type: "function" as const, function: weatherTool }]
const backoff = { initialInterval: 1, maxInterval: 60_000, exponent: 1, maxElapsedTime: 60_000 }

/** The library with a new key. It does not retry unless asked to. */
const client = Effect.fnUntraced(function* (body?: Readonly<Record<string, unknown>>) {
  const clients = yield* Clients
  const key = yield* clients.key(body)
  const { exchanges, fetch } = recordingFetch()
  const openrouter = new OpenRouter({
    serverURL: clients.baseUrl,
    apiKey: key,
    httpClient: new HTTPClient({ fetcher: (input, init) => fetch(input, init) }),
    retryConfig: { strategy: "none" }
  })
  return {
    ...clients,
    key,
    openrouter,
    exchanges,
    generationId: () => exchanges.at(-1)?.headers.get("x-generation-id") ?? ""
  }
})

const apiError = Effect.fnUntraced(function* (call: () => PromiseLike<unknown>) {
  const error = yield* rejection(call)
  // The library wants a numeric code, which OpenAI's form of an error does not have.
  assert.instanceOf(error, ResponseValidationError)
  return error as OpenRouterError
})

layer(Clients.layer, { excludeTestServices: true, timeout: 120_000 })("@openrouter/sdk", (it) => {
  it.effect("chat: answers, and reads the generation back by its header", () =>
    Effect.gen(function* () {
      const { generation, generationId, key, openrouter } = yield* client()
      const answer = yield* Effect.promise(() =>
        openrouter.chat.send({ chatRequest: { model: "test/chat", messages: [user(hello.prompt)] } })
      )
      if (!("choices" in answer)) return assert.fail("a whole answer was asked for")
      assert.strictEqual(answer.choices[0]?.message.content as unknown, hello.content)
      assert.strictEqual(answer.choices[0]?.finishReason as unknown, "stop")
      assert.include(answer.usage, { promptTokens: 11, completionTokens: 5, totalTokens: 16 })
      const record = yield* generation(key, generationId())
      assert.include(record.usage, { prompt_tokens: 11, completion_tokens: 5 })
      assert.closeTo(record.cost.billed_usd, (11 * pricing.prompt + 5 * pricing.completion) / 1e6, 1e-9)
    })
  )

  it.effect("streams: the last chunk's usage is the generation's", () =>
    Effect.gen(function* () {
      const { generation, generationId, key, openrouter } = yield* client()
      const chunks = yield* Effect.promise(async () => {
        const answer = await openrouter.chat.send({
          chatRequest: { model: "test/chat", messages: [user(hello.prompt)], stream: true }
        })
        if ("choices" in answer) throw new Error("a stream was asked for")
        const chunks: Array<ChatStreamChunk> = []
        for await (const chunk of answer) chunks.push(chunk)
        return chunks
      })
      assert.strictEqual(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join(""), hello.content)
      const finishes = chunks.flatMap(({ choices }) => choices.flatMap(({ finishReason }) => finishReason ?? []))
      assert.deepStrictEqual(finishes as ReadonlyArray<unknown>, ["stop"])
      assert.include(chunks.at(-1)?.usage, { promptTokens: 11, completionTokens: 5 })
      const record = yield* generation(key, generationId())
      assert.include(record.usage, { prompt_tokens: 11, completion_tokens: 5 })
      assert.isTrue(record.streamed)
    })
  )

  it.effect("tools: keeps parallel calls exact, whole and streamed", () =>
    Effect.gen(function* () {
      const { lastBody, openrouter } = yield* client()
      const request = { model: "test/chat", messages: [user(parallelCalls.prompt)], tools, parallelToolCalls: true }
      const whole = yield* Effect.promise(() => openrouter.chat.send({ chatRequest: request }))
      if (!("choices" in whole)) return assert.fail("a whole answer was asked for")
      const calls = whole.choices[0]?.message.toolCalls?.map(({ function: call, id }) => ({ id, ...call }))
      assert.deepStrictEqual(calls, parallelCalls.calls)
      assert.strictEqual(whole.choices[0]?.finishReason as unknown, "tool_calls")
      const sent = yield* lastBody
      assert.deepStrictEqual(sent["tools"], tools)
      assert.strictEqual(sent["parallel_tool_calls"], true)

      const streamed = yield* Effect.promise(async () => {
        const answer = await openrouter.chat.send({ chatRequest: { ...request, stream: true } })
        if ("choices" in answer) throw new Error("a stream was asked for")
        const calls: Array<{ id: string; name: string; arguments: string }> = []
        for await (const { choices } of answer) {
          for (const { function: call, id, index } of choices[0]?.delta.toolCalls ?? []) {
            const known = (calls[index] ??= { id: "", name: "", arguments: "" })
            known.id += id ?? ""
            known.name += call?.name ?? ""
            known.arguments += call?.arguments ?? ""
          }
        }
        return calls
      })
      assert.deepStrictEqual(streamed, parallelCalls.calls)
    })
  )

  it.effect("structured output: brings the schema, pictures and routing preferences to where they belong", () =>
    Effect.gen(function* () {
      const { lastBody, openrouter } = yield* client()
      const answer = yield* Effect.promise(() =>
        openrouter.chat.send({
          chatRequest: {
            model: "test/chat",
            messages: [user(structured.prompt)],
            responseFormat: {
              type: "json_schema",
              jsonSchema: { name: "person", strict: true, schema: structured.schema }
            },
            provider: { order: ["alpha"], allowFallbacks: false }
          }
        })
      )
      if (!("choices" in answer)) return assert.fail("a whole answer was asked for")
      assert.strictEqual(answer.choices[0]?.message.content as unknown, structured.content)
      const sent = yield* lastBody
      assert.deepStrictEqual(sent["response_format"], {
        type: "json_schema",
        json_schema: { name: "person", strict: true, schema: structured.schema }
      })
      // Routing preferences are for the gateway and are not sent to the provider.
      assert.notProperty(sent, "provider")

      const seen = yield* Effect.promise(() =>
        openrouter.chat.send({
          chatRequest: {
            model: "test/chat",
            messages: [
              {
                role: "user",
                content: [
                  { type: "text", text: prompt(picture.prompt) },
                  { type: "image_url", imageUrl: { url: picture.url } }
                ]
              }
            ]
          }
        })
      )
      if (!("choices" in seen)) return assert.fail("a whole answer was asked for")
      assert.strictEqual(seen.choices[0]?.message.content as unknown, picture.content)
      assert.deepStrictEqual((yield* lastBody)["messages"], [
        {
          role: "user",
          content: [
            { type: "text", text: prompt(picture.prompt) },
            { type: "image_url", image_url: { url: picture.url } }
          ]
        }
      ])
    })
  )

  it.effect("embeddings: several texts", () =>
    Effect.gen(function* () {
      const { openrouter } = yield* client()
      const input = [prompt("embed one"), prompt("embed two")]
      const answer = yield* Effect.promise(() =>
        openrouter.embeddings.generate({ requestBody: { model: "test/embed", input } })
      )
      if (typeof answer === "string") return assert.fail("not JSON")
      assert.deepStrictEqual(
        answer.data.map(({ embedding, index }) => ({ index, embedding })),
        [0, 1].map((index) => ({ index, embedding: vector }))
      )
    })
  )

  it.effect("models: lists them, with prices and context lengths", () =>
    Effect.gen(function* () {
      const { openrouter } = yield* client()
      const models = yield* Effect.promise(async () => {
        const models = []
        for await (const page of await openrouter.models.list()) models.push(...page.result.data)
        return models
      })
      assert.deepStrictEqual(
        models
          .filter(({ id }) => id.startsWith("test/"))
          .map(({ contextLength, id, pricing }) => ({ id, contextLength, prompt: Number(pricing.prompt) })),
        [
          { id: "test/chat", contextLength: 8_000, prompt: pricing.prompt / 1e6 },
          { id: "test/embed", contextLength: null, prompt: 1 / 1e6 }
        ]
      )
    })
  )

  it.effect("errors, differently: come with the status and our message, and not as the class of the status", () =>
    Effect.gen(function* () {
      const { baseUrl, exchanges, key, openrouter } = yield* client()
      const ask = (client: OpenRouter, chatRequest = {}) =>
        client.chat.send({ chatRequest: { model: "test/chat", messages: [user(hello.prompt)], ...chatRequest } })
      const stranger = new OpenRouter({ serverURL: baseUrl, apiKey: "tg-0123456789abcdef-nobody" })

      const unknownKey = yield* apiError(() => ask(stranger))
      assert.strictEqual(unknownKey.statusCode, 401)
      assert.include(unknownKey.body, "No valid API key was sent")

      const unknownModel = yield* apiError(() => ask(openrouter, { model: "test/none" }))
      assert.strictEqual(unknownModel.statusCode, 404)
      assert.include(unknownModel.body, "The model 'test/none' does not exist")

      const invalid = yield* apiError(() => ask(openrouter, { temperature: 9 }))
      assert.strictEqual(invalid.statusCode, 422)
      assert.include(invalid.body, "body.temperature")

      const poor = yield* client({ monthly_budget_usd: 0.00001 })
      const spent = yield* apiError(() => ask(poor.openrouter))
      assert.strictEqual(spent.statusCode, 402)
      assert.include(spent.body, "monthly budget of $0.00001")
      assert.lengthOf(poor.exchanges, 1)
      assert.isTrue(exchanges.every(({ status }) => status === 404 || status === 422) && key !== poor.key)
    })
  )

  it.effect("errors: waits as long as Retry-After says when it is told to retry a 429", () =>
    Effect.gen(function* () {
      const { exchanges, exhaust, key, openrouter } = yield* client({ tier: "free" })
      yield* exhaust(key)
      const chatRequest = { model: "test/chat", messages: [user(hello.prompt)] }
      const answer = yield* Effect.promise(() =>
        openrouter.chat.send({ chatRequest }, { retries: { strategy: "backoff", backoff }, retryCodes: ["429"] })
      )
      if (!("choices" in answer)) return assert.fail("a whole answer was asked for")
      assert.strictEqual(answer.choices[0]?.message.content as unknown, hello.content)
      assertRetryAfter(exchanges)
    })
  )
})
