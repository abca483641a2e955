/**
 * Anthropic's library against the gateway, in front of a provider of each dialect: what it sends
 * and assembles is the same, whatever the dialect.
 */
import Anthropic, { type ClientOptions } from "@anthropic-ai/sdk"
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema"
import { jsonSchemaOutputFormat } from "@anthropic-ai/sdk/helpers/json-schema"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { assertRetryAfter, exhausted, prompt, recordingFetch, rejection } from "./Clients.ts"
import { answerOf, Deployment, type Dialect, dialects, everywhere, modelOf } from "./Deployment.ts"
import {
  broken,
  hello,
  overflow,
  parallelCalls,
  picture,
  structured,
  thinking,
  thoughtfulCall,
  weatherTool
} from "./fixtures.ts"

type Request = Omit<Anthropic.MessageCreateParamsNonStreaming, "stream">

const asking = (dialect: Dialect | "mock", content: string, more: Partial<Request> = {}): Request => ({
  model: modelOf(dialect),
  max_tokens: 500,
  messages: [{ role: "user", content: prompt(content) }],
  ...more
})
const tools: Anthropic.Tool[] = [
  { name: weatherTool.name, description: weatherTool.description, input_schema: weatherTool.parameters as never }
]
const expectedInputs = parallelCalls.calls.map(({ arguments: text }) => JSON.parse(text) as unknown)

const client = Effect.fnUntraced(function* (
  options: { readonly key?: Readonly<Record<string, unknown>>; readonly more?: ClientOptions } = {}
) {
  const deployment = yield* Deployment
  const { key } = options.key === undefined ? deployment : yield* deployment.gateway.issueKey(options.key)
  const { exchanges, fetch } = recordingFetch()
  const baseURL = deployment.gateway.url
  const anthropic = new Anthropic({ baseURL, apiKey: key, maxRetries: 0, fetch, ...options.more })
  return { ...deployment, key, anthropic, exchanges }
})

const textOf = ({ content }: Anthropic.Message) =>
  content.map((block) => (block.type === "text" ? block.text : assert.fail(block.type))).join("")
const usesOf = ({ content }: Anthropic.Message) =>
  content.map((block) => (block.type === "tool_use" ? block : assert.fail(block.type)))
const tokensOf = ({ usage }: Anthropic.Message) => [usage.input_tokens, usage.output_tokens]

/** An error of the library's class, with the gateway's words. */
const failed = Effect.fnUntraced(function* (
  run: () => PromiseLike<unknown>,
  kind: abstract new (...args: never) => Error,
  words: RegExp
) {
  const error = yield* rejection(run)
  assert.isTrue(error instanceof kind, String(error))
  const failure = error as InstanceType<typeof Anthropic.APIError>
  assert.match(failure.message, words)
  assert.match(failure.requestID ?? "", /^req_/)
  return failure
})

