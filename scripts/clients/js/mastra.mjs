/**
 * @mastra/core against a gateway: whole and streamed answers, tools, structured output, reasoning.
 */
import { Mastra } from "@mastra/core"
import { Agent } from "@mastra/core/agent"
import { createTool } from "@mastra/core/tools"
import assert from "node:assert/strict"
import { z } from "zod"
import { gateway, makeCheck } from "./world.mjs"

const check = makeCheck("mastra", "@mastra/core")
const agent = (options = {}) => {
  const model = { id: "tollgate/test/chat", url: gateway.url, apiKey: gateway.key }
  const clerk = new Agent({ id: "clerk", name: "clerk", instructions: "Be brief.", model, ...options })
  return new Mastra({ agents: { clerk }, logger: false }).getAgent("clerk")
}
/** The usage of an answer, without members that other providers have. */
const counted = ({ inputTokens, outputTokens }) => ({ inputTokens, outputTokens })

await check("chat", "answers, with usage", async () => {
  const { text, usage } = await agent().generate("say hello")
  assert.equal(text, "Hello there.")
  assert.deepEqual(counted(usage), { inputTokens: 11, outputTokens: 5 })
})

await check("streams", "streams, with usage at the end", async () => {
  const result = await agent().stream("say hello")
  let text = ""
  for await (const piece of result.textStream) text += piece
  assert.equal(text, "Hello there.")
  assert.deepEqual(counted(await result.usage), { inputTokens: 11, outputTokens: 5 })
})

const armed = (places) =>
  agent({
    tools: {
      get_weather: createTool({
        id: "get_weather",
        description: "Tells the weather of a place.",
        inputSchema: z.object({ place: z.string() }),
        execute: async (input) => {
          places.push((input.context ?? input).place)
          return "sunny"
        }
      })
    }
  })

await check("tools", "runs parallel calls to the end", async () => {
  const places = []
  const { text } = await armed(places).generate("the weather in both places")
  assert.equal(text, "Both are sunny.")
  assert.deepEqual(new Set(places), new Set(["Zürich 🏔", "東京"]))
})

await check("tools", "runs streamed parallel calls to the end", async () => {
  const places = []
  const result = await armed(places).stream("the weather in both places")
  assert.equal(await result.text, "Both are sunny.")
  assert.deepEqual(new Set(places), new Set(["Zürich 🏔", "東京"]))
})

await check("structured output", "answers in the form of a schema", async () => {
  const schema = z.object({ name: z.string(), born: z.number() })
  const { object } = await agent().generate("who was the first programmer", { structuredOutput: { schema } })
  assert.deepEqual(object, { name: "Ada Lovelace", born: 1815 })
})

await check("reasoning", "comes whole and streamed", async () => {
  assert.equal((await agent().generate("think aloud")).reasoningText, "Let me think.")
  assert.equal(await (await agent().stream("think aloud")).reasoningText, "Let me think.")
})

await check("errors", "tells of an unknown model in the gateway's words", async () => {
  const model = { id: "tollgate/test/none", url: gateway.url, apiKey: gateway.key }
  const error = await agent({ model, maxRetries: 0 })
    .generate("say hello")
    .catch((error) => error)
  assert.match(String(error?.message ?? error), /test\/none/)
})
