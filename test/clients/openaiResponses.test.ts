/**
 * OpenAI's library on the Responses API, in front of a provider of each dialect: what it sends,
 * assembles and parses is the same, whatever the dialect.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import OpenAI, { type ClientOptions } from "openai"
import { ResponsesToolRunner } from "openai/helpers/responses-tool-runner"
import { assertRetryAfter, exhausted, prompt, recordingFetch, rejection } from "./Clients.ts"
import { answerOf, Deployment, type Dialect, dialects, everywhere, modelOf } from "./Deployment.ts"
import { broken, hello, overflow, parallelCalls, picture, structured, thinking, weatherTool } from "./fixtures.ts"

type Request = OpenAI.Responses.ResponseCreateParamsNonStreaming
type Item = OpenAI.Responses.ResponseOutputItem

const asking = (dialect: Dialect | "mock", content: string, more: Partial<Request> = {}): Request => ({
  model: modelOf(dialect),
  input: prompt(content),
  ...more
})
const tools: Array<OpenAI.Responses.FunctionTool> = [{ type: "function", strict: false, ...weatherTool }]
const inputs = parallelCalls.calls.map(({ arguments: text }) => JSON.parse(text) as { readonly place: string })
const text = { format: { type: "json_schema" as const, name: "person", strict: true, schema: structured.schema } }

const client = Effect.fnUntraced(function* (
  options: { readonly key?: Readonly<Record<string, unknown>>; readonly more?: ClientOptions } = {}
) {
  const deployment = yield* Deployment
  const { key } = options.key === undefined ? deployment : yield* deployment.gateway.issueKey(options.key)
  const { exchanges, fetch } = recordingFetch()
  const baseURL = `${deployment.gateway.url}/v1`
  const openai = new OpenAI({ baseURL, apiKey: key, maxRetries: 0, fetch, ...options.more })
  return { ...deployment, key, openai, exchanges }
})

const tokensOf = ({ usage }: OpenAI.Responses.Response) => [usage?.input_tokens, usage?.output_tokens]
const callsIn = (output: ReadonlyArray<Item>) => output.filter((item) => item.type === "function_call")
const thoughtsIn = (output: ReadonlyArray<Item>) =>
  output.filter((item) => item.type === "reasoning").flatMap(({ summary }) => summary.map(({ text }) => text))

/** An error of the library's class, with the gateway's words. */
const failed = Effect.fnUntraced(function* (
  run: () => PromiseLike<unknown>,
  kind: abstract new (...args: never) => Error,
  words: RegExp
) {
  const error = yield* rejection(run)
  assert.isTrue(error instanceof kind, String(error))
  const failure = error as InstanceType<typeof OpenAI.APIError>
  assert.match(failure.message, words)
  return failure
})

