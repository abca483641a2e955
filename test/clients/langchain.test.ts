/** LangChain's models for OpenAI against the gateway. */
import { assert, layer } from "@effect/vitest"
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai"
import { Effect } from "effect"
import { Clients, pricing, prompt, recordingFetch, rejection } from "./Clients.ts"
import { hello, parallelCalls, picture, structured, vector, weatherTool } from "./fixtures.ts"

const tools = [{ type: "function" as const, function: weatherTool }]
const parsedCalls = parallelCalls.calls.map(({ arguments: args, id, name }) => ({
  id,
  name,
  args: JSON.parse(args) as unknown
}))

const client = Effect.fnUntraced(function* (
  options: { readonly key?: Readonly<Record<string, unknown>>; readonly model?: Readonly<Record<string, unknown>> } = {}
) {
  const clients = yield* Clients
  const key = yield* clients.key(options.key)
  const { exchanges, fetch } = recordingFetch()
  const configuration = { baseURL: clients.baseUrl, fetch }
  const model = new ChatOpenAI({ model: "test/chat", apiKey: key, maxRetries: 0, configuration, ...options.model })
  const embeddings = new OpenAIEmbeddings({ model: "test/embed", apiKey: key, maxRetries: 0, configuration })
  const generationId = () => exchanges.at(-1)?.headers.get("x-generation-id") ?? ""
  return { ...clients, key, model, embeddings, exchanges, generationId }
})

/** LangChain throws the errors of OpenAI's library. */
const apiError = Effect.fnUntraced(function* (call: () => PromiseLike<unknown>) {
  const error = yield* rejection(call)
  assert.instanceOf(error, Error)
  return error as Error & { readonly status?: number }
})

