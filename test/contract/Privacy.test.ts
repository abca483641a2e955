/**
 * Masking seen from both ends: a provider in another process, which receives no value, and a
 * client, which reads its own values back, in JSON and in streams that are split at every
 * character.
 */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { defaultTimeouts, type ProviderConfig, unknownPolicy } from "../../src/domain/Catalog.ts"
import { type PrivacyRules } from "../../src/domain/Privacy.ts"
import { scriptedOffer } from "../../src/testing/ScriptedProvider.ts"
import { noPrivacy } from "../../src/settings/sections/PrivacySection.ts"
import { read, useUpstream } from "../faults/gateway.ts"
import { TestApp } from "../support/TestApp.ts"
import { chatBody, chunkBody, DONE, embeddingsBody, sse, usageChunkBody } from "../support/upstream/Bodies.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"

const upstream = useUpstream()

const values = {
  email: "ann.smith@example.com",
  phone: "+41 44 668 18 00",
  card: "4111 1111 1111 1111",
  iban: "CH93 0076 2011 6238 5295 7",
  ssn: "123-45-6789",
  ip: "2001:db8::1",
  secret: `ghp_${"a1B2".repeat(9)}`,
  key: `-----BEGIN PRIVATE KEY-----\n${"MIIE".repeat(16)}\n-----END PRIVATE KEY-----`
}

let made = 0

/** A gateway that masks, in front of a provider with one behaviour. */
const masking = Effect.fnUntraced(function* (does: Behaviour, rules: Partial<PrivacyRules> = {}, embeddings = false) {
  const name = `privacy-${made++}`
  yield* Effect.promise(() => upstream().script(name, does))
  const provider: ProviderConfig = {
    slug: "alpha",
    name: "alpha",
    dialect: "openai",
    baseUrl: upstream().url,
    apiKey: Redacted.make("sk-of-the-provider"),
    auth: { type: "bearer" },
    headers: {},
    query: {},
    dataPolicy: unknownPolicy,
    timeouts: { ...defaultTimeouts, firstTokenMs: 30_000, idleMs: 30_000 },
    models: [{ ...scriptedOffer("test/small"), upstream: name, embeddings }]
  }
  const settings = { providers: [provider], privacy: { ...noPrivacy, mode: "mask" as const, ...rules } }
  const app = Context.get(yield* Effect.orDie(Layer.build(TestApp.layer({ settings }))), TestApp)
  const { secret } = yield* app.issueKey()
  return {
    send: (path: string, body: unknown) => app.send(path, { body, key: secret }),
    received: Effect.map(
      Effect.promise(() => upstream().requests()),
      (requests) => requests.filter(({ model }) => model === name).map(({ rawBody }) => rawBody)
    )
  }
})

const prompt = Object.values(values).join("; ")
const seen = "[EMAIL_1]; [PHONE_1]; [CREDIT_CARD_1]; [IBAN_1]; [US_SSN_1]; [IP_ADDRESS_1]; [SECRET_1]; [SECRET_2]"
const body = (stream: boolean) => ({ model: "test/small", messages: [{ role: "user", content: prompt }], stream })
const given = JSON.stringify({ to: "[EMAIL_1]", key: "[secret_2]", text: "[EMAIL_9]" })

const assertMasked = (received: ReadonlyArray<string>) => {
  assert.lengthOf(received, 1)
  for (const raw of received) {
    assert.strictEqual(JSON.parse(raw).messages[0].content, seen)
    for (const value of Object.values(values)) assert.notInclude(raw, JSON.stringify(value).slice(1, -1))
  }
}

const assertRestored = ({ content, toolArguments }: ReturnType<typeof read>) => {
  assert.strictEqual(content, `You said: ${prompt} [EMAIL_9]`)
  assert.deepStrictEqual(JSON.parse(toolArguments[0] ?? ""), { to: values.email, key: values.key, text: "[EMAIL_9]" })
}

it.live("a JSON reply", () =>
  Effect.gen(function* () {
    const { received, send } = yield* masking({
      json: chatBody({
        content: `You said: ${seen.toLowerCase()} [EMAIL_9]`,
        message: { tool_calls: [{ id: "call_1", type: "function", function: { name: "f", arguments: given } }] },
        finish_reason: "tool_calls"
      })
    })
    const { status, text } = yield* send("/v1/chat/completions", body(false))
    assert.strictEqual(status, 200)
    assertRestored(read(text))
    assertMasked(yield* received)
  }).pipe(Effect.scoped)
)

it.live("a stream that is split at every character", () =>
  Effect.gen(function* () {
    const call = (members: Readonly<Record<string, unknown>>) =>
      sse(chunkBody({ tool_calls: [{ index: 0, ...members }] }))
    const { received, send } = yield* masking({
      chunks: [
        sse(chunkBody({ role: "assistant", content: "" })),
        ...`You said: ${seen} [EMAIL_9]`.split("").map((content) => sse(chunkBody({ content }))),
        call({ id: "call_1", type: "function", function: { name: "f", arguments: "" } }),
        ...given.split("").map((piece) => call({ function: { arguments: piece } })),
        sse(chunkBody({}, "tool_calls")),
        sse(usageChunkBody()),
        DONE
      ]
    })
    const { status, text } = yield* send("/v1/chat/completions", body(true))
    assert.strictEqual(status, 200)
    const reply = read(text)
    assertRestored(reply)
    assert.deepStrictEqual([reply.finishReasons, reply.isDone], [["tool_calls"], true])
    assertMasked(yield* received)
  }).pipe(Effect.scoped)
)

it.live("in mode block the client gets a 403 with counts, and the provider gets nothing", () =>
  Effect.gen(function* () {
    const { received, send } = yield* masking({ json: chatBody() }, { mode: "block" })
    const { headers, status, text } = yield* send("/v1/chat/completions", body(true))
    assert.strictEqual(status, 403)
    assert.strictEqual(headers.get("x-ratelimit-remaining-requests"), "2999")
    const { error } = JSON.parse(text)
    assert.deepInclude(error, {
      type: "privacy_blocked",
      code: "privacy_blocked",
      retryable: false,
      details: { counts: { email: 1, phone: 1, credit_card: 1, iban: 1, us_ssn: 1, ip_address: 1, secret: 2 } }
    })
    for (const value of Object.values(values)) assert.notInclude(text, value)
    assert.deepStrictEqual(yield* received, [])
  }).pipe(Effect.scoped)
)

it.live("embeddings", () =>
  Effect.gen(function* () {
    const { received, send } = yield* masking({ json: embeddingsBody([[1, 2]]) }, {}, true)
    const { status } = yield* send("/v1/embeddings", { model: "test/small", input: prompt })
    assert.strictEqual(status, 200)
    assert.deepStrictEqual(
      (yield* received).map((raw) => JSON.parse(raw).input),
      [seen]
    )
  }).pipe(Effect.scoped)
)
