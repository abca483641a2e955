/** The tests of the AI SDK against the gateway, the same for each of its providers. */
import { assert, type Vitest } from "@effect/vitest"
import {
  APICallError,
  generateText,
  jsonSchema,
  type JSONSchema7,
  type LanguageModel,
  type ModelMessage,
  Output,
  streamText,
  tool,
  type ToolSet
} from "ai"
import { Effect } from "effect"
import { assertRetryAfter, Clients, pricing, prompt, recordingFetch, rejection } from "./Clients.ts"
import { hello, parallelCalls, picture, structured, weatherTool } from "./fixtures.ts"

const user = (content: string): ModelMessage => ({ role: "user", content: prompt(content) })
const weather = {
  description: weatherTool.description,
  inputSchema: jsonSchema<{ place: string }>(weatherTool.parameters as JSONSchema7)
}
/** The library's types conflict with `exactOptionalPropertyTypes`. */
const named = (weather: unknown) => ({ [weatherTool.name]: weather }) as ToolSet
const tools = named(tool(weather))
/** The library parses the arguments. */
const parsedCalls = parallelCalls.calls.map(({ arguments: args, id, name }) => ({
  id,
  name,
  input: JSON.parse(args) as unknown
}))

/** A provider of the AI SDK for the gateway: the model of a name. */
export type MakeProvider = (options: {
  readonly baseURL: string
  readonly apiKey: string
  readonly fetch: typeof fetch
}) => (model: string) => LanguageModel

const clientOf = (make: MakeProvider) =>
  Effect.fnUntraced(function* (body?: Readonly<Record<string, unknown>>) {
    const clients = yield* Clients
    const key = yield* clients.key(body)
    const { exchanges, fetch } = recordingFetch()
    const provider = make({ baseURL: clients.baseUrl, apiKey: key, fetch })
    const generationId = () => exchanges.at(-1)?.headers.get("x-generation-id") ?? ""
    return { ...clients, key, provider, model: provider("test/chat"), exchanges, generationId }
  })

const apiError = Effect.fnUntraced(function* (call: () => PromiseLike<unknown>) {
  const error = yield* rejection(call)
  assert.isTrue(APICallError.isInstance(error), String(error))
  return error as APICallError
})

