/**
 * The tests of LangChain's chat models against a gateway with a provider of each dialect, the same
 * for each of its models that speak an API other than chat completions.
 */
import { assert, type Vitest } from "@effect/vitest"
import { type BaseChatModel } from "@langchain/core/language_models/chat_models"
import { AIMessage, type AIMessageChunk, HumanMessage, ToolMessage, type UsageMetadata } from "@langchain/core/messages"
import { Effect } from "effect"
import { exhausted, prompt, recordingFetch, rejection } from "./Clients.ts"
import { answerOf, Deployment, dialects, everywhere, modelOf } from "./Deployment.ts"
import { hello, parallelCalls, picture, structured, thinking, weatherTool } from "./fixtures.ts"

/** A chat model of LangChain for the gateway. */
export type MakeModel = (options: {
  readonly model: string
  /** With `/v1`. */
  readonly baseUrl: string
  readonly apiKey: string
  readonly fetch: typeof fetch
  readonly maxRetries: number
  /** Whether the request asks for the model's thoughts. */
  readonly thinks: boolean
  readonly maxTokens: number
}) => BaseChatModel

export interface Options {
  /** The status of a request that is not valid. */
  readonly invalidStatus: number
  /** The status when the budget has no room. */
  readonly spentStatus: number
  /**
   * It takes the prompt's tokens from a stream's first event, where the provider's are not known
   * yet.
   */
  readonly readsFirstUsage: boolean
}

const tools = [{ type: "function" as const, function: weatherTool }]
const inputs = parallelCalls.calls.map(({ arguments: text }) => JSON.parse(text) as unknown)
const human = (text: string) => new HumanMessage(prompt(text))

