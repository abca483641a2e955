/** OpenAI's agents in their default mode, on the Responses API, in front of each dialect. */
import { assert, layer } from "@effect/vitest"
import {
  Agent,
  type JsonSchemaDefinition,
  MemorySession,
  OpenAIProvider,
  Runner,
  setTracingDisabled,
  tool
} from "@openai/agents"
import { Effect } from "effect"
import { prompt } from "./Clients.ts"
import { answerOf, Deployment, dialects, everywhere, modelOf } from "./Deployment.ts"
import { hello, parallelCalls, structured, thinking, weatherTool } from "./fixtures.ts"

setTracingDisabled(true)

/** The library's own choice of a model and of its settings for a name. */
const runner = Effect.gen(function* () {
  const { gateway, key } = yield* Deployment
  const modelProvider = new OpenAIProvider({ baseURL: `${gateway.url}/v1`, apiKey: key })
  return new Runner({ modelProvider, tracingDisabled: true })
})

const described = { name: "helper", instructions: "Be brief." }

layer(Deployment.layer, { excludeTestServices: true, timeout: 120_000 })("@openai/agents: Responses", (it) => {
  it.effect.each(everywhere)("chat: answers: %s", (dialect) =>
    Effect.gen(function* () {
      const agents = yield* runner
      const agent = new Agent({ ...described, model: modelOf(dialect) })
      const { finalOutput, state } = yield* Effect.promise(() => agents.run(agent, prompt(hello.prompt)))
      assert.strictEqual(finalOutput, answerOf(dialect))
      assert.isAbove(state.usage.inputTokens, 0)
      assert.isAbove(state.usage.outputTokens, 0)
    })
  )

  it.effect.each(everywhere)("streams: assemble the answer: %s", (dialect) =>
    Effect.gen(function* () {
      const agents = yield* runner
      const agent = new Agent({ ...described, model: modelOf(dialect) })
      const text = yield* Effect.promise(async () => {
        const result = await agents.run(agent, prompt(hello.prompt), { stream: true })
        let text = ""
        for await (const piece of result.toTextStream()) text += piece
        await result.completed
        return text
      })
      assert.strictEqual(text, answerOf(dialect))
    })
  )

  const both = dialects.flatMap((dialect) => [false, true].map((stream) => ({ dialect, stream })))
  it.effect.each(both)("tools: runs parallel calls to the end: $dialect (stream: $stream)", ({ dialect, stream }) =>
    Effect.gen(function* () {
      const agents = yield* runner
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
      const agent = new Agent({ ...described, model: modelOf(dialect), tools: [weather] })
      const finalOutput = yield* Effect.promise(async () => {
        if (!stream) return (await agents.run(agent, prompt(parallelCalls.prompt))).finalOutput
        const result = await agents.run(agent, prompt(parallelCalls.prompt), { stream: true })
        await result.completed
        return result.finalOutput
      })
      assert.strictEqual(finalOutput, parallelCalls.after)
      assert.deepStrictEqual(
        places,
        parallelCalls.calls.map(({ arguments: text }) => (JSON.parse(text) as { readonly place: string }).place)
      )
    })
  )

  it.effect.each(dialects)("structured output: answers in the form of a schema: %s", (dialect) =>
    Effect.gen(function* () {
      const agents = yield* runner
      const schema = structured.schema as unknown as JsonSchemaDefinition["schema"]
      const outputType: JsonSchemaDefinition = { type: "json_schema", name: "person", strict: true, schema }
      const agent = new Agent({ ...described, model: modelOf(dialect), outputType })
      const { finalOutput } = yield* Effect.promise(() => agents.run(agent, prompt(structured.prompt)))
      assert.deepStrictEqual(finalOutput, JSON.parse(structured.content))
    })
  )

  it.effect.each(dialects)("reasoning: comes as an item, and is sent back by a session: %s", (dialect) =>
    Effect.gen(function* () {
      const agents = yield* runner
      const agent = new Agent({
        ...described,
        model: modelOf(dialect),
        modelSettings: { reasoning: { effort: "medium", summary: "auto" } }
      })
      const session = new MemorySession()
      const { newItems } = yield* Effect.promise(() => agents.run(agent, prompt(thinking.prompt), { session }))
      const thoughts = newItems.flatMap(({ rawItem }) => (rawItem?.type === "reasoning" ? [rawItem] : []))
      assert.include(JSON.stringify(thoughts), thinking.thought)
      const after = yield* Effect.promise(() => agents.run(agent, prompt(hello.prompt), { session }))
      assert.strictEqual(after.finalOutput, hello.content)
    })
  )
})
