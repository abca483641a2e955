/** Reasoning through the AI SDK, for those of its providers that read it. */
import { assert, type Vitest } from "@effect/vitest"
import { generateText, streamText } from "ai"
import { Effect } from "effect"
import { type MakeProvider } from "./aiSdk.ts"
import { Clients, prompt } from "./Clients.ts"
import { thinking } from "./fixtures.ts"

export const reasoningTest = (it: Vitest.MethodsNonLive<Clients>, make: MakeProvider): void => {
  it.effect("reasoning: comes whole and streamed", () =>
    Effect.gen(function* () {
      const { baseUrl, key } = yield* Clients
      const model = make({ baseURL: baseUrl, apiKey: yield* key(), fetch })("test/chat")
      const messages = [{ role: "user" as const, content: prompt(thinking.prompt) }]
      const whole = yield* Effect.promise(() => generateText({ model, messages }))
      assert.deepStrictEqual([whole.reasoningText, whole.text], [thinking.thought, thinking.content])
      const streamed = yield* Effect.promise(async () => await streamText({ model, messages }).reasoningText)
      assert.strictEqual(streamed, thinking.thought)
    })
  )
}
