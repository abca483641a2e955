/**
 * What holds for every API that answers a conversation, whichever form its requests and answers
 * have: keys, the order of the policies, money, retries, broken streams, masking.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { type PrivacyRules } from "../../src/domain/Privacy.ts"
import { ApiKeys } from "../../src/gateway/keys/ApiKeys.ts"
import { CredentialsRefused, Cut } from "../../src/providers/Provider.ts"
import { noPrivacy } from "../../src/settings/sections/PrivacySection.ts"
import { type Script, scriptedOffer } from "../../src/testing/ScriptedProvider.ts"
import { eachLane, messagesSurface, providersOn, type Surface } from "../support/surfaces.ts"
import { TestApp } from "../support/TestApp.ts"
import { testSettings } from "../support/testSettings.ts"
import { open } from "./client.ts"
import { advanceUntil, until } from "./clock.ts"
import { delta, end, finish, helloReply } from "./wire.ts"

const tiers = {
  free: { requestsPerMinute: 1, tokensPerMinute: 40_000, concurrency: 4 },
  pro: { requestsPerMinute: 300, tokensPerMinute: 400_000, concurrency: 32 },
  enterprise: { requestsPerMinute: 3_000, tokensPerMinute: 4_000_000, concurrency: 256 }
}

const helloEvents = [delta({ content: "Hel" }), delta({ content: "lo" }), finish(), end]

/** A gateway in front of one provider with this script, and the requests that the provider got. */
const appOf = (surface: Surface, script: Script, privacy: Partial<PrivacyRules> = {}) => {
  const requests: Array<unknown> = []
  const layer = TestApp.layer({
    settings: {
      cache: { ...testSettings.cache, enabled: false },
      routing: { ...testSettings.routing, retries: 0, continueStreams: false },
      privacy: { ...noPrivacy, ...privacy },
      maxBodyBytes: 4_000,
      tiers
    },
    providers: providersOn(surface, [
      {
        slug: "alpha",
        models: { "test/small": script },
        onCall: (call) => void requests.push("native" in call ? (call.native?.body ?? call.request) : call.request)
      }
    ])
  })
  return { layer, requests }
}

const modes = [false, true]

eachLane("401, 403 scope, 413, 422, 429, 402, 403 whitelist, 404, then 200", (surface) =>
  Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const accounts = yield* ApiKeys
    const { id, secret } = yield* issueKey({ tier: "free" })
    const headers = { "content-type": "application/json" }
    const asked = (body: unknown, key = secret) =>
      Effect.map(
        send(surface.path, { body, key, headers }),
        ({ status, text }) => [status, surface.read(text).error?.code ?? "ok"] as const
      )
    const refused = (status: number, code: string) => [surface.status(status), code] as const
    assert.deepStrictEqual(yield* asked(surface.body({ text: "first" })), [200, "ok"])
    yield* accounts.change(id, { scopes: ["models:read"], monthlyBudgetNano: 0, allowedModels: ["other/*"] })

    const huge = JSON.stringify({ model: 1, filler: "x".repeat(5_000) })
    const unknown = surface.body({ text: "Hi", model: "no/such" })
    const known = surface.body({ text: "Hi" })
    assert.deepStrictEqual(yield* asked(huge, "tg-wrong"), refused(401, "invalid_api_key"))
    assert.deepStrictEqual(yield* asked(huge), refused(403, "scope_missing"))
    yield* accounts.change(id, { scopes: ["chat:write"] })
    assert.deepStrictEqual(yield* asked(huge), refused(413, "payload_too_large"))
    assert.deepStrictEqual(yield* asked({ model: 1 }), refused(422, "validation_failed"))
    assert.deepStrictEqual(yield* asked("{"), refused(422, "validation_failed"))
    assert.deepStrictEqual(yield* asked(unknown), refused(429, "requests_limit_exceeded"))
    yield* TestClock.adjust("1 minute")
    yield* accounts.change(id, { tier: "pro" })
    assert.deepStrictEqual(yield* asked(known), refused(402, "monthly_budget_exceeded"))
    yield* accounts.change(id, { monthlyBudgetNano: null })
    assert.deepStrictEqual(yield* asked(known), refused(403, "model_not_allowed"))
    assert.deepStrictEqual(yield* asked(unknown), refused(403, "model_not_allowed"))
    yield* accounts.change(id, { allowedModels: null })
    assert.deepStrictEqual(yield* asked(unknown), refused(404, "model_not_found"))
    assert.deepStrictEqual(yield* asked(known), [200, "ok"])
  }).pipe(Effect.provide(appOf(surface, { reply: helloReply }).layer))
)

