/**
 * Stored responses through OpenAI's library and agents, in front of a provider of each dialect: a
 * conversation is continued by the id of its last response, also at another provider.
 */
import { assert, layer } from "@effect/vitest"
import { Agent, OpenAIProvider, Runner, tool } from "@openai/agents"
import { Effect } from "effect"
import OpenAI from "openai"
import { prompt, rejection } from "./Clients.ts"
import { Deployment, type Dialect, dialects, modelOf } from "./Deployment.ts"
import { hello, parallelCalls, thinking, weatherTool } from "./fixtures.ts"

const tools: Array<OpenAI.Responses.FunctionTool> = [{ type: "function", strict: false, ...weatherTool }]

const client = Effect.gen(function* () {
  const deployment = yield* Deployment
  const openai = new OpenAI({ baseURL: `${deployment.gateway.url}/v1`, apiKey: deployment.key, maxRetries: 0 })
  /** The texts of the conversation that the provider got last. */
  const told = Effect.map(deployment.aimock.journal, (entries) => JSON.stringify(entries.at(-1)?.body))
  return { ...deployment, openai, told }
})

/** The next dialect in the list: another provider. */
const otherThan = (dialect: Dialect): Dialect => dialects[(dialects.indexOf(dialect) + 1) % dialects.length] ?? dialect

layer(Deployment.layerStoring, { excludeTestServices: true, timeout: 120_000 })("openai: Responses", (it) => {
  const both = dialects.flatMap((dialect) => [false, true].map((stream) => ({ dialect, stream })))

  it.effect.each(both)(
    "stored: a conversation goes on by an id, here and at another provider: $dialect (stream: $stream)",
    ({ dialect, stream }) =>
      Effect.gen(function* () {
        const { openai, told } = yield* client
        const ask = (request: OpenAI.Responses.ResponseCreateParamsNonStreaming) =>
          Effect.promise(() =>
            stream ? openai.responses.stream({ ...request, stream }).finalResponse() : openai.responses.create(request)
          )
        const first = yield* ask({
          model: modelOf(dialect),
          input: prompt(thinking.prompt),
          reasoning: { effort: "medium", summary: "auto" }
        })
        assert.deepInclude(first as object, { store: true })
        for (const next of [dialect, otherThan(dialect)]) {
          const second = yield* ask({
            model: modelOf(next),
            input: prompt(hello.prompt),
            previous_response_id: first.id
          })
          assert.deepInclude(second, { output_text: hello.content, previous_response_id: first.id })
          const conversation = yield* told
          for (const said of [thinking.prompt, thinking.content, hello.prompt]) assert.include(conversation, said)
        }
      })
  )

  it.effect.each(dialects)("stored: a result follows the call that is stored: %s", (dialect) =>
    Effect.gen(function* () {
      const { openai } = yield* client
      const request = { model: modelOf(dialect), tools }
      const first = yield* Effect.promise(() =>
        openai.responses.create({ ...request, input: prompt(parallelCalls.prompt) })
      )
      const results = first.output.flatMap((item) =>
        item.type === "function_call"
          ? [{ type: "function_call_output" as const, call_id: item.call_id, output: "sunny" }]
          : []
      )
      assert.lengthOf(results, 2)
      const after = yield* Effect.promise(() =>
        openai.responses.create({ ...request, input: results, previous_response_id: first.id })
      )
      assert.strictEqual(after.output_text, parallelCalls.after)
    })
  )

  it.effect("stored: a response is read, listed and deleted", () =>
    Effect.gen(function* () {
      const { openai } = yield* client
      const { id } = yield* Effect.promise(() =>
        openai.responses.create({ model: modelOf("anthropic"), input: prompt(hello.prompt) })
      )
      const kept = yield* Effect.promise(() => openai.responses.retrieve(id))
      assert.deepInclude(kept, { id, status: "completed", output_text: hello.content })
      const items = yield* Effect.promise(async () => {
        const items: Array<OpenAI.Responses.ResponseItem> = []
        for await (const item of openai.responses.inputItems.list(id, { limit: 1 })) items.push(item)
        return items
      })
      assert.include(JSON.stringify(items), hello.prompt)
      yield* Effect.promise(() => openai.responses.delete(id))
      const gone = yield* rejection(() => openai.responses.retrieve(id))
      assert.instanceOf(gone, OpenAI.NotFoundError)
      const lost = yield* rejection(() =>
        openai.responses.create({ model: modelOf("openai"), input: "Hi", previous_response_id: id })
      )
      assert.instanceOf(lost, OpenAI.BadRequestError)
      assert.strictEqual(lost.code, "previous_response_not_found")
    })
  )

  it.effect.each(dialects)("stored: agents go on by the id of the last response: %s", (dialect) =>
    Effect.gen(function* () {
      const { gateway, key, told } = yield* client
      const modelProvider = new OpenAIProvider({ baseURL: `${gateway.url}/v1`, apiKey: key })
      const runner = new Runner({ modelProvider, tracingDisabled: true })
      const weather = tool({
        name: weatherTool.name,
        description: weatherTool.description,
        parameters: { ...weatherTool.parameters, additionalProperties: true } as never,
        strict: false,
        execute: async () => "sunny"
      })
      const agent = new Agent({ name: "helper", instructions: "Be brief.", model: modelOf(dialect), tools: [weather] })
      const first = yield* Effect.promise(() => runner.run(agent, prompt(parallelCalls.prompt)))
      assert.strictEqual(first.finalOutput, parallelCalls.after)
      const { lastResponseId: previousResponseId = "" } = first
      const second = yield* Effect.promise(() => runner.run(agent, prompt(hello.prompt), { previousResponseId }))
      assert.strictEqual(second.finalOutput, hello.content)
      const conversation = yield* told
      for (const said of [parallelCalls.prompt, parallelCalls.after, hello.prompt]) assert.include(conversation, said)
    })
  )
})
