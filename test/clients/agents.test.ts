/** OpenAI's agents on chat completions. */
import { assert, layer } from "@effect/vitest"
import {
  Agent,
  type JsonSchemaDefinition,
  OpenAIChatCompletionsModel,
  run,
  setTracingDisabled,
  tool
} from "@openai/agents"
import { Effect } from "effect"
import OpenAI from "openai"
import { Clients, prompt } from "./Clients.ts"
import { hello, parallelCalls, structured, thinking, weatherTool } from "./fixtures.ts"

setTracingDisabled(true)

/** What to give an agent, so that it uses the gateway. */
const model = Effect.gen(function* () {
  const { baseUrl, key } = yield* Clients
  const client = new OpenAI({ baseURL: baseUrl, apiKey: yield* key(), maxRetries: 0 })
  return new OpenAIChatCompletionsModel(client, "test/chat")
})
const described = { name: "clerk", instructions: "Be brief." }

layer(Clients.layer, { excludeTestServices: true, timeout: 120_000 })("@openai/agents", (it) => {
  it.effect("chat: answers, with usage", () =>
    Effect.gen(function* () {
      const agent = new Agent({ ...described, model: yield* model })
      const result = yield* Effect.promise(() => run(agent, prompt(hello.prompt)))
      assert.strictEqual(result.finalOutput, hello.content)
      assert.include(result.state.usage, { inputTokens: 11, outputTokens: 5 })
    })
  )

  it.effect("streams: the text, and usage at the end", () =>
    Effect.gen(function* () {
      const agent = new Agent({ ...described, model: yield* model })
      const { text, usage } = yield* Effect.promise(async () => {
        const result = await run(agent, prompt(hello.prompt), { stream: true })
        let text = ""
        for await (const piece of result.toTextStream()) text += piece
        await result.completed
        return { text, usage: result.state.usage }
      })
      assert.strictEqual(text, hello.content)
      assert.include(usage, { inputTokens: 11, outputTokens: 5 })
    })
  )

  it.effect("tools: runs parallel calls to the end, whole and streamed", () =>
    Effect.gen(function* () {
      const { lastBody } = yield* Clients
      const places: Array<string> = []
      const weather = tool({
        name: weatherTool.name,
        description: weatherTool.description,
        parameters: { ...weatherTool.parameters, additionalProperties: true } as never,
        strict: false,
        execute: async (input) => {
          places.push((input as { readonly place: string }).place)
          return "sunny"
        }
      })
      const agent = new Agent({ ...described, model: yield* model, tools: [weather] })
      const whole = yield* Effect.promise(() => run(agent, prompt(parallelCalls.prompt)))
      assert.strictEqual(whole.finalOutput, parallelCalls.after)
      const streamed = yield* Effect.promise(async () => {
        const result = await run(agent, prompt(parallelCalls.prompt), { stream: true })
        await result.completed
        return result
      })
      assert.strictEqual(streamed.finalOutput, parallelCalls.after)
      const expected = parallelCalls.calls.map(({ arguments: args }) => (JSON.parse(args) as { place: string }).place)
      assert.deepStrictEqual(places, [...expected, ...expected])
      const told = (yield* lastBody)["messages"] as ReadonlyArray<Readonly<Record<string, unknown>>>
      assert.deepStrictEqual(
        told.flatMap(({ role, tool_call_id: id }) => (role === "tool" ? [id] : [])),
        parallelCalls.calls.map(({ id }) => id)
      )
    })
  )

  it.effect("structured output: answers in the form of a schema", () =>
    Effect.gen(function* () {
      const schema = structured.schema as unknown as JsonSchemaDefinition["schema"]
      const outputType: JsonSchemaDefinition = { type: "json_schema", name: "person", strict: true, schema }
      const agent = new Agent({ ...described, model: yield* model, outputType })
      const { finalOutput } = yield* Effect.promise(() => run(agent, prompt(structured.prompt)))
      assert.deepStrictEqual(finalOutput, { name: "Ada Lovelace", born: 1815 })
    })
  )

  it.effect("reasoning: comes as an item", () =>
    Effect.gen(function* () {
      const agent = new Agent({ ...described, model: yield* model })
      const { newItems } = yield* Effect.promise(() => run(agent, prompt(thinking.prompt)))
      const thoughts = newItems.flatMap(({ rawItem }) => (rawItem?.type === "reasoning" ? [rawItem.rawContent] : []))
      assert.include(JSON.stringify(thoughts), thinking.thought)
    })
  )
})
