/**
 * The tests of the AI SDK against a gateway with a provider of each dialect, the same for each of
 * the SDK's providers that speak an API other than chat completions.
 */
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
import { type MakeProvider } from "./aiSdk.ts"
import { assertRetryAfter, exhausted, prompt, recordingFetch, rejection } from "./Clients.ts"
import { answerOf, Deployment, dialects, everywhere, modelOf } from "./Deployment.ts"
import { broken, hello, parallelCalls, picture, structured, thinking, weatherTool } from "./fixtures.ts"

/** The library prints a warning for every model name that it does not know. */
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })

const user = (content: string): ModelMessage => ({ role: "user", content: prompt(content) })
const weather = {
  description: weatherTool.description,
  inputSchema: jsonSchema<{ place: string }>(weatherTool.parameters as JSONSchema7)
}
/** The library's types conflict with `exactOptionalPropertyTypes`. */
const named = (weather: unknown) => ({ [weatherTool.name]: weather }) as ToolSet
const inputs = parallelCalls.calls.map(({ arguments: text }) => JSON.parse(text) as { readonly place: string })
const person = Output.object({ schema: jsonSchema<{ name: string; born: number }>(structured.schema as object) })

export interface Options {
  /** The status of a request that is not valid. */
  readonly invalidStatus: number
  /** The status when the budget has no room. */
  readonly spentStatus: number
  /** What makes a model of the SDK's provider think, for requests that want to see it. */
  readonly thinking: Parameters<typeof generateText>[0]["providerOptions"]
}

