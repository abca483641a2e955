/** `Idempotency-Key` over HTTP: the responses to a request that is sent again. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Cut, Rejected, ServerFault } from "../../../src/providers/Provider.ts"
import { type Script, scriptedOffer } from "../../../src/testing/ScriptedProvider.ts"
import { type SettingsShape } from "../../../src/Settings.ts"
import { each } from "../../support/surfaces.ts"
import { TestApp } from "../../support/TestApp.ts"
import { open } from "../../contract/client.ts"
import { testSettings } from "../../support/testSettings.ts"
import { settle, until } from "../../contract/clock.ts"
import { ask, chunksOf, dataOf, delta, end, finish, helloReply } from "../../contract/wire.ts"

const appOf = (script: Script | ReadonlyArray<Script>, settings: Partial<SettingsShape> = {}) => {
  const seen = { calls: 0, aborts: 0 }
  const layer = TestApp.layer({
    settings: {
      // Switched off, because a second reply could come from the prompt cache as well.
      cache: { ...testSettings.cache, enabled: false },
      routing: { defaultSort: "price", retries: 0, hedgeAfterMs: null, continueStreams: false, modelsFallback: [] },
      ...settings
    },
    providers: [
      {
        slug: "alpha",
        config: { models: [scriptedOffer("test/small"), { ...scriptedOffer("test/embed"), embeddings: true }] },
        models: {
          "test/small": script,
          "test/embed": {
            vectors: { vectors: [[0.1, -2]], usage: { promptTokens: 4, completionTokens: 0, cachedTokens: 0 } }
          }
        },
        onCall: () => void seen.calls++,
        onAbort: () => void seen.aborts++
      }
    ]
  })
  return { layer, seen }
}

const named = (name: string) => ({ headers: { "idempotency-key": name } })

const spentBy = (id: string) =>
  Effect.gen(function* () {
    const { adminKey, send } = yield* TestApp
    const key = JSON.parse((yield* send(`/v1/keys/${id}`, { headers: { "x-admin-key": adminKey } })).text)
    return [key.usage.month_spent_usd, key.usage.month_reserved_usd]
  })

it.effect(
  "a retry gets the same reply byte for byte, without a charge, whatever the order of the body's members",
  () => {
    const { layer, seen } = appOf({ reply: helloReply })
    return Effect.gen(function* () {
      const { chat, issueKey, send } = yield* TestApp
      const { id, secret: key } = yield* issueKey()
      const first = yield* chat(ask("Hi", { seed: 1, user: null }), { key, ...named("order 7!") })
      assert.strictEqual(first.status, 200)
      assert.isNull(first.headers.get("idempotent-replayed"))
      yield* TestClock.adjust("23 hours")
      const again = yield* chat({ seed: 1, ...ask("Hi") }, { key, ...named("order 7!") })
      assert.deepStrictEqual([again.status, again.text], [200, first.text])
      assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
      for (const header of ["x-generation-id", "x-tollgate-provider", "content-type"]) {
        assert.strictEqual(again.headers.get(header), first.headers.get(header), header)
      }
      assert.isNotNull(again.headers.get("x-ratelimit-remaining-requests"))
      assert.strictEqual(seen.calls, 1)
      assert.deepStrictEqual(yield* spentBy(id), [0.000005, 0])
      assert.lengthOf(JSON.parse((yield* send("/v1/generations", { key })).text).data, 1)

      // The stored reply is deleted after a day.
      yield* TestClock.adjust("1 hour")
      const later = yield* chat(ask("Hi", { seed: 1 }), { key, ...named("order 7!") })
      assert.notStrictEqual(later.text, first.text)
      assert.strictEqual(seen.calls, 2)
    }).pipe(Effect.provide(layer))
  }
)

it.effect("replays a stream byte for byte: its chunks, its usage, [DONE]", () => {
  const events = [
    delta({ role: "assistant", content: "" }),
    delta({ content: "Hel" }),
    delta({ content: "lo", reasoning: "because" }),
    delta({ tool_calls: [{ index: 0, id: "call_1", function: { name: "f", arguments: "{}" } }] }),
    finish(),
    end
  ]
  const { layer, seen } = appOf({ events })
  return Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { id, secret: key } = yield* issueKey()
    const request = ask("Hi", { stream: true })
    const first = yield* chat(request, { key, ...named("s") })
    const again = yield* chat(request, { key, ...named("s") })
    assert.deepStrictEqual(dataOf(again.text).at(-1), "[DONE]")
    assert.strictEqual(again.text, first.text)
    assert.strictEqual(again.headers.get("content-type"), "text/event-stream; charset=utf-8")
    assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
    assert.strictEqual(chunksOf(again.text).at(-1)?.usage?.completion_tokens, 2)
    assert.strictEqual(seen.calls, 1)
    assert.deepStrictEqual(yield* spentBy(id), [0.000007, 0])
  }).pipe(Effect.provide(layer))
})

it.effect("replays embeddings", () => {
  const { layer, seen } = appOf({ reply: helloReply })
  return Effect.gen(function* () {
    const { chat, issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey()
    const body = {
      model: "test/embed",
      input: "a",
      encoding_format: "base64",
      messages: [{ role: "user", content: "Hi" }]
    }
    const first = yield* send("/v1/embeddings", { body, key, ...named("e") })
    const again = yield* send("/v1/embeddings", { body, key, ...named("e") })
    assert.strictEqual(first.status, 200)
    assert.strictEqual(again.text, first.text)
    assert.strictEqual(again.headers.get("x-generation-id"), first.headers.get("x-generation-id"))
    assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
    assert.strictEqual(seen.calls, 1)
    // The same body at another endpoint is another request.
    assert.strictEqual((yield* chat(body, { key, ...named("e") })).status, 422)
  }).pipe(Effect.provide(layer))
})

each("runs one of many concurrent equal requests; the others are told to retry, and then get its reply", (surface) => {
  const { layer, seen } = appOf({ delayMs: 5_000, reply: helloReply })
  return Effect.gen(function* () {
    const { issueKey, send, url } = yield* TestApp
    const { secret: key } = yield* issueKey()
    const ask = send(surface.path, { body: surface.body({ text: "Hi" }), key, ...named("k") })
    const running = yield* Effect.forkChild(ask, { startImmediately: true })
    yield* until(() => seen.calls === 1)
    const others = yield* Effect.all(
      Array.from({ length: 5 }, () => ask),
      { concurrency: "unbounded" }
    )
    for (const { headers, status, text } of others) {
      assert.strictEqual(status, 409)
      assert.strictEqual(headers.get("retry-after"), "1")
      assert.isNull(headers.get("x-generation-id"))
      assert.strictEqual(surface.read(text).error?.code, "idempotency_key_in_use")
    }
    // The names of different keys are independent.
    const { secret: other } = yield* issueKey()
    const theirs = open(`${url}${surface.path}`, other, surface.body({ text: "Hi" }))
    yield* until(() => seen.calls === 2)
    theirs.hangUp()
    yield* TestClock.adjust("5 seconds")
    const first = yield* Fiber.join(running)
    assert.strictEqual(first.status, 200)
    assert.strictEqual((yield* ask).text, first.text)
  }).pipe(Effect.provide(layer))
})

it.effect("refuses another body under a used name, while the first runs and afterwards", () => {
  const { layer, seen } = appOf({ reply: helloReply })
  return Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret: key } = yield* issueKey()
    yield* chat(ask("Hi"), { key, ...named("k") })
    for (const body of [ask("Ho"), ask("Hi", { stream: true }), ask("Hi", { unknown: 1 })]) {
      const { headers, status, text } = yield* chat(body, { key, ...named("k") })
      assert.strictEqual(status, 422)
      assert.isNull(headers.get("retry-after"))
      const { detail, error } = JSON.parse(text)
      assert.deepInclude(error, { type: "idempotency_conflict", code: "idempotency_key_reused", retryable: false })
      assert.deepStrictEqual(detail[0].loc, ["header", "idempotency-key"])
    }
    assert.strictEqual(seen.calls, 1)
  }).pipe(Effect.provide(layer))
})

it.effect("a name has 1 to 255 printable ASCII characters", () => {
  const { layer } = appOf({ reply: helloReply })
  return Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret: key } = yield* issueKey()
    assert.strictEqual((yield* chat(ask("Hi"), { key, ...named("~".repeat(255)) })).status, 200)
    for (const name of ["", "x".repeat(256), "caf\u00e9", "a\tb"]) {
      const { status, text } = yield* chat(ask("Hi"), { key, ...named(name) })
      assert.strictEqual(status, 422, name)
      const { detail, error } = JSON.parse(text)
      assert.strictEqual(error.type, "invalid_request_error")
      assert.deepStrictEqual(detail[0].loc, ["header", "idempotency-key"])
      assert.strictEqual(detail[0].type, "string_pattern_mismatch")
    }
  }).pipe(Effect.provide(layer))
})

each("a request that is refused, fails or breaks off midway releases the name", (surface) => {
  const broken = { events: [delta({ content: "Hel" }), new Cut({ detail: "reset" })] }
  const { layer, seen } = appOf([
    { failure: new ServerFault({ status: 500, retryAfterMs: null }) },
    { failure: new Rejected({ status: 400, message: "no", param: null, code: null, contextLength: false }) },
    { reply: helloReply },
    broken,
    { events: [delta({ content: "Hello" }), finish(), end] }
  ])
  return Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret: own } = yield* issueKey()
    const ask = (name: string, stream = false, key = own) =>
      send(surface.path, { body: surface.body({ text: "Hi", stream }), key, ...named(name) })
    const statuses: Array<number> = []
    for (let time = 0; time < 4; time++) statuses.push((yield* ask("a")).status)
    assert.deepStrictEqual(statuses, [502, 400, 200, 200])
    assert.strictEqual(seen.calls, 3)

    const cut = yield* ask("b", true)
    assert.strictEqual(surface.read(cut.text).error?.code, "provider_error")
    const whole = yield* ask("b", true)
    assert.isNull(whole.headers.get("idempotent-replayed"))
    assert.isTrue(surface.read(whole.text).isWhole)
    assert.strictEqual((yield* ask("b", true)).text, whole.text)
    assert.strictEqual(seen.calls, 5)

    const poor = yield* issueKey({ monthlyBudgetNano: 0 })
    for (const status of [402, 402]) {
      assert.strictEqual((yield* ask("a", false, poor.secret)).status, surface.status(status))
    }
  }).pipe(Effect.provide(layer))
})

each("a client that leaves midway releases the name", (surface) => {
  const { layer, seen } = appOf([
    { hangs: true },
    { events: [delta({ content: "Hel" }), 60_000, end] },
    { events: [delta({ content: "Hello" }), finish(), end] }
  ])
  return Effect.gen(function* () {
    const { issueKey, send, url } = yield* TestApp
    const { secret: key } = yield* issueKey()
    const body = surface.body({ text: "Hi", stream: true })
    for (const calls of [1, 2]) {
      const leaving = open(`${url}${surface.path}`, key, body, named("k").headers)
      yield* until(() => seen.calls === calls && (calls === 1 || leaving.text().includes("Hel")))
      leaving.hangUp()
      yield* until(() => seen.aborts === calls)
      yield* settle
    }
    const whole = yield* send(surface.path, { body, key, ...named("k") })
    assert.deepStrictEqual([whole.status, whole.headers.get("idempotent-replayed")], [200, null])
    assert.isTrue(surface.read(whole.text).isWhole)
  }).pipe(Effect.provide(layer))
})

it.effect("a retry counts for the rate limit, and passes budget and whitelist; its tokens are returned", () => {
  const { layer } = appOf({ reply: helloReply })
  return Effect.gen(function* () {
    const { adminKey, chat, issueKey, send } = yield* TestApp
    const { id, secret: key } = yield* issueKey({ tier: "free" })
    const request = ask("Hi", { max_tokens: 1_000 })
    const first = yield* chat(request, { key, ...named("k") })
    const body = { monthly_budget_usd: 0, allowed_models: ["no/such"], force: true }
    yield* send(`/v1/keys/${id}`, { method: "PATCH", headers: { "x-admin-key": adminKey }, body })
    const again = yield* chat(request, { key, ...named("k") })
    assert.strictEqual(again.text, first.text)
    assert.strictEqual((yield* chat(request, { key, ...named("l") })).status, 402)
    for (let time = 0; time < 17; time++) yield* chat(request, { key, ...named("k") })
    const limited = yield* chat(request, { key, ...named("k") })
    assert.strictEqual(limited.status, 429)
    assert.strictEqual(limited.headers.get("x-ratelimit-remaining-tokens"), "39996")
  }).pipe(Effect.provide(layer))
})

it.effect("works with either header of the key; a new secret cannot read the replies of the old one", () => {
  const { layer, seen } = appOf({ reply: helloReply })
  return Effect.gen(function* () {
    const { adminKey, chat, issueKey, send } = yield* TestApp
    const { id, secret } = yield* issueKey()
    const first = yield* chat(ask("Hi"), { key: secret, ...named("k") })
    const byHeader = yield* chat(ask("Hi"), { headers: { "x-api-key": secret, ...named("k").headers } })
    assert.strictEqual(byHeader.text, first.text)
    const rotated = yield* send(`/v1/keys/${id}/rotate`, {
      headers: { "x-admin-key": adminKey },
      body: { grace_seconds: 60 }
    })
    const { key } = JSON.parse(rotated.text)
    assert.strictEqual((yield* chat(ask("Hi"), { key, ...named("k") })).status, 422)
    assert.strictEqual((yield* chat(ask("Hi"), { key: secret, ...named("k") })).text, first.text)
    assert.strictEqual(seen.calls, 1)
  }).pipe(Effect.provide(layer))
})

it.effect("ignores the header when it is switched off", () => {
  const { layer, seen } = appOf({ reply: helloReply }, { idempotency: { enabled: false, ttlSeconds: 60 } })
  return Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret: key } = yield* issueKey()
    yield* chat(ask("Hi"), { key, ...named("k") })
    assert.strictEqual((yield* chat(ask("Ho"), { key, ...named("k") })).status, 200)
    assert.strictEqual(seen.calls, 2)
  }).pipe(Effect.provide(layer))
})
