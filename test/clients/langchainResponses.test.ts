/** LangChain's model for OpenAI on the Responses API. */
import { layer } from "@effect/vitest"
import { ChatOpenAI } from "@langchain/openai"
import { Deployment } from "./Deployment.ts"
import { langchainDialectTests } from "./langchainDialects.ts"

layer(Deployment.layer, { excludeTestServices: true, timeout: 120_000 })("@langchain/openai: Responses", (it) => {
  langchainDialectTests(
    it,
    ({ apiKey, baseUrl, fetch, maxRetries, maxTokens, model, thinks }) =>
      new ChatOpenAI({
        model,
        apiKey,
        useResponsesApi: true,
        maxTokens,
        maxRetries,
        configuration: { baseURL: baseUrl, fetch },
        ...(thinks ? { reasoning: { effort: "medium", summary: "auto" } } : {})
      }),
    { invalidStatus: 400, spentStatus: 429, readsFirstUsage: false }
  )
})