layer(Clients.layer, { excludeTestServices: true, timeout: 120_000 })("@langchain/openai", (it) => {
  it.effect("chat: answers, and reads the generation back by its header", () =>
    Effect.gen(function* () {
      const { generation, generationId, key, model } = yield* client()
      const answer = yield* Effect.promise(() => model.invoke(prompt(hello.prompt)))
      assert.strictEqual(answer.text, hello.content)
      assert.deepInclude(answer.usage_metadata as unknown as object, {
        input_tokens: 11,
        output_tokens: 5,
        total_tokens: 16
      })
      assert.strictEqual(answer.response_metadata["finish_reason"], "stop")
      const record = yield* generation(key, generationId())
      assert.include(record.usage, { prompt_tokens: 11, completion_tokens: 5 })
      assert.closeTo(record.cost.billed_usd, (11 * pricing.prompt + 5 * pricing.completion) / 1e6, 1e-9)
    })
  )

  it.effect("chat: gives instructions to gpt-5 and o3-mini, as a developer", () =>
    Effect.gen(function* () {
      for (const name of ["openai/gpt-5", "gpt-5", "o3-mini"]) {
        const { model } = yield* client({ model: { model: name } })
        const answer = yield* Effect.promise(() =>
          model.invoke([
            ["system", "Be brief."],
            ["human", prompt(hello.prompt)]
          ])
        )
        assert.strictEqual(answer.text, hello.content)
      }
    })
  )

  it.effect("streams: the usage at the end is the generation's", () =>
    Effect.gen(function* () {
      const { generation, generationId, key, model } = yield* client()
      const whole = yield* Effect.promise(() => gather(model, prompt(hello.prompt)))
      assert.strictEqual(whole.text, hello.content)
      assert.deepInclude(whole.usage_metadata as unknown as object, { input_tokens: 11, output_tokens: 5 })
      const record = yield* generation(key, generationId())
      assert.include(record.usage, { prompt_tokens: 11, completion_tokens: 5 })
      assert.isTrue(record.streamed)
    })
  )

  it.effect("tools: keeps parallel calls exact, whole and streamed", () =>
    Effect.gen(function* () {
      const { lastBody, model } = yield* client()
      const armed = model.bindTools(tools)
      const question = prompt(parallelCalls.prompt)
      const whole = yield* Effect.promise(() => armed.invoke(question))
      const plain = (calls: ReadonlyArray<{ id?: string | undefined; name: string; args: unknown }> | undefined) =>
        calls?.map(({ args, id, name }) => ({ id, name, args }))
      assert.deepStrictEqual(plain(whole.tool_calls) as unknown, parsedCalls)
      assert.deepStrictEqual((yield* lastBody)["tools"], tools)
      const streamed = yield* Effect.promise(() => gather(armed, question))
      assert.deepStrictEqual(plain(streamed.tool_calls) as unknown, parsedCalls)
    })
  )

  it.effect("structured output: brings the schema, and pictures, to the provider as they are", () =>
    Effect.gen(function* () {
      const { lastBody, model } = yield* client()
      const person = model.withStructuredOutput(structured.schema, {
        name: "person",
        method: "jsonSchema",
        strict: true
      })
      const parsed = yield* Effect.promise(() => person.invoke(prompt(structured.prompt)))
      assert.deepStrictEqual(parsed as unknown, { name: "Ada Lovelace", born: 1815 })
      assert.deepStrictEqual((yield* lastBody)["response_format"], {
        type: "json_schema",
        json_schema: { name: "person", strict: true, schema: structured.schema }
      })

      const content = [
        { type: "text", text: prompt(picture.prompt) },
        { type: "image_url", image_url: { url: picture.url } }
      ]
      const seen = yield* Effect.promise(() => model.invoke([{ role: "user", content }]))
      assert.strictEqual(seen.text, picture.content)
      assert.deepStrictEqual((yield* lastBody)["messages"], [{ role: "user", content }])
    })
  )

  it.effect("embeddings: one and many", () =>
    Effect.gen(function* () {
      const { embeddings } = yield* client()
      const many = yield* Effect.promise(() => embeddings.embedDocuments([prompt("embed one"), prompt("embed two")]))
      assert.deepStrictEqual(many, [vector, vector])
      assert.deepStrictEqual(yield* Effect.promise(() => embeddings.embedQuery(prompt("embed three"))), vector)
    })
  )

  it.effect("errors: come with the status and our message", () =>
    Effect.gen(function* () {
      const ask = (model: ChatOpenAI) => () => model.invoke(prompt(hello.prompt))
      const stranger = yield* client({ model: { apiKey: "tg-0123456789abcdef-nobody" } })
      const unknownKey = yield* apiError(ask(stranger.model))
      assert.strictEqual(unknownKey.status, 401)
      assert.include(unknownKey.message, "No valid API key was sent")

      const lost = yield* client({ model: { model: "test/none" } })
      const unknownModel = yield* apiError(ask(lost.model))
      assert.strictEqual(unknownModel.status, 404)
      assert.include(unknownModel.message, "The model 'test/none' does not exist")

      const hot = yield* client({ model: { temperature: 9 } })
      const invalid = yield* apiError(ask(hot.model))
      assert.strictEqual(invalid.status, 422)
      assert.include(invalid.message, "body.temperature")

      const poor = yield* client({ key: { monthly_budget_usd: 0.00001 }, model: { maxRetries: 3 } })
      const spent = yield* apiError(ask(poor.model))
      assert.strictEqual(spent.status, 402)
      assert.include(spent.message, "monthly budget of $0.00001")
      assert.lengthOf(poor.exchanges, 1)

      const hasty = yield* client({ key: { tier: "free" } })
      yield* hasty.exhaust(hasty.key)
      const limited = yield* apiError(ask(hasty.model))
      assert.strictEqual(limited.status, 429)
      assert.include(limited.message, "The limit of 30 requests per minute is reached")
    })
  )
})

type Chunk = Awaited<ReturnType<ChatOpenAI["invoke"]>>

/** A stream's chunks, assembled by the library. */
const gather = async (model: Pick<ChatOpenAI, "stream">, question: string): Promise<Chunk> => {
  let whole: Chunk | undefined
  for await (const chunk of await model.stream(question)) whole = whole?.concat(chunk) ?? chunk
  if (whole === undefined) throw new Error("the stream had no chunk")
  return whole
}