/** A stream's chunks, assembled by the library. */
const gather = async (chunks: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> => {
  let whole: AIMessageChunk | undefined
  for await (const chunk of chunks) whole = whole?.concat(chunk) ?? chunk
  if (whole === undefined) throw new Error("the stream had no chunk")
  return whole
}

export const langchainDialectTests = (
  it: Vitest.MethodsNonLive<Deployment>,
  make: MakeModel,
  options: Options
): void => {
  const client = Effect.fnUntraced(function* (
    model: string,
    more: Partial<Parameters<MakeModel>[0]> & { readonly key?: Readonly<Record<string, unknown>> } = {}
  ) {
    const deployment = yield* Deployment
    const { key } = more.key === undefined ? deployment : yield* deployment.gateway.issueKey(more.key)
    const { exchanges, fetch } = recordingFetch()
    const baseUrl = `${deployment.gateway.url}/v1`
    const chat = make({ model, baseUrl, apiKey: key, fetch, maxRetries: 0, thinks: false, maxTokens: 500, ...more })
    const record = Effect.suspend(() => deployment.generation(exchanges.at(-1)?.headers.get("x-generation-id") ?? ""))
    return { ...deployment, key, chat, exchanges, record }
  })

  /** The library's error carries the status. */
  const failed = Effect.fnUntraced(function* (chat: BaseChatModel, status: number, words: string) {
    const error = (yield* rejection(() => chat.invoke([human(hello.prompt)]))) as Error & { readonly status?: number }
    assert.strictEqual(error.status, status, String(error))
    assert.include(error.message, words)
  })

  const forms = everywhere.flatMap((dialect) => [false, true].map((stream) => ({ dialect, stream })))
  const said = (chat: Pick<BaseChatModel, "invoke" | "stream">, messages: Array<HumanMessage>, stream: boolean) =>
    Effect.promise(async () =>
      stream ? gather((await chat.stream(messages)) as never) : ((await chat.invoke(messages)) as AIMessageChunk)
    )

  it.effect.each(everywhere)("chat: answers, and reads the generation back by its header: %s", (dialect) =>
    Effect.gen(function* () {
      const { chat, record } = yield* client(modelOf(dialect))
      const answer = yield* said(chat, [human(hello.prompt)], false)
      assert.strictEqual(answer.text, answerOf(dialect))
      const { provider, usage } = yield* record
      assert.strictEqual(provider, dialect === "mock" ? "spare" : dialect)
      assert.deepInclude(answer.usage_metadata as unknown as object, {
        input_tokens: usage.prompt_tokens,
        output_tokens: usage.completion_tokens
      })
    })
  )

  it.effect.each(everywhere)("streams: come whole, with their usage: %s", (dialect) =>
    Effect.gen(function* () {
      const { chat, record } = yield* client(modelOf(dialect))
      const answer = yield* said(chat, [human(hello.prompt)], true)
      assert.strictEqual(answer.text, answerOf(dialect))
      const { streamed, usage } = yield* record
      assert.isTrue(streamed)
      const used = answer.usage_metadata as UsageMetadata | undefined
      // From a provider of the Messages API the first event's count comes on top, as without a
      // gateway.
      const isAdded = options.readsFirstUsage && dialect === "anthropic"
      if (!isAdded) assert.strictEqual(used?.output_tokens, usage.completion_tokens)
      const prompted = used?.input_tokens ?? 0
      if (options.readsFirstUsage) assert.isAbove(prompted, 0)
      else assert.strictEqual(prompted, usage.prompt_tokens)
    })
  )

  const both = forms.filter(({ dialect }) => dialect !== "mock")

  it.effect.each(both)(
    "tools: keeps parallel calls exact, and takes their results: $dialect (stream: $stream)",
    ({ dialect, stream }) =>
      Effect.gen(function* () {
        const { chat } = yield* client(modelOf(dialect))
        const armed = chat.bindTools?.(tools) ?? assert.fail("no tools")
        const question = human(parallelCalls.prompt)
        const answer = yield* said(armed as never, [question], stream)
        const calls = answer.tool_calls ?? []
        assert.deepStrictEqual(
          calls.map(({ args, name }) => ({ name, args: args as unknown })),
          inputs.map((args) => ({ name: weatherTool.name, args }))
        )
        const results = calls.map(({ id = "" }) => new ToolMessage({ content: "sunny", tool_call_id: id }))
        const after = yield* Effect.promise(() => armed.invoke([question, answer, ...results]))
        assert.strictEqual(after.text, parallelCalls.after)
      })
  )

  it.effect.each(dialects)("structured output: is parsed: %s", (dialect) =>
    Effect.gen(function* () {
      const { chat } = yield* client(modelOf(dialect))
      const person = chat.withStructuredOutput(structured.schema, { name: "person" })
      const parsed = yield* Effect.promise(() => person.invoke([human(structured.prompt)]))
      assert.deepStrictEqual(parsed as unknown, JSON.parse(structured.content))
    })
  )

  it.effect.each(both)(
    "reasoning: comes before the text, and is sent back: $dialect (stream: $stream)",
    ({ dialect, stream }) =>
      Effect.gen(function* () {
        const { chat } = yield* client(modelOf(dialect), { thinks: true, maxTokens: 4_000 })
        const question = human(thinking.prompt)
        const answer = yield* said(chat, [question], stream)
        assert.strictEqual(answer.text, thinking.content)
        const thoughts = answer.contentBlocks.filter(({ type }) => type === "reasoning")
        assert.include(thoughts.map(({ reasoning }) => reasoning).join(""), thinking.thought)
        const again = yield* Effect.promise(() => chat.invoke([question, answer, human(hello.prompt)]))
        assert.strictEqual(again.text, hello.content)
      })
  )

  it.effect.each(dialects)("chat: shows a picture: %s", (dialect) =>
    Effect.gen(function* () {
      const { chat } = yield* client(modelOf(dialect))
      const content = [
        { type: "text", text: prompt(picture.prompt) },
        { type: "image_url", image_url: { url: picture.url } }
      ]
      const seen = yield* Effect.promise(() => chat.invoke([new HumanMessage({ content })]))
      assert.instanceOf(seen, AIMessage)
      assert.strictEqual(seen.text, picture.content)
    })
  )

  it.effect("errors: come with the status and our message", () =>
    Effect.gen(function* () {
      const model = modelOf("openai")
      yield* failed((yield* client(model, { apiKey: "tg-0123456789abcdef-nobody" })).chat, 401, "No valid API key")
      yield* failed((yield* client("test/none")).chat, 404, "The model 'test/none' does not exist")
      yield* failed((yield* client(model, { maxTokens: -5 })).chat, options.invalidStatus, "tokens")
      const poor = yield* client(model, { key: { monthly_budget_usd: 0.00001 }, maxRetries: 3 })
      yield* failed(poor.chat, options.spentStatus, "monthly budget of $0.00001")
      assert.lengthOf(poor.exchanges, 1)
      const hasty = yield* client(model, { key: { tier: "free" } })
      yield* exhausted(hasty.gateway, hasty.key, "mock/echo")
      yield* failed(hasty.chat, 429, "The limit of 30 requests per minute is reached")
    })
  )
}
