/** OpenAI's library against the gateway: every feature that its users depend on. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import OpenAI from "openai"
import { assertRetryAfter, Clients, pricing, prompt, recordingFetch, rejection } from "./Clients.ts"
import { hello, parallelCalls, picture, structured, thinking, vector, weatherTool } from "./fixtures.ts"

const user = (content: string) => ({ role: "user" as const, content: prompt(content) })
const tools = [{ type: "function" as const, function: weatherTool }]

/** The library with a new key. It does not retry unless `retries` is given. */
const client = Effect.fnUntraced(function* (
  options: { readonly key?: Readonly<Record<string, unknown>>; readonly retries?: number } = {}
) {
  const clients = yield* Clients
  const key = yield* clients.key(options.key)
  const { exchanges, fetch } = recordingFetch()
  const openai = new OpenAI({ baseURL: clients.baseUrl, apiKey: key, maxRetries: options.retries ?? 0, fetch })
  return { ...clients, key, openai, exchanges }
})

/** The error of a failing call, as the library's own class. */
const apiError = Effect.fnUntraced(function* (
  kind: abstract new (...args: never) => unknown,
  call: () => PromiseLike<unknown>
) {
  const error = yield* rejection(call)
  assert.isTrue(error instanceof kind, String(error))
  return error as InstanceType<typeof OpenAI.APIError>
})

