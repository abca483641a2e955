/** The AI SDK with OpenAI's provider on chat completions. */
import { createOpenAI } from "@ai-sdk/openai"
import { assert, layer } from "@effect/vitest"
import { embedMany, generateText } from "ai"
import { Effect } from "effect"
import { aiTests } from "./aiSdk.ts"
import { Clients, prompt } from "./Clients.ts"
import { hello, vector } from "./fixtures.ts"

const provider = Effect.gen(function* () {
  const { baseUrl, key } = yield* Clients
  return createOpenAI({ baseURL: baseUrl, apiKey: yield* key() })
})

layer(Clients.layer, { excludeTestServices: true, timeout: 120_000 })("ai, @ai-sdk/openai", (it) => {
  aiTests(it, (server) => {
    const openai = createOpenAI(server)
    return (name) => openai.chat(name)
  })

  it.effect("chat: gives instructions to gpt-5 and o3-mini, as a developer", () =>
    Effect.gen(function* () {
      const openai = yield* provider
      for (const name of ["openai/gpt-5", "openai/o3-mini", "gpt-5", "o3-mini"]) {
        const { text } = yield* Effect.promise(() =>
          generateText({ model: openai.chat(name), system: "Be brief.", prompt: prompt(hello.prompt) })
        )
        assert.strictEqual(text, hello.content)
      }
    })
  )

  it.effect("embeddings: several texts", () =>
    Effect.gen(function* () {
      const model = (yield* provider).embedding("test/embed")
      const values = [prompt("embed one"), prompt("embed two")]
      const { embeddings } = yield* Effect.promise(() => embedMany({ model, values }))
      assert.deepStrictEqual(embeddings, [vector, vector])
    })
  )
})
