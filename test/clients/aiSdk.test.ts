/** The AI SDK with its provider for OpenAI-compatible servers. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { assert, layer } from "@effect/vitest"
import { embedMany } from "ai"
import { Effect } from "effect"
import { reasoningTest } from "./aiReasoning.ts"
import { aiTests, type MakeProvider } from "./aiSdk.ts"
import { Clients, prompt } from "./Clients.ts"
import { vector } from "./fixtures.ts"

const options = { name: "tollgate", includeUsage: true, supportsStructuredOutputs: true }
const make: MakeProvider = (server) => createOpenAICompatible({ ...options, ...server })

layer(Clients.layer, { excludeTestServices: true, timeout: 120_000 })("ai, @ai-sdk/openai-compatible", (it) => {
  aiTests(it, make)
  reasoningTest(it, make)

  it.effect("embeddings: several texts", () =>
    Effect.gen(function* () {
      const { baseUrl, key } = yield* Clients
      const provider = createOpenAICompatible({ ...options, baseURL: baseUrl, apiKey: yield* key() })
      const values = [prompt("embed one"), prompt("embed two")]
      const model = provider.embeddingModel("test/embed")
      const { embeddings } = yield* Effect.promise(() => embedMany({ model, values }))
      assert.deepStrictEqual(embeddings, [vector, vector])
    })
  )
})