export const aiTests = (it: Vitest.MethodsNonLive<Clients>, make: MakeProvider): void => {
  const client = clientOf(make)

  it.effect("chat: answers, and reads the generation back by its header", () =>
    Effect.gen(function* () {
      const { generation, generationId, key, model } = yield* client()
      const { finishReason, text, usage } = yield* Effect.promise(() =>
        generateText({ model, messages: [user(hello.prompt)] })
      )
      assert.deepStrictEqual([text, finishReason], [hello.content, "stop"])
      assert.include(usage, { inputTokens: 11, outputTokens: 5, totalTokens: 16 })
      const record = yield* generation(key, generationId())
      assert.include(record.usage, { prompt_tokens: 11, completion_tokens: 5 })
      assert.closeTo(record.cost.billed_usd, (11 * pricing.prompt + 5 * pricing.completion) / 1e6, 1e-9)
    })
  )

  it.effect("streams: the usage at the end is the generation's", () =>
    Effect.gen(function* () {
      const { generation, generationId, key, model } = yield* client()
      const streamed = yield* Effect.promise(async () => {
        const result = streamText({ model, messages: [user(hello.prompt)] })
        const pieces: Array<string> = []
        for await (const piece of result.textStream) pieces.push(piece)
        return { pieces, usage: await result.usage, finishReason: await result.finishReason }
      })
      assert.strictEqual(streamed.pieces.join(""), hello.content)
      assert.strictEqual(streamed.finishReason, "stop")
      assert.include(streamed.usage, { inputTokens: 11, outputTokens: 5 })
      const record = yield* generation(key, generationId())
      assert.include(record.usage, { prompt_tokens: 11, completion_tokens: 5 })
      assert.isTrue(record.streamed)
    })
  )

  it.effect("tools: keeps parallel calls exact, whole and streamed", () =>
    Effect.gen(function* () {
      const { lastBody, model } = yield* client()
      const messages = [user(parallelCalls.prompt)]
      const whole = yield* Effect.promise(() => generateText({ model, messages, tools }))
      assert.strictEqual(whole.finishReason, "tool-calls")
      assert.deepStrictEqual(
        whole.toolCalls.map(({ input, toolCallId, toolName }) => ({ id: toolCallId, name: toolName, input })),
        parsedCalls
      )
      const [sent] = (yield* lastBody)["tools"] as ReadonlyArray<{ readonly function: { readonly name: string } }>
      assert.strictEqual(sent?.function.name, weatherTool.name)

      const streamed = yield* Effect.promise(async () => {
        const result = streamText({ model, messages, tools })
        return { calls: await result.toolCalls, finishReason: await result.finishReason }
      })
      assert.strictEqual(streamed.finishReason, "tool-calls")
      assert.deepStrictEqual(
        streamed.calls.map(({ input, toolCallId, toolName }) => ({ id: toolCallId, name: toolName, input })),
        parsedCalls
      )
    })
  )

  it.effect("tools: runs a loop to its end", () =>
    Effect.gen(function* () {
      const { lastBody, model } = yield* client()
      const working = named(tool({ ...weather, execute: async () => "sunny" }))
      const { text } = yield* Effect.promise(() =>
        generateText({
          model,
          messages: [user(parallelCalls.prompt)],
          tools: working,
          stopWhen: ({ steps }) => steps.length === 2
        })
      )
      assert.strictEqual(text, parallelCalls.after)
      const told = (yield* lastBody)["messages"] as ReadonlyArray<Readonly<Record<string, unknown>>>
      assert.deepStrictEqual(
        told.flatMap(({ role, tool_call_id: id }) => (role === "tool" ? [id] : [])),
        parallelCalls.calls.map(({ id }) => id)
      )
    })
  )

  it.effect("structured output: brings the schema, and pictures, to the provider as they are", () =>
    Effect.gen(function* () {
      const { lastBody, model } = yield* client()
      const { output } = yield* Effect.promise(() =>
        generateText({
          model,
          messages: [user(structured.prompt)],
          output: Output.object({ schema: jsonSchema<{ name: string; born: number }>(structured.schema as object) })
        })
      )
      assert.deepStrictEqual(output, { name: "Ada Lovelace", born: 1815 })
      const format = (yield* lastBody)["response_format"] as {
        readonly type: string
        readonly json_schema: { readonly schema: object }
      }
      assert.strictEqual(format.type, "json_schema")
      assert.deepStrictEqual(format.json_schema.schema, structured.schema)

      const { text } = yield* Effect.promise(() =>
        generateText({
          model,
          messages: [
            {
              role: "user",
              content: [
                { type: "text", text: prompt(picture.prompt) },
                { type: "file", data: picture.url, mediaType: "image/png" }
              ]
            }
          ]
        })
      )
      assert.strictEqual(text, picture.content)
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

  it.effect("errors: come as the library's own, with our message, and retries none that cannot be helped", () =>
    Effect.gen(function* () {
      const { baseUrl, exchanges, model, provider } = yield* client()
      const messages = [user(hello.prompt)]
      const stranger = make({ baseURL: baseUrl, apiKey: "tg-0123456789abcdef-nobody", fetch })

      const unknownKey = yield* apiError(() => generateText({ model: stranger("test/chat"), messages }))
      assert.deepInclude(unknownKey, { statusCode: 401, isRetryable: false })
      assert.include(unknownKey.message, "No valid API key was sent")

      const unknownModel = yield* apiError(() => generateText({ model: provider("test/none"), messages }))
      assert.deepInclude(unknownModel, { statusCode: 404, isRetryable: false })
      assert.include(unknownModel.message, "The model 'test/none' does not exist")

      const invalid = yield* apiError(() => generateText({ model, messages, temperature: 9 }))
      assert.deepInclude(invalid, { statusCode: 422, isRetryable: false })
      assert.include(invalid.message, "body.temperature")
      assert.lengthOf(exchanges, 2)

      const poor = yield* client({ monthly_budget_usd: 0.00001 })
      const spent = yield* apiError(() => generateText({ model: poor.model, messages }))
      assert.deepInclude(spent, { statusCode: 402, isRetryable: false })
      assert.include(spent.message, "monthly budget of $0.00001")
      assert.lengthOf(poor.exchanges, 1)
    })
  )

  it.effect("errors: waits as long as Retry-After says when it is over its rate", () =>
    Effect.gen(function* () {
      const { exchanges, exhaust, key, model } = yield* client({ tier: "free" })
      yield* exhaust(key)
      const { text } = yield* Effect.promise(() =>
        generateText({ model, messages: [user(hello.prompt)], maxRetries: 1 })
      )
      assert.strictEqual(text, hello.content)
      assertRetryAfter(exchanges)
    })
  )
}
