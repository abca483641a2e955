/** The AI SDK with OpenAI's provider as it comes, which speaks the Responses API. */
import { createOpenAI } from "@ai-sdk/openai"
import { layer } from "@effect/vitest"
import { aiDialectTests } from "./aiDialects.ts"
import { Deployment } from "./Deployment.ts"

layer(Deployment.layer, { excludeTestServices: true, timeout: 120_000 })("ai, @ai-sdk/openai: Responses", (it) => {
  aiDialectTests(it, (server) => createOpenAI(server), {
    invalidStatus: 400,
    spentStatus: 429,
    thinking: {
      openai: {
        // It does not know the models' names.
        forceReasoning: true,
        reasoningEffort: "medium",
        reasoningSummary: "auto",
        // Otherwise it sends ids of what the server keeps, and this gateway keeps nothing.
        store: false
      }
    }
  })
})
