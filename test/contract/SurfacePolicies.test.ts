/**
 * Limits, budgets, masking, logs and metrics do the same for every API that answers a conversation.
 * Each policy has tests of its own for chat completions; these show that no API goes around it.
 */
import { assert } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { type Script } from "../../src/testing/ScriptedProvider.ts"
import { noPrivacy } from "../../src/settings/sections/PrivacySection.ts"
import { type SettingsShape } from "../../src/Settings.ts"
import { chatSurface, eachLane, providersOn, type Surface } from "../support/surfaces.ts"
import { TestApp } from "../support/TestApp.ts"
import { testSettings, triedOnce } from "../support/testSettings.ts"
import { until } from "./clock.ts"
import { delta, end, finish, helloReply } from "./wire.ts"

const appOf = (surface: Surface, script: Script, settings: Partial<SettingsShape> = {}) => {
  const seen = { calls: 0 }
  const layer = TestApp.layer({
    settings: { cache: { ...testSettings.cache, enabled: false }, routing: triedOnce, ...settings },
    providers: providersOn(surface, [
      { slug: "alpha", models: { "test/small": script }, onCall: () => void seen.calls++ }
    ])
  })
  return { layer, seen }
}

const limits = {
  ...testSettings.tiers,
  free: { requestsPerMinute: 60, tokensPerMinute: 120, concurrency: 1 }
}

eachLane("429: the tokens of a minute, and requests at once until one has ended", (surface) => {
  const { layer, seen } = appOf(surface, { delayMs: 5_000, reply: helloReply }, { tiers: limits })
  return Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey({ tier: "free" })
    const ask = (text: string) => send(surface.path, { body: surface.body({ text, maxTokens: 10 }), key })
    const refusal = Effect.fnUntraced(function* (text: string) {
      const { headers, status, text: body } = yield* ask(text)
      return [status, surface.read(body).error?.code, headers.get("retry-after") !== null] as const
    })
    const first = yield* Effect.forkChild(ask("Hi"), { startImmediately: true })
    yield* until(() => seen.calls === 1)
    assert.deepStrictEqual(yield* refusal("Ho"), [429, "concurrency_limit_exceeded", true])
    yield* TestClock.adjust(5_000)
    assert.strictEqual((yield* Fiber.join(first)).status, 200)
    // More than a whole minute has: a retry would not help.
    assert.deepStrictEqual(yield* refusal("toll ".repeat(130)), [429, "tokens_limit_exceeded", false])
    assert.strictEqual(seen.calls, 1)
  }).pipe(Effect.provide(layer))
})

eachLane("a stream whose budget runs out ends with its error, and costs no more than the budget", (surface) => {
  const words = Array.from({ length: 3_000 }, () => delta({ content: " a" }))
  return Effect.gen(function* () {
    const { adminKey, issueKey, send } = yield* TestApp
    const monthlyBudgetNano = 3_000_000
    const { id, secret: key } = yield* issueKey({ monthlyBudgetNano })
    const body = surface.body({ text: "Hi", stream: true, maxTokens: 100_000 })
    const { status, text } = yield* send(surface.path, { body, key })
    const answer = surface.read(text)
    assert.deepStrictEqual([status, answer.isWhole, answer.error?.code], [200, false, "monthly_budget_exceeded"])
    surface.assertStream(text)
    assert.isTrue(answer.text.startsWith(" a a"))
    assert.isBelow(answer.text.length, 2 * words.length)
    const told = JSON.parse((yield* send(`/v1/keys/${id}`, { headers: { "x-admin-key": adminKey } })).text)
    assert.isAtMost(told.usage.month_spent_usd, monthlyBudgetNano / 1e9)
    assert.isAbove(told.usage.month_spent_usd, 0.99 * (monthlyBudgetNano / 1e9))
    assert.strictEqual(told.usage.month_reserved_usd, 0)
    const next = yield* send(surface.path, { body: surface.body({ text: "Hi" }), key })
    assert.deepStrictEqual(
      [next.status, surface.read(next.text).error?.code],
      [surface.status(402), "monthly_budget_exceeded"]
    )
  }).pipe(Effect.provide(appOf(surface, { events: [...words, finish(), end] }).layer))
})

eachLane("a text that must not leave is refused, wherever it stands, and no provider is called", (surface) => {
  const email = "ann.smith@example.com"
  const { layer, seen } = appOf(surface, { reply: helloReply }, { privacy: { ...noPrivacy, mode: "block" } })
  return Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey()
    const called = { tool: "write", argument: "{}", result: "Sent." }
    for (const asking of [
      { text: `To ${email}` },
      { text: "Hi", system: email },
      { text: "Hi", called: { ...called, argument: JSON.stringify({ to: email }) } },
      { text: "Hi", called: { ...called, result: `Sent to ${email}` } }
    ]) {
      for (const stream of [false, true]) {
        const { status, text } = yield* send(surface.path, { body: surface.body({ ...asking, stream }), key })
        assert.deepStrictEqual([status, surface.read(text).error?.code], [403, "privacy_blocked"])
        assert.notInclude(text, email)
      }
    }
    assert.strictEqual(seen.calls, 0)
  }).pipe(Effect.provide(layer))
})

/** What the gateway counts and logs of the same requests on a surface, with its path left out. */
const toldOf = (surface: Surface) => {
  const lines: Array<{ readonly message: unknown; readonly annotations: Readonly<Record<string, unknown>> }> = []
  const script = { reply: helloReply, events: [delta({ content: "Hel" }), delta({ content: "lo" }), finish(), end] }
  const logged = Logger.layer([Logger.map(Logger.formatStructured, (line) => void lines.push(line))])
  return Effect.gen(function* () {
    const { adminKey, issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey()
    const poor = yield* issueKey({ monthlyBudgetNano: 0 })
    const ask = (more: { readonly stream?: boolean; readonly model?: string }, secret = key) => {
      const headers = { "cache-control": "no-store", "x-request-id": "same" }
      return send(surface.path, { body: surface.body({ text: "Hi", maxTokens: 10, ...more }), key: secret, headers })
    }
    yield* ask({})
    yield* ask({ stream: true })
    yield* ask({ model: "no/such" })
    yield* ask({}, poor.secret)
    const metrics = yield* send("/metrics", { headers: { "x-admin-key": adminKey } })
    const counted = metrics.text
      .split("\n")
      .filter((line) => /^(?:tollgate|gen_ai|http_server)_\w+(?:total|_count|usage_sum)\{/.test(line))
    const requests = lines.flatMap(({ annotations, message }) => (message === "request" ? [annotations] : []))
    const text = JSON.stringify({ counted, requests })
      .replaceAll(surface.path, "/path")
      .replaceAll(new RegExp(String.raw`\b${surface.status(402)}\b`, "g"), "402")
    return JSON.parse(text.replaceAll(/gen_0\w+/g, "gen"))
  }).pipe(Effect.provide(Layer.provideMerge(appOf(surface, script).layer, logged)))
}

eachLane("its requests are counted and logged as those of chat completions", (surface) =>
  Effect.gen(function* () {
    const told = yield* toldOf(surface)
    assert.lengthOf(told.requests, 4)
    assert.isAbove(told.counted.length, 10)
    assert.deepStrictEqual(told, yield* toldOf(chatSurface))
  })
)
