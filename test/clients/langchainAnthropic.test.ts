/** LangChain's model for Anthropic, which speaks the Messages API. */
import { layer } from "@effect/vitest"
import { ChatAnthropic } from "@langchain/anthropic"
import { Deployment } from "./Deployment.ts"
import { langchainDialectTests } from "./langchainDialects.ts"

layer(Deployment.layer, { excludeTestServices: true, timeout: 120_000 })("@langchain/anthropic: Messages", (it) => {
  langchainDialectTests(
    it,
    ({ apiKey, baseUrl, fetch, maxRetries, maxTokens, model, thinks }) =>
      new ChatAnthropic({
        model,
        apiKey,
        anthropicApiUrl: baseUrl.replace(/\/v1$/, ""),
        maxTokens,
        maxRetries,
        clientOptions: { fetch },
        ...(thinks ? { thinking: { type: "enabled", budget_tokens: 1_024 } } : {})
      }),
    { invalidStatus: 400, spentStatus: 402, readsFirstUsage: true }
  )
})
