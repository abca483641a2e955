/**
 * What the Messages API has of its own: names left out, thoughts, pings, the cache, token counts.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { noPrivacy } from "../../../src/settings/sections/PrivacySection.ts"
import { type Script } from "../../../src/testing/ScriptedProvider.ts"
import { open } from "../../contract/client.ts"
import { advanceUntil, until } from "../../contract/clock.ts"
import { delta, end, finish, helloReply } from "../../contract/wire.ts"
import { messagesSurface } from "../../support/surfaces.ts"
import { TestApp } from "../../support/TestApp.ts"
import { testSettings } from "../../support/testSettings.ts"

const ask = (more: Readonly<Record<string, unknown>> = {}) => ({
  model: "test/small",
  max_tokens: 50,
  messages: [{ role: "user", content: "Hi" }],
  ...more
})

/** A gateway in front of one provider, and the number of its calls. */
const appOf = (script: Script, settings: Partial<typeof testSettings> = {}) => {
  const seen = { calls: 0 }
  const layer = TestApp.layer({
    settings,
    providers: [{ slug: "alpha", models: { "test/small": script }, onCall: () => void seen.calls++ }]
  })
  return { layer, seen }
}

it.effect("names what it leaves out in a header and on the receipt", () =>
  Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey()
    const body = ask({ context_management: { edits: [] }, "x\r\ny": 1 })
    const { headers, status } = yield* send("/v1/messages?beta=true", { body, key })
    assert.deepStrictEqual([status, headers.get("x-tollgate-dropped")], [200, "context_management, other"])
    assert.strictEqual(headers.get("request-id"), headers.get("x-request-id"))
    const receipt = yield* send(`/v1/generations/${headers.get("x-generation-id")}`, { key })
    assert.deepStrictEqual(JSON.parse(receipt.text).dropped, ["context_management", "other"])
  }).pipe(Effect.provide(appOf({ reply: helloReply }).layer))
)

it.effect("takes the names that Claude Code sends, and says how to map the others", () =>
  Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey()
    const asked = (model: string) => send("/v1/messages", { body: ask({ model }), key })
    for (const model of ["test/small", "test/small[1m]", "small[1M]", "claude-haiku-5-5", "claude-sonnet-4-5[1m]"]) {
      const { status, text } = yield* asked(model)
      assert.deepStrictEqual([status, JSON.parse(text).model], [200, model])
    }
    const { status, text } = yield* asked("claude-opus-4-1")
    assert.strictEqual(status, 404)
    assert.match(JSON.parse(text).error.message, /'claude-opus-4-1' does not exist\..* `aliases` can map the name/)
  }).pipe(
    Effect.provide(
      appOf(
        { reply: helloReply },
        {
          routing: {
            ...testSettings.routing,
            aliases: {
              "claude-haiku-5-5": [{ model: "test/small", weight: 1 }],
              "claude-sonnet-4-5": [{ model: "test/small", weight: 1 }]
            }
          }
        }
      ).layer
    )
  )
)

it.effect("counts the usage that a provider does not report, and marks it", () =>
  Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey()
    for (const stream of [false, true]) {
      const { headers, text } = yield* send("/v1/messages", { body: ask({ stream }), key })
      const told = messagesSurface.read(text).tokens
      const receipt = JSON.parse((yield* send(`/v1/generations/${headers.get("x-generation-id")}`, { key })).text)
      assert.deepStrictEqual(told, [receipt.usage.prompt_tokens, receipt.usage.completion_tokens])
      assert.isTrue(told?.every((count) => count > 0))
      assert.strictEqual(receipt.usage_source, "counted")
    }
  }).pipe(
    Effect.provide(
      appOf({
        reply: { ...helloReply, usage: null },
        events: [delta({ content: "Hello" }), finish(), { _tag: "End", usage: null, systemFingerprint: null }]
      }).layer
    )
  )
)

it.effect("asks the provider again for a request that the prompt cache could answer", () => {
  const { layer, seen } = appOf({ reply: helloReply })
  return Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey()
    for (const calls of [1, 2]) {
      const { headers } = yield* send("/v1/messages", { body: ask({ temperature: 0 }), key })
      assert.deepStrictEqual([seen.calls, headers.get("x-tollgate-cache")], [calls, "bypass"])
    }
  }).pipe(Effect.provide(layer))
})