export const aiDialectTests = (it: Vitest.MethodsNonLive<Deployment>, make: MakeProvider, options: Options): void => {
  const client = Effect.fnUntraced(function* (body?: Readonly<Record<string, unknown>>) {
    const deployment = yield* Deployment
    const { key } = body === undefined ? deployment : yield* deployment.gateway.issueKey(body)
    const { exchanges, fetch } = recordingFetch()
    const provider = make({ baseURL: `${deployment.gateway.url}/v1`, apiKey: key, fetch })
    const record = Effect.suspend(() => deployment.generation(exchanges.at(-1)?.headers.get("x-generation-id") ?? ""))
    return { ...deployment, key, provider, exchanges, record }
  })

  const apiError = Effect.fnUntraced(function* (call: () => PromiseLike<unknown>) {
    const error = yield* rejection(call)
    assert.isTrue(APICallError.isInstance(error), String(error))
    return error as APICallError
  })

  it.effect.each(everywhere)("chat: answers, and reads the generation back by its header: %s", (dialect) =>
    Effect.gen(function* () {
      const { provider, record } = yield* client()
      const { finishReason, text, usage } = yield* Effect.promise(() =>
        generateText({ model: provider(modelOf(dialect)), messages: [user(hello.prompt)] })
      )
      assert.deepStrictEqual([text, finishReason], [answerOf(dialect), "stop"])
      const { provider: slug, usage: counted } = yield* record
      assert.strictEqual(slug, dialect === "mock" ? "spare" : dialect)
      assert.include(usage, { inputTokens: counted.prompt_tokens, outputTokens: counted.completion_tokens })
    })
  )

  it.effect.each(everywhere)("streams: the usage at the end is the generation's: %s", (dialect) =>
    Effect.gen(function* () {
      const { provider, record } = yield* client()
      const streamed = yield* Effect.promise(async () => {
        const result = streamText({ model: provider(modelOf(dialect)), messages: [user(hello.prompt)] })
        const pieces: Array<string> = []
        for await (const piece of result.textStream) pieces.push(piece)
        return { pieces, usage: await result.usage, finishReason: await result.finishReason }
      })
      assert.deepStrictEqual([streamed.pieces.join(""), streamed.finishReason], [answerOf(dialect), "stop"])
      const { streamed: wasStreamed, usage } = yield* record
      assert.isTrue(wasStreamed)
      assert.include(streamed.usage, { inputTokens: usage.prompt_tokens, outputTokens: usage.completion_tokens })
    })
  )

  const both = dialects.flatMap((dialect) => [false, true].map((stream) => ({ dialect, stream })))

  /** Runs tools until the model answers with text. */
  const loop = async (model: LanguageModel, messages: Array<ModelMessage>, tools: ToolSet, stream: boolean) => {
    const request = { model, messages, tools, stopWhen: ({ steps }: { steps: Array<unknown> }) => steps.length === 3 }
    if (!stream) return generateText(request)
    const result = streamText(request)
    return { text: await result.text, steps: await result.steps }
  }

  it.effect.each(both)("tools: runs parallel calls to the end: $dialect (stream: $stream)", ({ dialect, stream }) =>
    Effect.gen(function* () {
      const { provider } = yield* client()
      const places: Array<string> = []
      const execute = async ({ place }: { readonly place: string }) => {
        places.push(place)
        return "sunny"
      }
      const tools = named(tool({ ...weather, execute }))
      const model = provider(modelOf(dialect))
      const { steps, text } = yield* Effect.promise(() => loop(model, [user(parallelCalls.prompt)], tools, stream))
      assert.strictEqual(text, parallelCalls.after)
      assert.deepStrictEqual(
        steps.map(({ finishReason }) => finishReason),
        ["tool-calls", "stop"]
      )
      assert.deepStrictEqual(
        steps[0]?.toolCalls.map(({ input, toolName }) => ({ name: toolName, input: input as unknown })),
        inputs.map((input) => ({ name: weatherTool.name, input }))
      )
      assert.deepStrictEqual(
        places,
        inputs.map(({ place }) => place)
      )
    })
  )

  it.effect.each(both)("structured output: is parsed: $dialect (stream: $stream)", ({ dialect, stream }) =>
    Effect.gen(function* () {
      const { provider } = yield* client()
      const request = { model: provider(modelOf(dialect)), messages: [user(structured.prompt)], output: person }
      const output = yield* Effect.promise(async () =>
        stream ? await streamText(request).output : (await generateText(request)).output
      )
      assert.deepStrictEqual(output, JSON.parse(structured.content))
    })
  )

  it.effect.each(both)(
    "reasoning: comes before the text, and is sent back: $dialect (stream: $stream)",
    ({ dialect, stream }) =>
      Effect.gen(function* () {
        const { provider } = yield* client()
        const request = { model: provider(modelOf(dialect)), providerOptions: options.thinking ?? {} }
        const first = yield* Effect.promise(async () => {
          const asked = { ...request, messages: [user(thinking.prompt)] }
          if (!stream) return generateText(asked)
          const result = streamText(asked)
          return {
            text: await result.text,
            reasoningText: await result.reasoningText,
            response: await result.response
          }
        })
        assert.deepStrictEqual([first.reasoningText, first.text], [thinking.thought, thinking.content])
        const messages = [user(thinking.prompt), ...first.response.messages, user(hello.prompt)]
        const { text } = yield* Effect.promise(() => generateText({ ...request, messages }))
        assert.strictEqual(text, hello.content)
      })
  )

  it.effect.each(dialects)("chat: shows a picture: %s", (dialect) =>
    Effect.gen(function* () {
      const { aimock, provider } = yield* client()
      const sentBytes = (...more: ReadonlyArray<{ type: "file"; data: string; mediaType: string }>) =>
        Effect.gen(function* () {
          const content = [{ type: "text" as const, text: prompt(picture.prompt) }, ...more]
          const { text } = yield* Effect.promise(() =>
            generateText({ model: provider(modelOf(dialect)), messages: [{ role: "user", content }] })
          )
          assert.strictEqual(text, picture.content)
          return Number((yield* aimock.journal).at(-1)?.headers["content-length"])
        })
      const image = { type: "file" as const, data: picture.url, mediaType: "image/png" }
      const difference = (yield* sentBytes(image)) - (yield* sentBytes())
      const [, data = ""] = picture.url.split(",")
      assert.isAtLeast(difference, data.length)
      assert.isBelow(difference, data.length + 150)
    })
  )

  it.effect("errors: come as the library's own, with our message, and retries none that cannot be helped", () =>
    Effect.gen(function* () {
      const { exchanges, gateway, provider } = yield* client()
      const messages = [user(hello.prompt)]
      const model = provider(modelOf("openai"))
      const stranger = make({ baseURL: `${gateway.url}/v1`, apiKey: "tg-0123456789abcdef-nobody", fetch })

      const unknownKey = yield* apiError(() => generateText({ model: stranger(modelOf("openai")), messages }))
      assert.deepInclude(unknownKey, { statusCode: 401, isRetryable: false })
      assert.include(unknownKey.message, "No valid API key was sent")

      const unknownModel = yield* apiError(() => generateText({ model: provider("test/none"), messages }))
      assert.deepInclude(unknownModel, { statusCode: 404, isRetryable: false })
      assert.include(unknownModel.message, "The model 'test/none' does not exist")

      const invalid = yield* apiError(() => generateText({ model, messages, topP: 9 }))
      assert.deepInclude(invalid, { statusCode: options.invalidStatus, isRetryable: false })
      assert.include(invalid.message, "top_p")
      assert.lengthOf(exchanges, 2)

      const poor = yield* client({ monthly_budget_usd: 0.00001 })
      const poorModel = poor.provider(modelOf("openai"))
      const spent = yield* apiError(() => generateText({ model: poorModel, messages, maxRetries: 0 }))
      assert.strictEqual(spent.statusCode, options.spentStatus)
      assert.include(spent.message, "monthly budget of $0.00001")
    })
  )

  it.effect.each(dialects)("errors: of the provider: %s", (dialect) =>
    Effect.gen(function* () {
      const { provider } = yield* client()
      const request = { model: provider(modelOf(dialect)), messages: [user(broken.prompt)], maxRetries: 0 }
      const failed = yield* apiError(() => generateText(request))
      assert.deepInclude(failed, { statusCode: 502, isRetryable: true })
      assert.include(failed.message, "No provider answered")
    })
  )

  it.effect("errors: waits as long as Retry-After says when it is over its rate", () =>
    Effect.gen(function* () {
      const { exchanges, gateway, key, provider } = yield* client({ tier: "free" })
      yield* exhausted(gateway, key, "mock/echo")
      const { text } = yield* Effect.promise(() =>
        generateText({ model: provider(modelOf("openai")), messages: [user(hello.prompt)], maxRetries: 1 })
      )
      assert.strictEqual(text, hello.content)
      assertRetryAfter(exchanges)
    })
  )
}
