/** The AI SDK with Anthropic's provider, which speaks the Messages API. */
import { createAnthropic } from "@ai-sdk/anthropic"
import { layer } from "@effect/vitest"
import { aiDialectTests } from "./aiDialects.ts"
import { Deployment } from "./Deployment.ts"

layer(Deployment.layer, { excludeTestServices: true, timeout: 120_000 })("ai, @ai-sdk/anthropic: Messages", (it) => {
  aiDialectTests(it, (server) => createAnthropic(server), {
    invalidStatus: 400,
    spentStatus: 402,
    thinking: { anthropic: { thinking: { type: "enabled", budgetTokens: 1_024 } } }
  })
})