it.effect("puts masked values back into the text, but not into thoughts", () => {
  const email = "ann.smith@example.com"
  const thought = "[EMAIL_1] wants something."
  const [choice] = helloReply.choices
  const script: Script = {
    reply: {
      ...helloReply,
      choices: [
        {
          ...choice,
          index: 0,
          finish_reason: "stop",
          message: { role: "assistant", content: "To [EMAIL_1]", reasoning: thought }
        }
      ]
    },
    events: [delta({ reasoning: thought }), delta({ content: "To [EMAIL_1]" }), finish(), end]
  }
  return Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey()
    for (const stream of [false, true]) {
      const messages = [{ role: "user", content: `I am ${email}` }]
      const { text } = yield* send("/v1/messages", { body: ask({ messages, stream }), key })
      assert.include(text, `To ${email}`)
      assert.include(text, thought)
    }
  }).pipe(Effect.provide(appOf(script, { privacy: { ...noPrivacy, mode: "mask" } }).layer))
})

it.effect("fills a silence with pings, before the first token and after", () => {
  const { layer, seen } = appOf({
    delayMs: 40_000,
    events: [delta({ content: "Hel" }), 40_000, delta({ content: "lo" }), finish(), end]
  })
  return Effect.gen(function* () {
    const { issueKey, url } = yield* TestApp
    const { secret } = yield* issueKey()
    const stream = open(`${url}/v1/messages`, secret, ask({ stream: true }))
    yield* until(() => seen.calls > 0)
    yield* advanceUntil(stream.ended)
    const ping = `event: ping\ndata: {"type":"ping"}\n\n`
    const [before = "", after = ""] = stream.text().split("event: message_start")
    assert.strictEqual(before, ping.repeat(2))
    assert.strictEqual(after.split(ping).length - 1, 2)
    assert.isTrue(stream.text().endsWith(`event: message_stop\ndata: {"type":"message_stop"}\n\n`))
  }).pipe(Effect.provide(layer))
})

const tiers = { ...testSettings.tiers, free: { requestsPerMinute: 2, tokensPerMinute: 1_000, concurrency: 4 } }

it.effect("counts tokens: no call, no money, one request of the limit", () => {
  const { layer, seen } = appOf({ reply: helloReply }, { tiers })
  return Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey({ tier: "free", monthlyBudgetNano: 0 })
    const count = (more: Readonly<Record<string, unknown>> = {}) => {
      const { max_tokens: _, ...body } = ask(more)
      return Effect.map(send("/v1/messages/count_tokens", { body, key }), ({ status, text }) => ({
        status,
        ...JSON.parse(text)
      }))
    }
    const plain = yield* count()
    assert.deepStrictEqual(plain, { status: 200, input_tokens: 7 })
    const picture = { type: "image", source: { type: "url", url: "https://a.example/cat.png" } }
    const large = yield* count({
      messages: [{ role: "user", content: [{ type: "text", text: "Hi" }, picture] }],
      tools: [{ name: "f", input_schema: { type: "object" } }]
    })
    assert.isAbove(large.input_tokens, plain.input_tokens + 1_000)
    assert.deepInclude(yield* count(), { status: 429, type: "error" })
    assert.strictEqual(seen.calls, 0)
    assert.deepStrictEqual(JSON.parse((yield* send("/v1/generations", { key })).text).data, [])
  }).pipe(Effect.provide(layer))
})

it.effect("refuses what it cannot translate by name, without a call, and counts it", () => {
  const { layer, seen } = appOf({ reply: helloReply })
  return Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey()
    const tools = [{ type: "web_search_20250305", name: "web_search" }]
    const { status, text } = yield* send("/v1/messages", { body: ask({ tools }), key })
    assert.strictEqual(status, 400)
    assert.deepInclude(JSON.parse(text).error, { type: "invalid_request_error" })
    assert.include(JSON.parse(text).error.message, "web_search_20250305")
    const counted = yield* send("/v1/messages/count_tokens", { body: ask({ tools }), key })
    assert.isAbove(JSON.parse(counted.text).input_tokens, 10)
    assert.strictEqual(seen.calls, 0)
  }).pipe(Effect.provide(layer))
})