layer(Deployment.layer, { excludeTestServices: true, timeout: 120_000 })("openai: Responses", (it) => {
  it.effect.each(everywhere)("chat: answers, with the usage of the generation: %s", (dialect) =>
    Effect.gen(function* () {
      const { generation, openai } = yield* client()
      const { data, response } = yield* Effect.promise(() =>
        openai.responses.create(asking(dialect, hello.prompt, { instructions: "Be brief." })).withResponse()
      )
      assert.deepInclude(data, { object: "response", status: "completed", error: null, incomplete_details: null })
      assert.strictEqual(data.output_text, answerOf(dialect))
      const record = yield* generation(response.headers.get("x-generation-id") ?? "")
      assert.strictEqual(record.provider, dialect === "mock" ? "spare" : dialect)
      assert.deepStrictEqual(tokensOf(data), [record.usage.prompt_tokens, record.usage.completion_tokens])
      if (dialect !== "mock") assert.deepStrictEqual(tokensOf(data), [11, 5])
    })
  )

  it.effect.each(everywhere)("streams: the helper assembles the response: %s", (dialect) =>
    Effect.gen(function* () {
      const { openai } = yield* client()
      const seen = yield* Effect.promise(async () => {
        const events: Array<string> = []
        const numbers: Array<number> = []
        const pieces: Array<string> = []
        const { stream: _, ...request } = asking(dialect, hello.prompt)
        const stream = openai.responses
          .stream(request)
          .on("event", (event) => {
            events.push(event.type)
            numbers.push(event.sequence_number)
          })
          .on("response.output_text.delta", ({ delta }) => pieces.push(delta))
        const response = await stream.finalResponse()
        return { events, numbers, pieces, response }
      })
      assert.deepStrictEqual([seen.pieces.join(""), seen.response.output_text], [answerOf(dialect), answerOf(dialect)])
      assert.strictEqual(seen.response.status, "completed")
      assert.isAbove(seen.response.usage?.output_tokens ?? 0, 0)
      assert.deepStrictEqual(
        seen.numbers,
        seen.numbers.map((_, at) => at)
      )
      assert.deepStrictEqual(
        [...new Set(seen.events)],
        [
          "response.created",
          "response.in_progress",
          "response.output_item.added",
          "response.content_part.added",
          "response.output_text.delta",
          "response.output_text.done",
          "response.content_part.done",
          "response.output_item.done",
          "response.completed"
        ]
      )
    })
  )

  it.effect.each(dialects)("tools: keeps parallel calls exact, whole and streamed, and takes results: %s", (dialect) =>
    Effect.gen(function* () {
      const { openai } = yield* client()
      const request = asking(dialect, parallelCalls.prompt, { tools })
      const whole = yield* Effect.promise(() => openai.responses.create(request))
      const { stream: _, ...streaming } = request
      const streamed = yield* Effect.promise(() => openai.responses.stream(streaming).finalResponse())
      for (const { output } of [whole, streamed]) {
        const calls = callsIn(output)
        assert.deepStrictEqual(
          calls.map(({ arguments: given, name }) => ({ name, input: JSON.parse(given) as unknown })),
          inputs.map((input) => ({ name: weatherTool.name, input }))
        )
        assert.lengthOf(new Set(calls.map(({ call_id: id }) => id)), 2)
        const results = calls.map(({ call_id }) => ({
          type: "function_call_output" as const,
          call_id,
          output: "sunny"
        }))
        const input = [{ role: "user" as const, content: prompt(parallelCalls.prompt) }, ...calls, ...results]
        const after = yield* Effect.promise(() => openai.responses.create({ ...request, input }))
        assert.strictEqual(after.output_text, parallelCalls.after)
      }
    })
  )

  const both = dialects.flatMap((dialect) => [false, true].map((stream) => ({ dialect, stream })))
  it.effect.each(both)("tools: the tool runner works to the end: $dialect (stream: $stream)", ({ dialect, stream }) =>
    Effect.gen(function* () {
      const { openai } = yield* client()
      const places: Array<unknown> = []
      const [declared] = tools
      const execute = ({ place }: Record<string, unknown>) => {
        places.push(place)
        return "sunny"
      }
      const runner = new ResponsesToolRunner({
        functions: [{ tool: declared ?? assert.fail("no tool"), execute }]
      })
      const last = yield* Effect.promise(() =>
        runner.run(openai, asking(dialect, parallelCalls.prompt), { maxSteps: 4, stream })
      )
      assert.strictEqual(last.output_text, parallelCalls.after)
      assert.deepStrictEqual(
        places,
        inputs.map(({ place }) => place)
      )
    })
  )

  it.effect.each(dialects)("structured output: is parsed, whole and streamed: %s", (dialect) =>
    Effect.gen(function* () {
      const { openai } = yield* client()
      const request = asking(dialect, structured.prompt, { text })
      const whole = yield* Effect.promise(() => openai.responses.parse(request))
      const { stream: _, ...streaming } = request
      const streamed = yield* Effect.promise(() => openai.responses.stream(streaming).finalResponse())
      for (const { output_parsed: parsed } of [whole, streamed]) {
        assert.deepStrictEqual(parsed as unknown, JSON.parse(structured.content))
      }
    })
  )

  it.effect.each(dialects)("reasoning: comes before the text, and is sent back whole: %s", (dialect) =>
    Effect.gen(function* () {
      const { openai } = yield* client()
      const request = asking(dialect, thinking.prompt, {
        reasoning: { effort: "medium", summary: "auto" },
        include: ["reasoning.encrypted_content"],
        store: false
      })
      const whole = yield* Effect.promise(() => openai.responses.create(request))
      const { stream: _, ...streaming } = request
      const pieces: Array<string> = []
      const streamed = yield* Effect.promise(() =>
        openai.responses
          .stream(streaming)
          .on("response.reasoning_summary_text.delta", ({ delta }) => pieces.push(delta))
          .finalResponse()
      )
      assert.strictEqual(pieces.join(""), thinking.thought)
      for (const { output, output_text: said } of [whole, streamed]) {
        assert.deepStrictEqual(
          output.map(({ type }) => type),
          ["reasoning", "message"]
        )
        assert.deepStrictEqual([thoughtsIn(output).join(""), said], [thinking.thought, thinking.content])
        const input = [
          { role: "user" as const, content: prompt(thinking.prompt) },
          ...(output as Array<OpenAI.Responses.ResponseInputItem>),
          { role: "user" as const, content: prompt(hello.prompt) }
        ]
        const again = yield* Effect.promise(() => openai.responses.create({ ...request, input }))
        assert.strictEqual(again.output_text, hello.content)
      }
    })
  )

  it.effect.each(dialects)("chat: shows a picture: %s", (dialect) =>
    Effect.gen(function* () {
      const { aimock, openai } = yield* client()
      const shown = { type: "input_text" as const, text: prompt(picture.prompt) }
      const image = { type: "input_image" as const, image_url: picture.url, detail: "auto" as const }
      const sentBytes = (content: OpenAI.Responses.ResponseInputMessageContentList) =>
        Effect.gen(function* () {
          const request = asking(dialect, "", { input: [{ role: "user", content }] })
          const response = yield* Effect.promise(() => openai.responses.create(request))
          assert.strictEqual(response.output_text, picture.content)
          return Number((yield* aimock.journal).at(-1)?.headers["content-length"])
        })
      const difference = (yield* sentBytes([shown, image])) - (yield* sentBytes([shown]))
      const [, data = ""] = picture.url.split(",")
      assert.isAtLeast(difference, data.length)
      assert.isBelow(difference, data.length + 150)
    })
  )

  it.effect("errors: have the library's classes and the gateway's words", () =>
    Effect.gen(function* () {
      const { exchanges, openai } = yield* client({ more: { maxRetries: 2 } })
      const request = asking("openai", hello.prompt)
      const stranger = yield* client({ more: { apiKey: "tg-0123456789abcdef-nobody" } })
      yield* failed(
        () => stranger.openai.responses.create(request),
        OpenAI.AuthenticationError,
        /No valid API key was sent/
      )
      yield* failed(
        () => openai.responses.create({ ...request, model: "test/none" }),
        OpenAI.NotFoundError,
        /The model 'test\/none' does not exist/
      )
      yield* failed(
        () => openai.responses.create({ ...request, max_output_tokens: -1 }),
        OpenAI.BadRequestError,
        /max_output_tokens/
      )
      yield* failed(
        () => openai.responses.create({ ...request, background: true }),
        OpenAI.BadRequestError,
        /background/
      )
      const kept = yield* failed(
        () => openai.responses.create({ ...request, previous_response_id: "resp_1" }),
        OpenAI.BadRequestError,
        /previous_response_id/
      )
      assert.strictEqual(kept.param, "previous_response_id")
      yield* failed(() => openai.responses.retrieve("resp_1"), OpenAI.NotFoundError, /./)
      // Each was sent once: a repetition would not help.
      assert.lengthOf(exchanges, 5)

      const poor = yield* client({ key: { monthly_budget_usd: 0.00001 }, more: { maxRetries: 2 } })
      const spent = yield* failed(() => poor.openai.responses.create(request), OpenAI.RateLimitError, /monthly budget/)
      assert.strictEqual(spent.code, "insufficient_quota")
      assert.lengthOf(poor.exchanges, 1)
    })
  )

  it.effect.each(dialects)("errors: of the provider: %s", (dialect) =>
    Effect.gen(function* () {
      const { openai } = yield* client()
      const full = yield* failed(
        () => openai.responses.create(asking(dialect, overflow.prompt)),
        OpenAI.BadRequestError,
        /context|too long/
      )
      assert.strictEqual(full.code, "context_length_exceeded")
      yield* failed(
        () => openai.responses.create(asking(dialect, broken.prompt)),
        OpenAI.InternalServerError,
        /provider/
      )
    })
  )

  it.effect("errors: waits as long as Retry-After says when it is over its rate", () =>
    Effect.gen(function* () {
      const { exchanges, gateway, key, openai } = yield* client({ key: { tier: "free" }, more: { maxRetries: 1 } })
      yield* exhausted(gateway, key, "mock/echo")
      const response = yield* Effect.promise(() => openai.responses.create(asking("openai", hello.prompt)))
      assert.strictEqual(response.output_text, hello.content)
      assertRetryAfter(exchanges)
    })
  )
})
