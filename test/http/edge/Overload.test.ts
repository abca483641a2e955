/**
 * An overloaded process: new work is refused before its body is read, and running requests
 * continue.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Load } from "../../../src/gateway/process/Load.ts"
import { EventLoopDelay } from "../../../src/gateway/process/EventLoopDelay.ts"
import { defaultSettings, type SettingsShape } from "../../../src/Settings.ts"
import { openRaw } from "../../contract/client.ts"
import { until } from "../../contract/clock.ts"
import { ask, helloReply } from "../../contract/wire.ts"
import { TestApp } from "../../support/TestApp.ts"

const providers = [{ slug: "alpha", models: { "test/small": { reply: helloReply } } }]
const server = (more: Partial<SettingsShape["server"]>) => ({ server: { ...defaultSettings.server, ...more } })

const head = (url: string, secret: string, bytes: number, path = "/v1/chat/completions") =>
  `POST ${path} HTTP/1.1\r\nhost: ${new URL(url).host}\r\nauthorization: Bearer ${secret}\r\ncontent-type: application/json\r\ncontent-length: ${bytes}\r\n\r\n`

const health = Effect.gen(function* () {
  const { send } = yield* TestApp
  const report = yield* send("/health")
  const ready = yield* send("/health/ready")
  return [report.status, JSON.parse(report.text).status, ready.status]
})

it.effect(
  "a late event loop: 503 before the body on every endpoint for prompts; health reports it, and stays ready",
  () => {
    let delayMs = 0
    return Effect.gen(function* () {
      const { chat, issueKey, send, url } = yield* TestApp
      const { secret } = yield* issueKey()
      assert.deepStrictEqual(yield* health, [200, "ok", 200])
      delayMs = 1_001
      for (const path of ["/v1/chat/completions", "/v1/embeddings", "/v1/route/preview", "/v1/privacy/preview"]) {
        const socket = openRaw(url)
        socket.write(head(url, secret, 1_000, path))
        yield* until(() => socket.text().includes("}}"))
        assert.match(socket.text(), /^HTTP\/1.1 503 /, path)
        assert.match(socket.text(), /\r\nretry-after: 1\r\n/i)
        assert.include(socket.text(), `"type":"overloaded"`)
        socket.hangUp()
      }
      assert.deepStrictEqual(yield* health, [200, "overloaded", 200])
      assert.strictEqual((yield* send("/v1/models", { key: secret })).status, 200, "other work goes on")
      delayMs = 1_000
      assert.strictEqual((yield* chat(ask("Hi"), { key: secret })).status, 200)
    }).pipe(
      Effect.provide(
        TestApp.layer({
          providers,
          load: Layer.provide(
            Layer.fresh(Load.layer),
            EventLoopDelay.layerTest(() => delayMs)
          )
        })
      )
    )
  }
)

it.effect("concurrent requests: those beyond the limit are refused until one has ended", () =>
  Effect.gen(function* () {
    const { chat, issueKey, url } = yield* TestApp
    const { secret } = yield* issueKey()
    const waiting = openRaw(url)
    waiting.write(head(url, secret, 1_000))
    const status = Effect.map(chat(ask("Hi"), { key: secret }), (answered) => answered.status)
    while ((yield* status) !== 503) yield* Effect.yieldNow
    waiting.hangUp()
    while ((yield* status) !== 200) yield* Effect.yieldNow
  }).pipe(Effect.provide(TestApp.layer({ providers, settings: server({ maxRequests: 1 }) })))
)

it.effect("bytes of bodies on all endpoints: announced bytes count before they arrive, others as they arrive", () =>
  Effect.gen(function* () {
    const { chat, issueKey, send, url } = yield* TestApp
    const { secret } = yield* issueKey()
    const status = Effect.map(chat(ask("Hi"), { key: secret }), (answered) => answered.status)
    const waiting = openRaw(url)
    waiting.write(head(url, secret, 999_990))
    while ((yield* status) !== 503) yield* Effect.yieldNow
    assert.strictEqual((yield* send("/auth/register/email/start", { body: { email: "a@b.example" } })).status, 503)
    waiting.hangUp()
    while ((yield* status) !== 200) yield* Effect.yieldNow

    const chunked = openRaw(url)
    chunked.write(head(url, secret, 0).replace("content-length: 0", "transfer-encoding: chunked"))
    chunked.write(`f4241\r\n${" ".repeat(1_000_001)}\r\n`)
    yield* until(() => chunked.text().includes("}}"))
    assert.match(chunked.text(), /^HTTP\/1.1 503 /)
    chunked.hangUp()
  }).pipe(Effect.provide(TestApp.layer({ providers, settings: server({ maxBodiesBytes: 1_000_000 }) })))
)
