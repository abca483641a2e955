import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { ask, helloReply } from "../../contract/wire.ts"
import { type ChatCall, ServerFault } from "../../../src/providers/Provider.ts"
import { TestApp } from "../../support/TestApp.ts"

const broken = { failure: new ServerFault({ status: 500, retryAfterMs: null }) }
const routing = {
  defaultSort: "price" as const,
  retries: 0,
  hedgeAfterMs: null,
  continueStreams: true,
  modelsFallback: []
}

const answered = (more: Readonly<Record<string, unknown>>, allowedModels: ReadonlyArray<string> | null = null) =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey({ allowedModels })
    const { status, text } = yield* chat(ask("Hi", more), { key: secret })
    return { status, body: JSON.parse(text) }
  })

const app = (modelsFallback: ReadonlyArray<string> = []) =>
  TestApp.layer({
    providers: [
      { slug: "alpha", models: { "test/small": broken, "test/next": broken, "test/last": { reply: helloReply } } }
    ],
    settings: { routing: { ...routing, modelsFallback } }
  })

it.effect(
  "`models` are tried in order when the first model has no provider left; the response names the one that answered",
  () =>
    Effect.gen(function* () {
      const { body, status } = yield* answered({ models: ["test/next", "test/last"] })
      assert.strictEqual(status, 200)
      assert.deepStrictEqual([body.model, body.provider], ["test/last", "alpha"])
      const none = yield* answered({})
      assert.strictEqual(none.status, 502)
    }).pipe(Effect.provide(app()))
)

it.effect("fallback models come from the request, or else from the settings", () =>
  Effect.gen(function* () {
    assert.strictEqual((yield* answered({})).body.model, "test/last")
    assert.strictEqual((yield* answered({ models: ["test/next"] })).status, 502)
  }).pipe(Effect.provide(app(["test/last"])))
)

it.effect("the whitelist applies to fallback models too, and unknown ones are skipped", () =>
  Effect.gen(function* () {
    const { status } = yield* answered({ models: ["test/last", "no/such"] }, ["test/small"])
    assert.strictEqual(status, 502)
    const admitted = yield* answered({ models: ["no/such", "test/last"] }, ["test/small", "test/last"])
    assert.strictEqual(admitted.body.model, "test/last")
  }).pipe(Effect.provide(app()))
)

it.effect("the provider receives the client's request, including unknown members", () => {
  const requests: Array<ChatCall["request"]> = []
  const sent = ask("Hi", { temperature: 0, verbosity: "low", metadata: { a: 1 }, stop: ["x"], seed: 7 })
  return Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    yield* chat(sent, { key: secret })
    assert.deepStrictEqual({ ...requests[0] }, { ...sent, stream: false })
  }).pipe(
    Effect.provide(
      TestApp.layer({
        providers: [
          {
            slug: "alpha",
            models: { "test/small": { reply: helloReply } },
            onCall: (call) => {
              if ("messages" in call.request) requests.push((call as ChatCall).request)
            }
          }
        ]
      })
    )
  )
})

it.effect("the mock provider answers when no other is configured", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    const echo = yield* chat(ask("Say it back", { model: "mock/echo" }), { key: secret })
    assert.strictEqual(echo.status, 200)
    assert.include(JSON.parse(echo.text).choices[0].message.content, "Say it back")
  }).pipe(Effect.provide(TestApp.layer()))
)