layer(Clients.layer, { excludeTestServices: true, timeout: 120_000 })("openai", (it) => {
  it.effect("chat: answers, and reads the generation back by its header", () =>
    Effect.gen(function* () {
      const { generation, key, openai } = yield* client()
      const { data, response } = yield* Effect.promise(() =>
        openai.chat.completions.create({ model: "test/chat", messages: [user(hello.prompt)] }).withResponse()
      )
      assert.strictEqual(data.choices[0]?.message.content, hello.content)
      assert.strictEqual(data.choices[0]?.finish_reason, "stop")
      assert.strictEqual(data.model, "test/chat")
      assert.include(data.usage, { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 })

      const record = yield* generation(key, response.headers.get("x-generation-id") ?? "")
      const billed = (11 * pricing.prompt + 5 * pricing.completion) / 1e6
      assert.closeTo(record.cost.billed_usd, billed, 1e-9)
      assert.deepInclude(record, { model: "test/chat", provider: "alpha", streamed: false, usage_source: "provider" })
      assert.include(record.usage, { prompt_tokens: 11, completion_tokens: 5 })
      assert.strictEqual(response.headers.get("x-tollgate-provider"), "alpha")
    })
  )

  it.effect("streams: the last chunk's usage is the generation's", () =>
    Effect.gen(function* () {
      const { generation, key, openai } = yield* client()
      const { chunks, id } = yield* Effect.promise(async () => {
        const { data, response } = await openai.chat.completions
          .create({ model: "test/chat", messages: [user(hello.prompt)], stream: true })
          .withResponse()
        const chunks = []
        for await (const chunk of data) chunks.push(chunk)
        return { chunks, id: response.headers.get("x-generation-id") ?? "" }
      })
      assert.strictEqual(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join(""), hello.content)
      assert.lengthOf(new Set(chunks.map(({ id }) => id)), 1)
      const finishes = chunks.flatMap(({ choices }) => choices.flatMap(({ finish_reason: reason }) => reason ?? []))
      assert.deepStrictEqual(finishes, ["stop"])
      // The commonest loop reads `chunk.choices[0].delta` of every chunk.
      assert.isTrue(chunks.every(({ choices }) => choices[0]?.delta !== undefined))
      const last = chunks.at(-1)
      const record = yield* generation(key, id)
      assert.include(last?.usage, { prompt_tokens: 11, completion_tokens: 5 })
      assert.include(record.usage, { prompt_tokens: 11, completion_tokens: 5 })
      assert.isTrue(record.streamed)
    })
  )

  it.effect("tools: keeps parallel calls exact, whole and streamed, and takes their results", () =>
    Effect.gen(function* () {
      const { lastBody, openai } = yield* client()
      const request = {
        model: "test/chat",
        messages: [user(parallelCalls.prompt)],
        tools,
        tool_choice: "auto",
        parallel_tool_calls: true
      } as const
      const expected = parallelCalls.calls.map(({ id, ...call }) => ({ id, type: "function", function: call }))

      const whole = yield* Effect.promise(() =>
        openai.chat.completions.create({ ...request, messages: [...request.messages], tools: [...tools] })
      )
      assert.strictEqual(whole.choices[0]?.finish_reason, "tool_calls")
      assert.deepStrictEqual(whole.choices[0]?.message.tool_calls as unknown, expected)
      const sent = yield* lastBody
      assert.deepStrictEqual(sent["tools"], tools)
      assert.deepInclude(sent, { tool_choice: "auto", parallel_tool_calls: true, model: "chat-2026" })

      // The library's own assembler, which relies on `index`.
      const streamed = yield* Effect.promise(() =>
        openai.chat.completions
          .stream({ ...request, messages: [...request.messages], tools: [...tools] })
          .finalChatCompletion()
      )
      assert.strictEqual(streamed.choices[0]?.finish_reason, "tool_calls")
      const assembled = streamed.choices[0]?.message.tool_calls?.map((call) =>
        call.type === "function" ? { id: call.id, name: call.function.name, arguments: call.function.arguments } : call
      )
      assert.deepStrictEqual(assembled, parallelCalls.calls)

      const results = parallelCalls.calls.map(({ id }) => ({
        role: "tool" as const,
        tool_call_id: id,
        content: "sunny"
      }))
      const after = yield* Effect.promise(() =>
        openai.chat.completions.create({
          model: "test/chat",
          messages: [
            user(parallelCalls.prompt),
            { role: "assistant", content: null, tool_calls: whole.choices[0]?.message.tool_calls ?? [] },
            ...results
          ],
          tools: [...tools]
        })
      )
      assert.strictEqual(after.choices[0]?.message.content, parallelCalls.after)
      const told = (yield* lastBody)["messages"] as ReadonlyArray<unknown>
      assert.deepStrictEqual(told.slice(1), [{ role: "assistant", content: null, tool_calls: expected }, ...results])
    })
  )

  it.effect("chat: sends back what replies contain, in the library's own types", () =>
    Effect.gen(function* () {
      const { lastBody, openai } = yield* client()
      const messages: Array<OpenAI.ChatCompletionMessageParam> = [
        { role: "developer", content: "Be kind." },
        user("first question"),
        { role: "assistant", content: null, refusal: "I cannot help with that." },
        user("second question"),
        { role: "assistant", audio: { id: "audio_1" } },
        user("third question"),
        { role: "assistant", content: null, function_call: { name: "get_weather", arguments: "{}" } },
        { role: "function", name: "get_weather", content: "sunny" },
        { role: "assistant" },
        user(hello.prompt)
      ]
      const { choices } = yield* Effect.promise(() => openai.chat.completions.create({ model: "test/chat", messages }))
      assert.strictEqual(choices[0]?.message.content, hello.content)
      // A server that is not OpenAI's own knows no developer, and a message without anything is an
      // empty text.
      const expected = messages
        .with(0, { role: "system", content: "Be kind." })
        .with(8, { role: "assistant", content: "" })
      assert.deepStrictEqual((yield* lastBody)["messages"], expected as unknown)

      const answer = choices[0]?.message
      const next = [...messages, ...(answer === undefined ? [] : [answer]), user(hello.prompt)]
      const again = yield* Effect.promise(() => openai.chat.completions.create({ model: "test/chat", messages: next }))
      assert.strictEqual(again.choices[0]?.message.content, hello.content)
    })
  )

  it.effect("streams: with include_usage, as at OpenAI, the last chunk alone has no choice", () =>
    Effect.gen(function* () {
      const { openai } = yield* client()
      const chunks = yield* Effect.promise(async () => {
        const stream_options = { include_usage: true }
        const request = { model: "test/chat", messages: [user(hello.prompt)], stream: true, stream_options } as const
        const chunks = []
        for await (const chunk of await openai.chat.completions.create({ ...request, messages: [...request.messages] }))
          chunks.push(chunk)
        return chunks
      })
      const last = chunks.pop()
      assert.deepStrictEqual(last?.choices, [])
      assert.include(last?.usage, { prompt_tokens: 11, completion_tokens: 5 })
      assert.isTrue(chunks.every(({ choices, usage }) => choices.length === 1 && usage === null))
    })
  )

  it.effect("structured output: brings the schema, and pictures, to the provider as they are", () =>
    Effect.gen(function* () {
      const { lastBody, openai } = yield* client()
      const response_format = {
        type: "json_schema" as const,
        json_schema: { name: "person", strict: true, schema: structured.schema }
      }
      const parsed = yield* Effect.promise(() =>
        openai.chat.completions.parse({ model: "test/chat", messages: [user(structured.prompt)], response_format })
      )
      assert.deepStrictEqual(parsed.choices[0]?.message.parsed as unknown, { name: "Ada Lovelace", born: 1815 })
      assert.deepStrictEqual((yield* lastBody)["response_format"], response_format)

      const content = [
        { type: "text" as const, text: prompt(picture.prompt) },
        { type: "image_url" as const, image_url: { url: picture.url, detail: "low" as const } }
      ]
      const seen = yield* Effect.promise(() =>
        openai.chat.completions.create({ model: "test/chat", messages: [{ role: "user", content }] })
      )
      assert.strictEqual(seen.choices[0]?.message.content, picture.content)
      assert.deepStrictEqual((yield* lastBody)["messages"], [{ role: "user", content }])
    })
  )

  it.effect("embeddings: the library asks for base64 and decodes the very floats", () =>
    Effect.gen(function* () {
      const { openai } = yield* client()
      const input = [prompt("embed one"), prompt("embed two")]
      const decoded = yield* Effect.promise(() => openai.embeddings.create({ model: "test/embed", input }))
      const floats = yield* Effect.promise(() =>
        openai.embeddings.create({ model: "test/embed", input, encoding_format: "float" })
      )
      for (const { data } of [decoded, floats]) {
        assert.deepStrictEqual(
          data.map(({ embedding, index }) => ({ index, embedding: [...embedding] })),
          [0, 1].map((index) => ({ index, embedding: vector }))
        )
      }
      // The provider reports zero usage, and its report counts.
      assert.deepInclude(decoded.usage, { prompt_tokens: 0, total_tokens: 0 })
    })
  )

  it.effect("embeddings: takes token ids, as LangChain's Python library sends them", () =>
    Effect.gen(function* () {
      const { openai } = yield* client()
      for (const [input, vectors] of [
        [[12_529, 832], 1],
        [
          [
            [12_529, 832],
            [12_529, 1_403]
          ],
          2
        ]
      ] as const) {
        const ids = input.map((id) => (typeof id === "number" ? id : [...id])) as Array<number>
        const { data } = yield* Effect.promise(() => openai.embeddings.create({ model: "test/embed", input: ids }))
        assert.lengthOf(data, vectors)
      }
    })
  )

  it.effect("models: lists them, and retrieves one", () =>
    Effect.gen(function* () {
      const { openai } = yield* client()
      const { ids, model } = yield* Effect.promise(async () => {
        const ids = []
        for await (const { id, object } of openai.models.list()) ids.push([id, object])
        return { ids, model: await openai.models.retrieve("test/chat") }
      })
      assert.includeDeepMembers(ids, [
        ["test/chat", "model"],
        ["test/embed", "model"]
      ])
      assert.include(model, { id: "test/chat", object: "model" })
    })
  )

  it.effect("reasoning: comes under both names, whole and streamed", () =>
    Effect.gen(function* () {
      const { openai } = yield* client()
      const request = { model: "test/chat", messages: [user(thinking.prompt)] }
      const whole = yield* Effect.promise(() => openai.chat.completions.create(request))
      const thoughts = { reasoning: thinking.thought, reasoning_content: thinking.thought }
      assert.deepInclude(whole.choices[0]?.message as object, thoughts)
      const streamed = yield* Effect.promise(async () => {
        const texts = { reasoning: "", reasoning_content: "" }
        for await (const { choices } of await openai.chat.completions.create({ ...request, stream: true })) {
          const delta = choices[0]?.delta as Partial<typeof texts> | undefined
          texts.reasoning += delta?.reasoning ?? ""
          texts.reasoning_content += delta?.reasoning_content ?? ""
        }
        return texts
      })
      assert.deepStrictEqual(streamed, thoughts)
    })
  )

  it.effect("errors: come as the library's classes, with our message", () =>
    Effect.gen(function* () {
      const { baseUrl, openai, exchanges } = yield* client({ retries: 2 })
      const stranger = new OpenAI({ baseURL: baseUrl, apiKey: "tg-0123456789abcdef-nobody", maxRetries: 0 })
      const messages = [user(hello.prompt)]

      const unknownKey = yield* apiError(OpenAI.AuthenticationError, () =>
        stranger.chat.completions.create({ model: "test/chat", messages })
      )
      assert.deepInclude(unknownKey, { status: 401, type: "authentication_error", code: "invalid_api_key" })
      assert.include(unknownKey.message, "No valid API key was sent")

      const unknownModel = yield* apiError(OpenAI.NotFoundError, () =>
        openai.chat.completions.create({ model: "test/none", messages })
      )
      assert.deepInclude(unknownModel, { status: 404, code: "model_not_found", param: "model" })
      assert.include(unknownModel.message, "The model 'test/none' does not exist")

      const invalid = yield* apiError(OpenAI.UnprocessableEntityError, () =>
        openai.chat.completions.create({ model: "test/chat", messages, temperature: 9 })
      )
      assert.deepInclude(invalid, { status: 422, param: "temperature" })
      assert.include(invalid.message, "body.temperature")
      assert.match(invalid.requestID ?? "", /^req_/)
      // The two requests of this client, each sent once.
      assert.lengthOf(exchanges, 2)
    })
  )

  it.effect("models: retrieves each by its id", () =>
    Effect.gen(function* () {
      const { openai } = yield* client()
      const { data } = yield* Effect.promise(() => openai.models.list())
      assert.isNotEmpty(data)
      for (const model of data) {
        assert.isAbove(model.created, 0)
        const found = yield* Effect.promise(() => openai.models.retrieve(model.id))
        assert.deepInclude(found, { id: model.id, object: "model", created: model.created, owned_by: model.owned_by })
      }
      const bare = yield* Effect.promise(() => openai.models.retrieve("chat"))
      assert.strictEqual(bare.id, "test/chat")
      const missing = yield* apiError(OpenAI.NotFoundError, () => openai.models.retrieve("test/chta"))
      assert.include(missing.message, "Did you mean 'test/chat'?")
    })
  )

  it.effect("errors: is told of a spent budget once, and does not retry", () =>
    Effect.gen(function* () {
      const { openai, exchanges } = yield* client({ key: { monthly_budget_usd: 0.00001 }, retries: 3 })
      const error = yield* apiError(OpenAI.APIError, () =>
        openai.chat.completions.create({ model: "test/chat", messages: [user(hello.prompt)] })
      )
      assert.deepStrictEqual(
        [error.status, error.type, error.code],
        [402, "budget_exceeded", "monthly_budget_exceeded"]
      )
      assert.include(error.message, "monthly budget of $0.00001")
      assert.lengthOf(exchanges, 1)
    })
  )

  it.effect("errors: waits as long as Retry-After says when it is over its rate", () =>
    Effect.gen(function* () {
      const { baseUrl, exhaust, key, openai, exchanges } = yield* client({ key: { tier: "free" } })
      yield* exhaust(key)
      const messages = [user(hello.prompt)]
      const error = yield* apiError(OpenAI.RateLimitError, () =>
        openai.chat.completions.create({ model: "test/chat", messages })
      )
      assert.deepInclude(error, { status: 429, type: "rate_limit_exceeded", code: "requests_limit_exceeded" })
      assert.include(error.message, "The limit of 30 requests per minute is reached")
      assert.lengthOf(exchanges, 1)

      const patient = recordingFetch()
      const retrying = new OpenAI({ baseURL: baseUrl, apiKey: key, maxRetries: 1, fetch: patient.fetch })
      const answered = yield* Effect.promise(() => retrying.chat.completions.create({ model: "test/chat", messages }))
      assert.strictEqual(answered.choices[0]?.message.content, hello.content)
      assertRetryAfter(patient.exchanges)
    })
  )
})