eachLane("answers whole and streamed, and the receipt says what was told", (surface) =>
  Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey()
    for (const stream of modes) {
      const { headers, status, text } = yield* send(surface.path, { body: surface.body({ text: "Hi", stream }), key })
      assert.strictEqual(status, 200)
      const answer = surface.read(text)
      assert.deepInclude(answer, { text: "Hello", model: "test/small", isWhole: true, error: undefined })
      const receipt = yield* send(`/v1/generations/${headers.get("x-generation-id")}`, { key })
      const { streamed, usage } = JSON.parse(receipt.text)
      assert.deepStrictEqual(answer.tokens, [usage.prompt_tokens, usage.completion_tokens])
      assert.deepStrictEqual([usage.prompt_tokens, streamed], [3, stream])
    }
  }).pipe(Effect.provide(appOf(surface, { reply: helloReply, events: helloEvents }).layer))
)

eachLane("a repeated Idempotency-Key gets the same bytes, without a second call", (surface) => {
  const { layer, requests } = appOf(surface, { reply: helloReply, events: helloEvents })
  return Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey()
    for (const [at, stream] of modes.entries()) {
      const headers = { "idempotency-key": `once-${stream}` }
      const asked = (text: string) => send(surface.path, { body: surface.body({ text, stream }), key, headers })
      const first = yield* asked("Hi")
      const again = yield* asked("Hi")
      assert.strictEqual(again.text, first.text)
      assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
      assert.lengthOf(requests, at + 1)
      const other = yield* asked("Ho")
      assert.strictEqual(other.status, surface.status(422))
      assert.strictEqual(surface.read(other.text).error?.code, "idempotency_key_reused")
    }
  }).pipe(Effect.provide(layer))
})

eachLane("a stream that breaks off ends with an error, and not as if it were whole", (surface) =>
  Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey()
    const { status, text } = yield* send(surface.path, { body: surface.body({ text: "Hi", stream: true }), key })
    const answer = surface.read(text)
    assert.deepStrictEqual([status, answer.text, answer.isWhole], [200, "Hel", false])
    assert.match(answer.error?.message ?? "", /broke off/)
  }).pipe(
    Effect.provide(
      appOf(surface, { events: [delta({ content: "Hel" }), new Cut({ detail: "the test cut it" })] }).layer
    )
  )
)

/** Two providers of one model: the stream of the first breaks off after `events`. */
const pairOf = (surface: Surface, events: ReadonlyArray<ReturnType<typeof delta>>) => {
  const provider = (slug: string, price: number, answered: Script) => ({
    slug,
    config: {
      models: [
        {
          ...scriptedOffer("test/small"),
          pricing: { prompt: price, completion: price, cachedPrompt: null },
          prefill: true
        }
      ]
    },
    models: { "test/small": answered }
  })
  return TestApp.layer({
    providers: providersOn(surface, [
      provider("alpha", 1_000_000, { events: [...events, new Cut({ detail: "the test cut it" })] }),
      provider("beta", 2_000_000, { events: [delta({ content: "lo" }), finish(), end] })
    ])
  })
}

eachLane("a stream that breaks off goes on at another provider as one stream", (surface) =>
  Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey()
    const { headers, text } = yield* send(surface.path, { body: surface.body({ text: "Hi", stream: true }), key })
    assert.deepInclude(surface.read(text), { text: "Hello", isWhole: true, error: undefined })
    const receipt = yield* send(`/v1/generations/${headers.get("x-generation-id")}`, { key })
    assert.deepInclude(JSON.parse(receipt.text), { provider: "beta", fallback_used: true })
  }).pipe(Effect.provide(pairOf(surface, [delta({ content: "Hel" })])))
)

