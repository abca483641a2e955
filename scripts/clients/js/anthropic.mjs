/**
 * @anthropic-ai/sdk against a gateway's Messages API, in front of providers of three dialects.
 */
import Anthropic from "@anthropic-ai/sdk"
import assert from "node:assert/strict"
import { gateway, makeCheck } from "./world.mjs"

const check = makeCheck("anthropic", "@anthropic-ai/sdk")

const tools = [
  {
    name: "get_weather",
    description: "Tells the weather of a place.",
    input_schema: { type: "object", properties: { place: { type: "string" } }, required: ["place"] }
  }
]
const models = ["test/chat", "claude/chat", "gemini/chat"]
const rejection = (promise) =>
  promise.then(
    () => assert.fail("it did not reject"),
    (error) => error
  )

const client = (apiKey = gateway.key) =>
  new Anthropic({ baseURL: gateway.url.replace(/\/v1$/, ""), apiKey, maxRetries: 0 })
const anthropic = client()
const asking = (model, content, more = {}) => ({
  model,
  max_tokens: 200,
  messages: [{ role: "user", content }],
  ...more
})
const placesOf = (message) => {
  const uses = message.content.filter(({ type }) => type === "tool_use")
  assert.equal(message.stop_reason, "tool_use")
  assert.deepEqual(
    uses.map(({ name }) => name),
    ["get_weather", "get_weather"]
  )
  return uses.map(({ input }) => input.place)
}

await check("chat", "answers at every dialect, with usage and the asked name", async () => {
  for (const model of models) {
    const message = await anthropic.messages.create(asking(model, "say hello"))
    assert.deepEqual([message.type, message.role, message.model], ["message", "assistant", model])
    assert.deepEqual(
      message.content.map(({ text }) => text),
      ["Hello there."]
    )
    assert.deepEqual(
      [message.stop_reason, message.usage.input_tokens, message.usage.output_tokens],
      ["end_turn", 11, 5]
    )
    assert.match(message._request_id ?? "", /^req_/)
  }
})

await check("chat", "counts tokens without a paid call", async () => {
  const { input_tokens } = await anthropic.messages.countTokens({
    ...asking("test/chat", "say hello"),
    max_tokens: undefined,
    tools
  })
  assert.ok(input_tokens > 10 && input_tokens < 200)
})

await check("streams", "streams at every dialect; the helpers assemble the message", async () => {
  for (const model of models) {
    const pieces = []
    const stream = anthropic.messages.stream(asking(model, "say hello")).on("text", (piece) => pieces.push(piece))
    const message = await stream.finalMessage()
    assert.equal(pieces.join(""), "Hello there.")
    assert.equal(await stream.finalText(), "Hello there.")
    assert.deepEqual(
      [message.stop_reason, message.usage.input_tokens, message.usage.output_tokens],
      ["end_turn", 11, 5]
    )
  }
})

await check("streams", "aborts", async () => {
  const stream = anthropic.messages.stream(asking("test/chat", "say hello"))
  stream.abort()
  assert.ok((await rejection(stream.finalMessage())) instanceof Anthropic.APIUserAbortError)
})

await check("tools", "keeps parallel calls exact, whole and streamed, and takes their results", async () => {
  for (const model of models) {
    const request = asking(model, "the weather in both places", { tools })
    const whole = await anthropic.messages.create(request)
    const streamed = await anthropic.messages.stream(request).finalMessage()
    assert.deepEqual(
      [placesOf(whole), placesOf(streamed)],
      [
        ["Zürich 🏔", "東京"],
        ["Zürich 🏔", "東京"]
      ]
    )
    const results = whole.content
      .filter(({ type }) => type === "tool_use")
      .map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: [{ type: "text", text: "sunny" }] }))
    const after = await anthropic.messages.create({
      ...request,
      messages: [
        ...request.messages,
        { role: "assistant", content: streamed.content },
        { role: "user", content: results }
      ]
    })
    assert.deepEqual(
      after.content.map(({ text }) => text),
      ["Both are sunny."],
      model
    )
  }
})

await check("reasoning", "comes before the text, whole and streamed, and can be sent back", async () => {
  for (const model of models) {
    const request = asking(model, "think aloud", {
      max_tokens: 4_000,
      thinking: { type: "enabled", budget_tokens: 1_024 }
    })
    const thoughts = []
    const whole = await anthropic.messages.create(request)
    const streamed = await anthropic.messages
      .stream(request)
      .on("thinking", (piece) => thoughts.push(piece))
      .finalMessage()
    for (const { content } of [whole, streamed]) {
      assert.deepEqual(
        content.map(({ text, thinking }) => thinking ?? text),
        ["Let me think.", "Thought."],
        model
      )
    }
    assert.equal(thoughts.join(""), "Let me think.")
    const again = await anthropic.messages.create({
      ...request,
      messages: [
        ...request.messages,
        { role: "assistant", content: streamed.content },
        { role: "user", content: "say hello" }
      ]
    })
    assert.equal(again.content.at(-1)?.text, "Hello there.")
  }
})

await check("structured output", "answers in the form of a schema", async () => {
  const schema = {
    type: "object",
    properties: { name: { type: "string" }, born: { type: "integer" } },
    required: ["name", "born"],
    additionalProperties: false
  }
  const output_config = { format: { type: "json_schema", schema } }
  const { content } = await anthropic.messages.create(asking("test/chat", "who programmed first?", { output_config }))
  assert.deepEqual(JSON.parse(content[0]?.text), { name: "Ada Lovelace", born: 1815 })
})

await check("models", "lists them", async () => {
  const ids = []
  for await (const { id } of anthropic.models.list({ limit: 1_000 })) ids.push(id)
  for (const model of models) assert.ok(ids.includes(model))
})

await check("errors", "have the library's classes and the gateway's words", async () => {
  const failed = (promise, kind, words) =>
    rejection(promise).then((error) => {
      assert.ok(error instanceof kind, String(error))
      assert.match(error.message, words)
      assert.ok(error.requestID !== null)
      return error
    })
  await failed(
    client("tg-wrong").messages.create(asking("test/chat", "say hello")),
    Anthropic.AuthenticationError,
    /API key/
  )
  await failed(anthropic.messages.create(asking("no/such", "say hello")), Anthropic.NotFoundError, /no\/such/)
  await failed(
    anthropic.messages.create({ ...asking("test/chat", "say hello"), max_tokens: undefined }),
    Anthropic.BadRequestError,
    /max_tokens/
  )
  await failed(
    anthropic.messages.batches.list().then(() => null),
    Anthropic.NotFoundError,
    /batches/
  )
  const poor = await gateway.newKey({ monthly_budget_usd: 0.000001 })
  const broke = await failed(
    client(poor).messages.create(asking("test/chat", "say hello")),
    Anthropic.APIError,
    /budget/
  )
  assert.deepEqual([broke.status, broke.type], [402, "billing_error"])
  const few = await gateway.newKey({ tier: "free" })
  const many = await Promise.allSettled(
    Array.from({ length: 40 }, () => client(few).messages.create(asking("test/chat", "say hello")))
  )
  const limited = many.find(({ reason }) => reason instanceof Anthropic.RateLimitError)
  assert.match(limited?.reason.headers.get("retry-after") ?? "", /^\d+$/)
  const own = [{ type: "web_search_20250305", name: "web_search" }]
  await failed(
    anthropic.messages.create(asking("test/chat", "say hello", { tools: own })),
    Anthropic.BadRequestError,
    /web_search_20250305/
  )
})
