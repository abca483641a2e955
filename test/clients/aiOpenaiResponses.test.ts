/**
 * The AI SDK with OpenAI's provider as it comes, which speaks the Responses API. It sends ids of
 * what the server keeps, so it needs stored responses. Without them it has an option.
 */
import { createOpenAI } from "@ai-sdk/openai"
import { assert, layer } from "@effect/vitest"
import { generateText } from "ai"
import { Effect } from "effect"
import { aiDialectTests } from "./aiDialects.ts"
import { prompt, rejection } from "./Clients.ts"
import { Deployment, modelOf } from "./Deployment.ts"
import { hello, thinking } from "./fixtures.ts"

const settings = { excludeTestServices: true, timeout: 120_000 }
const statuses = { invalidStatus: 400, spentStatus: 429 }
/** It does not know the models' names. */
const thinks = { forceReasoning: true, reasoningEffort: "medium", reasoningSummary: "auto" } as const

layer(Deployment.layerStoring, settings)("ai, @ai-sdk/openai: Responses", (it) => {
  aiDialectTests(it, (server) => createOpenAI(server), { ...statuses, thinking: { openai: thinks } })
})

layer(Deployment.layer, settings)("ai, @ai-sdk/openai, without stored responses", (it) => {
  aiDialectTests(it, (server) => createOpenAI(server), {
    ...statuses,
    thinking: { openai: { ...thinks, store: false } }
  })

  it.effect("errors: names the option that it needs", () =>
    Effect.gen(function* () {
      const { gateway, key } = yield* Deployment
      const model = createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key })(modelOf("openai"))
      const user = (content: string) => ({ role: "user" as const, content: prompt(content) })
      const { response } = yield* Effect.promise(() => generateText({ model, messages: [user(thinking.prompt)] }))
      const messages = [user(thinking.prompt), ...response.messages, user(hello.prompt)]
      const error = yield* rejection(() => generateText({ model, messages }))
      assert.match(String(error), /store/)
    })
  )
})
