/**
 * OpenAI's library through each dialect, against a third-party mock of the vendors: requests and
 * responses are in OpenAI's form, whatever the dialect.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import OpenAI from "openai"
import { prompt } from "./Clients.ts"
import { Deployment, type Dialect, dialects } from "./Deployment.ts"
import { hello, parallelCalls, picture, structured, weatherTool } from "./fixtures.ts"

type Asked = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, "model" | "stream">

/** The header from which each dialect's vendor reads its key. */
const carriers: Readonly<Record<Dialect, string>> = {
  openai: "authorization",
  responses: "authorization",
  anthropic: "x-api-key",
  gemini: "x-goog-api-key",
  bedrock: "authorization"
}

const user = (content: string) => ({ role: "user" as const, content: prompt(content) })
/** With a possible stand-in, a long reply is requested as a stream internally ("watched"). */
const modes = ["JSON", "JSON, watched", "stream"] as const
const each = dialects.flatMap((dialect) => modes.map((mode) => ({ dialect, mode })))

/** The completion, whole or assembled from its chunks by the library, which relies on `index`. */
const complete = (dialect: Dialect, mode: (typeof modes)[number], asked: Asked) =>
  Effect.gen(function* () {
    const { aimock, gateway, generation, key } = yield* Deployment
    const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 })
    const request = { ...asked, model: mode === "JSON, watched" ? `${dialect}/watched` : `${dialect}/chat` }
    const { completion, id } = yield* Effect.promise(async () => {
      if (mode !== "stream") {
        const { data, response } = await openai.chat.completions.create(request).withResponse()
        return { completion: data, id: response.headers.get("x-generation-id") ?? "" }
      }
      const chunks: Array<OpenAI.ChatCompletionChunk> = []
      const stream = openai.chat.completions.stream({ ...request, stream: true })
      stream.on("chunk", (chunk) => chunks.push(chunk))
      const completion = await stream.finalChatCompletion()
      const last = chunks.at(-1) as { readonly generation_id?: string } | undefined
      return { completion, id: last?.generation_id ?? "" }
    })
    assert.strictEqual((yield* generation(id)).provider, dialect)
    const { body, path } = (yield* aimock.journal).at(-1) ?? { body: null, path: "" }
    assert.strictEqual(/stream/i.test(path) || body?.stream === true, mode !== "JSON")
    const [choice] = completion.choices
    assert.isDefined(choice)
    return { completion, choice: choice ?? assert.fail("no choice") }
  })

const called = (calls: ReadonlyArray<OpenAI.ChatCompletionMessageToolCall> | undefined) =>
  (calls ?? []).map((call) =>
    call.type === "function"
      ? { id: call.id, name: call.function.name, arguments: JSON.parse(call.function.arguments) as unknown }
      : assert.fail(call.type)
  )
const expectedCalls = parallelCalls.calls.map(({ arguments: text, name }) => ({
  name,
  arguments: JSON.parse(text) as unknown
}))
const format = (strict: boolean) => ({
  type: "json_schema" as const,
  json_schema: { name: "person", strict, schema: structured.schema }
})