it.effect("messages: after thoughts, which have a signature, no other provider goes on", () =>
  Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey()
    const { text } = yield* send(messagesSurface.path, {
      body: messagesSurface.body({ text: "Hi", stream: true }),
      key
    })
    const answer = messagesSurface.read(text)
    assert.deepStrictEqual([answer.text, answer.isWhole], ["Hel", false])
    assert.match(answer.error?.message ?? "", /broke off/)
  }).pipe(Effect.provide(pairOf(messagesSurface, [delta({ reasoning: "Hm." }), delta({ content: "Hel" })])))
)

eachLane("a failure before the first token has its status, and is an event once the head was sent", (surface) => {
  const refused: Script = { failure: new CredentialsRefused({ status: 401 }) }
  return Effect.gen(function* () {
    const early = appOf(surface, refused)
    yield* Effect.gen(function* () {
      const { issueKey, send } = yield* TestApp
      const { secret: key } = yield* issueKey()
      for (const stream of modes) {
        const { headers, status, text } = yield* send(surface.path, { body: surface.body({ text: "Hi", stream }), key })
        assert.deepStrictEqual([status, surface.read(text).error?.code], [surface.status(502), "provider_error"])
        assert.strictEqual(headers.get("x-should-retry"), "false")
      }
    }).pipe(Effect.provide(early.layer))
    const late = appOf(surface, { ...refused, delayMs: 40_000 })
    yield* Effect.gen(function* () {
      const { issueKey, url } = yield* TestApp
      const { secret } = yield* issueKey()
      const stream = open(`${url}${surface.path}`, secret, surface.body({ text: "Hi", stream: true }))
      yield* until(() => late.requests.length > 0)
      yield* advanceUntil(stream.ended)
      const answer = surface.read(stream.text())
      assert.deepStrictEqual([stream.status(), answer.isWhole], [200, false])
      assert.strictEqual(answer.error?.message, "No provider answered: alpha refused our key.")
    }).pipe(Effect.provide(late.layer))
  })
})

const email = "ann.smith@example.com"
const phone = "+41 44 668 18 00"

eachLane("masks every text of a request, and restores the answer, whole and in pieces", (surface) => {
  const argument = JSON.stringify({ to: "[EMAIL_1]" })
  const call = { id: "call_9", type: "function", function: { name: "write", arguments: argument } }
  const { layer, requests } = appOf(
    surface,
    {
      reply: {
        ...helloReply,
        choices: [
          {
            index: 0,
            message: { role: "assistant", content: "To [EMAIL_1]", tool_calls: [call] },
            finish_reason: "tool_calls"
          }
        ]
      },
      events: [
        ..."To [EMAIL_1]".split("").map((content) => delta({ content })),
        delta({ tool_calls: [{ ...call, index: 0, function: { name: "write", arguments: "" } }] }),
        ...argument.split("").map((piece) => delta({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
        finish("tool_calls"),
        end
      ]
    },
    { mode: "mask" }
  )
  return Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey()
    for (const stream of modes) {
      const body = surface.body({
        text: `Write to ${email}`,
        system: `You work for ${email}`,
        tool: "write",
        called: { tool: "write", argument: JSON.stringify({ to: email, by: phone }), result: `Sent to ${email}` },
        stream
      })
      const { status, text } = yield* send(surface.path, { body, key })
      const answer = surface.read(text)
      assert.deepStrictEqual([status, answer.text, answer.isWhole], [200, `To ${email}`, true])
      assert.deepStrictEqual(
        answer.toolArguments.map((given) => JSON.parse(given)),
        [{ to: email }]
      )
    }
    assert.lengthOf(requests, modes.length)
    for (const request of requests) {
      const sent = JSON.stringify(request)
      assert.notInclude(sent, email)
      assert.notInclude(sent, phone)
      assert.strictEqual(sent.match(/\[EMAIL_1\]/g)?.length, 4)
      assert.strictEqual(sent.match(/\[PHONE_1\]/g)?.length, 1)
    }
  }).pipe(Effect.provide(layer))
})