layer(Deployment.layer, { excludeTestServices: true, timeout: 120_000 })("@anthropic-ai/sdk: Messages", (it) => {
  it.effect.each(everywhere)("chat: answers, with the asked name and the usage of the generation: %s", (dialect) =>
    Effect.gen(function* () {
      const { anthropic, generation } = yield* client()
      const { data, request_id, response } = yield* Effect.promise(() =>
        anthropic.messages.create(asking(dialect, hello.prompt)).withResponse()
      )
      assert.deepInclude(data, {
        type: "message",
        role: "assistant",
        model: modelOf(dialect),
        stop_reason: "end_turn",
        stop_sequence: null
      })
      assert.strictEqual(textOf(data), answerOf(dialect))
      assert.match(request_id ?? "", /^req_/)
      const record = yield* generation(response.headers.get("x-generation-id") ?? "")
      assert.strictEqual(record.provider, dialect === "mock" ? "spare" : dialect)
      assert.deepStrictEqual(tokensOf(data), [record.usage.prompt_tokens, record.usage.completion_tokens])
      if (dialect !== "mock") assert.deepStrictEqual(tokensOf(data), [11, 5])
    })
  )

  it.effect.each(everywhere)("chat: counts tokens without a paid call: %s", (dialect) =>
    Effect.gen(function* () {
      const { aimock, anthropic } = yield* client()
      const called = (yield* aimock.journal).length
      const { model, messages } = asking(dialect, hello.prompt)
      const bare = yield* Effect.promise(() => anthropic.messages.countTokens({ model, messages }))
      const armed = yield* Effect.promise(() => anthropic.messages.countTokens({ model, messages, tools }))
      assert.isAbove(bare.input_tokens, 5)
      assert.isBelow(bare.input_tokens, 60)
      assert.isAbove(armed.input_tokens, bare.input_tokens + 10)
      assert.isBelow(armed.input_tokens, 600)
      assert.lengthOf(yield* aimock.journal, called)
    })
  )

  it.effect.each(everywhere)("streams: the helpers assemble the message: %s", (dialect) =>
    Effect.gen(function* () {
      const { anthropic, generation } = yield* client()
      const seen = yield* Effect.promise(async () => {
        const events: Array<string> = []
        const pieces: Array<string> = []
        const blocks: Array<Anthropic.ContentBlock> = []
        const stream = anthropic.messages
          .stream(asking(dialect, hello.prompt))
          .on("streamEvent", ({ type }) => events.push(type))
          .on("text", (piece) => pieces.push(piece))
          .on("contentBlock", (block) => blocks.push(block))
        const { response, request_id: requestId } = await stream.withResponse()
        const message = await stream.finalMessage()
        const id = response.headers.get("x-generation-id") ?? ""
        return { blocks, events, id, message, pieces, requestId, text: await stream.finalText() }
      })
      assert.strictEqual(seen.pieces.join(""), answerOf(dialect))
      assert.deepStrictEqual([textOf(seen.message), seen.text], [answerOf(dialect), answerOf(dialect)])
      assert.lengthOf(seen.blocks, 1)
      assert.deepInclude(seen.message, { model: modelOf(dialect), stop_reason: "end_turn" })
      assert.match(seen.requestId ?? "", /^req_/)
      assert.deepStrictEqual(
        [...new Set(seen.events)],
        [
          "message_start",
          "content_block_start",
          "content_block_delta",
          "content_block_stop",
          "message_delta",
          "message_stop"
        ]
      )
      const record = yield* generation(seen.id)
      assert.isTrue(record.streamed)
      assert.deepStrictEqual(tokensOf(seen.message), [record.usage.prompt_tokens, record.usage.completion_tokens])
    })
  )

  it.effect("streams: can be aborted", () =>
    Effect.gen(function* () {
      const { anthropic } = yield* client()
      const error = yield* rejection(async () => {
        const stream = anthropic.messages.stream(asking("openai", hello.prompt))
        stream.on("text", () => stream.abort())
        await stream.finalMessage()
      })
      assert.instanceOf(error, Anthropic.APIUserAbortError)
    })
  )

  it.effect.each(dialects)("tools: keeps parallel calls exact, whole and streamed, and takes results: %s", (dialect) =>
    Effect.gen(function* () {
      const { anthropic } = yield* client()
      const request = asking(dialect, parallelCalls.prompt, { tools })
      const inputs: Array<unknown> = []
      const whole = yield* Effect.promise(() => anthropic.messages.create(request))
      const streamed = yield* Effect.promise(() =>
        anthropic.messages
          .stream(request)
          .on("inputJson", (_piece, input) => inputs.push(input))
          .finalMessage()
      )
      for (const message of [whole, streamed]) {
        assert.strictEqual(message.stop_reason, "tool_use")
        const uses = usesOf(message)
        assert.deepStrictEqual(
          uses.map(({ input, name }) => ({ name, input })),
          expectedInputs.map((input) => ({ name: weatherTool.name, input }))
        )
        assert.lengthOf(new Set(uses.map(({ id }) => id)), 2)
        const results = uses.map(({ id }) => ({
          type: "tool_result" as const,
          tool_use_id: id,
          content: [{ type: "text" as const, text: "sunny" }]
        }))
        const after = yield* Effect.promise(() =>
          anthropic.messages.create({
            ...request,
            messages: [
              ...request.messages,
              { role: "assistant", content: message.content },
              { role: "user", content: results }
            ]
          })
        )
        assert.deepStrictEqual([textOf(after), after.stop_reason], [parallelCalls.after, "end_turn"])
      }
      assert.deepStrictEqual(inputs.at(-1), expectedInputs.at(-1))
    })
  )

  const loops = dialects.flatMap((dialect) => [false, true].map((stream) => ({ dialect, stream })))
  it.effect.each(loops)("tools: the tool runner works to the end: $dialect (stream: $stream)", ({ dialect, stream }) =>
    Effect.gen(function* () {
      const { anthropic } = yield* client()
      const places: Array<string> = []
      const weather = betaTool({
        name: weatherTool.name,
        description: weatherTool.description,
        inputSchema: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
        run: ({ place }) => {
          places.push(place)
          return "sunny"
        }
      })
      const last = yield* Effect.promise(() => {
        const request = { ...asking(dialect, parallelCalls.prompt), tools: [weather], max_iterations: 4 }
        return stream
          ? anthropic.beta.messages.toolRunner({ ...request, stream } as never).runUntilDone()
          : anthropic.beta.messages.toolRunner(request as never).runUntilDone()
      })
      assert.deepInclude(last.content[0], { type: "text", text: parallelCalls.after })
      assert.deepStrictEqual(
        places,
        expectedInputs.map((input) => (input as { readonly place: string }).place)
      )
    })
  )

  it.effect.each(dialects)("reasoning: comes before the text, whole and streamed, and is sent back: %s", (dialect) =>
    Effect.gen(function* () {
      const { anthropic } = yield* client()
      const request = asking(dialect, thinking.prompt, {
        max_tokens: 4_000,
        thinking: { type: "enabled", budget_tokens: 1_024 }
      })
      const pieces: Array<string> = []
      const signatures: Array<string> = []
      const whole = yield* Effect.promise(() => anthropic.messages.create(request))
      const streamed = yield* Effect.promise(() =>
        anthropic.messages
          .stream(request)
          .on("thinking", (piece) => pieces.push(piece))
          .on("signature", (signature) => signatures.push(signature))
          .finalMessage()
      )
      assert.strictEqual(pieces.join(""), thinking.thought)
      for (const { content } of [whole, streamed]) {
        // OpenAI's Responses API adds an encrypted item.
        const shown = content.filter(({ type }) => type !== "redacted_thinking")
        assert.deepStrictEqual(
          shown.map((block) => (block.type === "thinking" ? block.thinking : block.type === "text" ? block.text : "")),
          [thinking.thought, thinking.content]
        )
        assert.strictEqual(shown[0]?.type, "thinking")
        const again = yield* Effect.promise(() =>
          anthropic.messages.create({
            ...request,
            messages: [
              ...request.messages,
              { role: "assistant", content },
              { role: "user", content: prompt(hello.prompt) }
            ]
          })
        )
        assert.strictEqual(textOf(again), hello.content)
      }
      const [thought] = streamed.content
      assert.strictEqual(signatures.join(""), thought?.type === "thinking" ? thought.signature : "none")
    })
  )

  it.effect.each(loops)(
    "reasoning: leads a call, and goes back with its result: $dialect (stream: $stream)",
    ({ dialect, stream }) =>
      Effect.gen(function* () {
        const { anthropic } = yield* client()
        const request = asking(dialect, thoughtfulCall.prompt, {
          max_tokens: 4_000,
          thinking: { type: "enabled", budget_tokens: 1_024 },
          tools
        })
        const ask = (more: Partial<Request>) =>
          Effect.promise(() =>
            stream
              ? anthropic.messages.stream({ ...request, ...more }).finalMessage()
              : anthropic.messages.create({ ...request, ...more })
          )
        const { content } = yield* ask({})
        const [thought] = content
        const use = content.at(-1)
        assert.deepInclude(thought, { type: "thinking", thinking: thoughtfulCall.thought })
        if (thought?.type !== "thinking" || use?.type !== "tool_use") return assert.fail("no call")
        if (dialect === "anthropic") assert.isNotEmpty(thought.signature)
        const after = yield* ask({
          messages: [
            ...request.messages,
            { role: "assistant", content },
            { role: "user", content: [{ type: "tool_result", tool_use_id: use.id, content: "sunny" }] }
          ]
        })
        assert.strictEqual(textOf(after), thoughtfulCall.after)
      })
  )

  it.effect.each(dialects)("structured output: is parsed: %s", (dialect) =>
    Effect.gen(function* () {
      const { anthropic } = yield* client()
      const output_config = { format: jsonSchemaOutputFormat(structured.schema as never) }
      const request = asking(dialect, structured.prompt, { output_config } as never)
      const whole = yield* Effect.promise(() => anthropic.messages.parse(request))
      assert.deepStrictEqual(whole.parsed_output as unknown, JSON.parse(structured.content))
      const streamed = yield* Effect.promise(() => anthropic.messages.stream(request).finalMessage())
      assert.deepStrictEqual(JSON.parse(textOf(streamed)), JSON.parse(structured.content))
    })
  )

  it.effect.each(dialects)("chat: shows a picture: %s", (dialect) =>
    Effect.gen(function* () {
      const { aimock, anthropic } = yield* client()
      const [, data = ""] = picture.url.split(",")
      const image = {
        type: "image" as const,
        source: { type: "base64" as const, media_type: "image/png" as const, data }
      }
      const text = { type: "text" as const, text: prompt(picture.prompt) }
      const sentBytes = (content: Anthropic.ContentBlockParam[]) =>
        Effect.gen(function* () {
          const request = asking(dialect, "", { messages: [{ role: "user", content }] })
          const message = yield* Effect.promise(() => anthropic.messages.create(request))
          assert.strictEqual(textOf(message), picture.content)
          return Number((yield* aimock.journal).at(-1)?.headers["content-length"])
        })
      const difference = (yield* sentBytes([text, image])) - (yield* sentBytes([text]))
      assert.isAtLeast(difference, data.length)
      assert.isBelow(difference, data.length + 150)
    })
  )

  it.effect("models: are listed page by page, and retrieved", () =>
    Effect.gen(function* () {
      const { anthropic } = yield* client()
      const ids = yield* Effect.promise(async () => {
        const ids: Array<string> = []
        for await (const { id } of anthropic.models.list({ limit: 1_000 })) ids.push(id)
        return ids
      })
      for (const dialect of everywhere) assert.include(ids, modelOf(dialect))
      const model = yield* Effect.promise(() => anthropic.models.retrieve("anthropic/chat"))
      assert.strictEqual(model.id, "anthropic/chat")
    })
  )

  it.effect("errors: have the library's classes and the gateway's words", () =>
    Effect.gen(function* () {
      const { anthropic, exchanges } = yield* client({ more: { maxRetries: 2 } })
      const request = asking("openai", hello.prompt)
      const stranger = yield* client({ more: { apiKey: "tg-0123456789abcdef-nobody" } })
      yield* failed(
        () => stranger.anthropic.messages.create(request),
        Anthropic.AuthenticationError,
        /No valid API key was sent/
      )
      yield* failed(
        () => anthropic.messages.create({ ...request, model: "test/none" }),
        Anthropic.NotFoundError,
        /The model 'test\/none' does not exist/
      )
      yield* failed(
        () => anthropic.messages.create({ ...request, max_tokens: -1 }),
        Anthropic.BadRequestError,
        /max_tokens/
      )
      yield* failed(() => anthropic.messages.batches.list(), Anthropic.NotFoundError, /batches/)
      yield* failed(
        () => anthropic.messages.batches.create({ requests: [{ custom_id: "one", params: request }] }),
        Anthropic.NotFoundError,
        /batches/
      )
      const search = { type: "web_search_20250305" as const, name: "web_search" as const }
      yield* failed(
        () => anthropic.messages.create({ ...request, tools: [search] }),
        Anthropic.BadRequestError,
        /web_search_20250305/
      )
      // Each was sent once: a repetition would not help.
      assert.lengthOf(exchanges, 5)

      const poor = yield* client({ key: { monthly_budget_usd: 0.00001 }, more: { maxRetries: 2 } })
      const spent = yield* failed(() => poor.anthropic.messages.create(request), Anthropic.APIError, /monthly budget/)
      assert.deepStrictEqual([spent.status, spent.type as string], [402, "billing_error"])
      const streamed = () => poor.anthropic.messages.stream(request).finalMessage()
      yield* failed(streamed, Anthropic.APIError, /monthly budget/)
      assert.lengthOf(poor.exchanges, 2)
    })
  )

  it.effect.each(dialects)("errors: of the provider, and the words by which a client compacts: %s", (dialect) =>
    Effect.gen(function* () {
      const { anthropic } = yield* client()
      yield* failed(
        () => anthropic.messages.create(asking(dialect, overflow.prompt)),
        Anthropic.BadRequestError,
        /prompt is too long/
      )
      yield* failed(
        () => anthropic.messages.stream(asking(dialect, overflow.prompt)).finalMessage(),
        Anthropic.BadRequestError,
        /prompt is too long/
      )
      yield* failed(
        () => anthropic.messages.create(asking(dialect, broken.prompt)),
        Anthropic.InternalServerError,
        /provider/
      )
    })
  )

  it.effect("errors: waits as long as Retry-After says when it is over its rate", () =>
    Effect.gen(function* () {
      const { anthropic, exchanges, gateway, key } = yield* client({ key: { tier: "free" }, more: { maxRetries: 1 } })
      yield* exhausted(gateway, key, "mock/echo")
      const message = yield* Effect.promise(() => anthropic.messages.create(asking("openai", hello.prompt)))
      assert.strictEqual(textOf(message), hello.content)
      assertRetryAfter(exchanges)
    })
  )
})