layer(Deployment.layer, { excludeTestServices: true, timeout: 120_000 })("openai's library", (it) => {
  it.effect.each(each)("chats through $dialect ($mode)", ({ dialect, mode }) =>
    Effect.gen(function* () {
      const { choice, completion } = yield* complete(dialect, mode, { messages: [user(hello.prompt)] })
      assert.strictEqual(choice.message.content, hello.content)
      assert.strictEqual(choice.finish_reason, "stop")
      assert.strictEqual(completion.model, `${dialect}/${mode === "JSON, watched" ? "watched" : "chat"}`)
      assert.include(completion.usage, { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 })
      const { aimock } = yield* Deployment
      const { headers } = (yield* aimock.journal).at(-1) ?? { headers: {} }
      assert.deepStrictEqual(
        Object.values(carriers).filter((name) => name in headers),
        Object.values(carriers).filter((name) => name === carriers[dialect])
      )
    })
  )

  it.effect.each(each)(
    "calls tools in parallel and takes their results through $dialect ($mode)",
    ({ dialect, mode }) =>
      Effect.gen(function* () {
        const tools = [{ type: "function" as const, function: weatherTool }]
        const asked = { messages: [user(parallelCalls.prompt)], tools }
        const { choice } = yield* complete(dialect, mode, asked)
        assert.strictEqual(choice.finish_reason, "tool_calls")
        const calls = called(choice.message.tool_calls)
        assert.deepStrictEqual(
          calls.map(({ arguments: given, name }) => ({ name, arguments: given })),
          expectedCalls
        )
        const ids = calls.map(({ id }) => id)
        assert.lengthOf(new Set(ids), 2)
        assert.notInclude(ids, "")

        const after = yield* complete(dialect, mode, {
          tools,
          messages: [
            ...asked.messages,
            { role: "assistant", content: null, tool_calls: choice.message.tool_calls ?? [] },
            ...ids.map((id) => ({ role: "tool" as const, tool_call_id: id, content: "sunny" }))
          ]
        })
        assert.strictEqual(after.choice.message.content, parallelCalls.after)
        assert.strictEqual(after.choice.finish_reason, "stop")
      })
  )

  it.effect.each(each)("shows a picture through $dialect ($mode)", ({ dialect, mode }) =>
    Effect.gen(function* () {
      const { aimock } = yield* Deployment
      const text = { type: "text" as const, text: prompt(picture.prompt) }
      const image = { type: "image_url" as const, image_url: { url: picture.url } }
      /** Sends a request and returns the number of bytes that the provider received. */
      const sentBytes = (content: OpenAI.ChatCompletionContentPart[]) =>
        Effect.gen(function* () {
          const { choice } = yield* complete(dialect, mode, { messages: [{ role: "user", content }] })
          assert.strictEqual(choice.message.content, picture.content)
          return Number((yield* aimock.journal).at(-1)?.headers["content-length"])
        })
      // The mock's journal keeps text in OpenAI's form, and no pictures except OpenAI's.
      const difference = (yield* sentBytes([text, image])) - (yield* sentBytes([text]))
      const [, base64 = ""] = picture.url.split(",")
      assert.isAtLeast(difference, base64.length)
      assert.isBelow(difference, base64.length + 150)
    })
  )

  const forms = each.flatMap((one) => [true, false].map((strict) => ({ ...one, strict })))
  it.effect.each(forms)(
    "gets an answer in JSON through $dialect ($mode, strict: $strict)",
    ({ dialect, mode, strict }) =>
      Effect.gen(function* () {
        const asked = { messages: [user(structured.prompt)], response_format: format(strict) }
        const { choice } = yield* complete(dialect, mode, asked)
        assert.deepStrictEqual(JSON.parse(choice.message.content ?? ""), JSON.parse(structured.content))
        assert.strictEqual(choice.finish_reason, "stop")
        assert.isEmpty(choice.message.tool_calls ?? [])
      })
  )

  it.effect.each(dialects)("answers the same through %s, watched or not", (dialect) =>
    Effect.gen(function* () {
      const tools = [{ type: "function" as const, function: weatherTool }]
      for (const asked of [
        { messages: [user(hello.prompt)] },
        { messages: [user(parallelCalls.prompt)], tools },
        { messages: [user(structured.prompt)], response_format: format(true) }
      ]) {
        const seen = (mode: (typeof modes)[number]) =>
          Effect.map(complete(dialect, mode, asked), ({ choice, completion: { system_fingerprint: mark, usage } }) => ({
            // Vendors differ in ids and in the layout of arguments, and omit a null refusal in
            // streams.
            choice: {
              ...choice,
              message: {
                ...choice.message,
                refusal: choice.message.refusal ?? null,
                tool_calls: called(choice.message.tool_calls).map(({ id: _id, ...call }) => call)
              }
            },
            usage,
            mark
          }))
        assert.deepStrictEqual(yield* seen("JSON, watched"), yield* seen("JSON"))
      }
    })
  )
})
