/** The AI SDK with OpenRouter's provider. */
import { layer } from "@effect/vitest"
import { createOpenRouter } from "@openrouter/ai-sdk-provider"
import { reasoningTest } from "./aiReasoning.ts"
import { aiTests, type MakeProvider } from "./aiSdk.ts"
import { Clients } from "./Clients.ts"

const make: MakeProvider = (server) => {
  const openrouter = createOpenRouter(server)
  return (name) => openrouter.chat(name)
}

layer(Clients.layer, { excludeTestServices: true, timeout: 120_000 })("ai, @openrouter/ai-sdk-provider", (it) => {
  aiTests(it, make)
  reasoningTest(it, make)
})
