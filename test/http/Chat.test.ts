import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestApp } from "../support/TestApp.ts"

const app = TestApp.layer({
  providers: [
    {
      slug: "alpha",
      models: {
        "test/small": {
          reply: {
            choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
            usage: { promptTokens: 3, completionTokens: 1, cachedTokens: 0 },
            systemFingerprint: null
          }
        }
      }
    }
  ]
})

it.effect("answers a chat with the provider's reply", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    const answered = yield* chat({ model: "test/small", messages: [{ role: "user", content: "Hi" }] }, { key: secret })
    assert.strictEqual(answered.status, 200)
    assert.deepStrictEqual(JSON.parse(answered.text).choices, [
      { index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }
    ])
  }).pipe(Effect.provide(app))
)
