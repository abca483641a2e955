import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { type ChatRequest } from "../../../src/domain/Chat.ts"
import { cacheKey, ToolDigests } from "../../../src/gateway/cache/CacheKey.ts"
import { reordered } from "../../support/reordered.ts"
import { oneTurn, shortTurns } from "../../support/turns.ts"
import { requestWith } from "../plans.ts"

const keyOf = (tenant: string, model: string, request: ChatRequest) =>
  Effect.runSync(cacheKey(tenant, model, request, oneTurn, new ToolDigests()))

const key = (request: Partial<ChatRequest> = {}, tenant = "key_1", model = "test/small") =>
  keyOf(tenant, model, requestWith(request))

it("two tenants and two models never share a key", () => {
  assert.notStrictEqual(key({}, "key_1"), key({}, "key_2"))
  assert.notStrictEqual(key({}, "key_1", "a/b"), key({}, "key_1", "a/c"))
  assert.notStrictEqual(keyOf("a\nb", "m", requestWith()), keyOf("a", "b\nm", requestWith()))
})

it("a model's bare slug and its full id have one key", () => {
  assert.strictEqual(key({ model: "small" }), key({ model: "test/small" }))
})

it("the order of members does not matter, the order of lists does", () => {
  assert.strictEqual(
    key({
      temperature: 0,
      metadata: null,
      response_format: { type: "json_schema", json_schema: { a: 1, b: { c: 2, d: 3 } } }
    }),
    key({ response_format: { json_schema: { b: { d: 3, c: 2 }, a: 1 }, type: "json_schema" }, temperature: 0 })
  )
  const [one, two] = [
    { role: "user", content: "1" },
    { role: "user", content: "2" }
  ] as const
  assert.notStrictEqual(key({ messages: [one, two] }), key({ messages: [two, one] }))
})

it("every member that changes the answer changes the key", () => {
  const variants: ReadonlyArray<Partial<ChatRequest>> = [
    {},
    { messages: [{ role: "system", content: "Hi" }] },
    { messages: [{ role: "user", content: "Hi " }] },
    { messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }] },
    { messages: [{ role: "user", content: "Hi", name: "ann" }] },
    { temperature: 0 },
    { temperature: 0.1 },
    { top_p: 0.5 },
    { max_tokens: 5 },
    { max_completion_tokens: 5 },
    { n: 2 },
    { stop: "x" },
    { stop: ["x"] },
    { seed: 1 },
    { presence_penalty: 1 },
    { frequency_penalty: 1 },
    { logprobs: true },
    { top_logprobs: 1 },
    { logit_bias: { "50256": -100 } },
    { tools: [{ type: "function" }] },
    { tool_choice: "auto" },
    { tool_choice: "none" },
    { parallel_tool_calls: false },
    { response_format: { type: "json_object" } },
    { reasoning_effort: "low" },
    { modalities: ["text"] },
    { prediction: { type: "content" } },
    { service_tier: "flex" },
    { provider: { allow_fallbacks: true, order: ["alpha"] } },
    { models: ["a/b"] },
    { metadata: { mock: { fail: "429" } } },
    { verbosity: "low" }
  ]
  const seen = new Map<string, string>()
  for (const variant of variants) {
    const name = key(variant)
    assert.isUndefined(seen.get(name), `${JSON.stringify(variant)} = ${seen.get(name)}`)
    seen.set(name, JSON.stringify(variant))
  }
})

it("the form of the reply, accounting members and nulls do not matter", () => {
  for (const same of [
    { stream: true },
    { stream_options: { include_usage: true } },
    { user: "ann" },
    { metadata: { trace: "1" } },
    { temperature: null }
  ]) {
    assert.strictEqual(key(same), key(), JSON.stringify(same))
  }
})

it("a temperature of 1 is the default, as is none", () => {
  assert.strictEqual(key({ temperature: 1 }), key())
  assert.notStrictEqual(key({ temperature: 0.99 }), key())
})

it.effect("a long request has the same key in one turn and in many, and differs from similar ones", () =>
  Effect.gen(function* () {
    const content = "word ".repeat(40_000)
    const named = (messages: ChatRequest["messages"]) => {
      const { taken, turns } = shortTurns()
      const request = requestWith({ messages })
      return Effect.map(cacheKey("key_1", "test/small", request, turns, new ToolDigests()), (name) => {
        assert.isAbove(taken.turns, 1)
        assert.strictEqual(name, key({ messages }))
        return name
      })
    }
    const many = Array.from({ length: 40_000 }, () => ({ role: "user" as const, content: "Hi" }))
    const names = [
      yield* named([{ role: "user", content }]),
      yield* named([{ role: "user", content: `${content} ` }]),
      yield* named([{ role: "user", content: `${content.slice(0, 100_000)}.${content.slice(100_001)}` }]),
      yield* named(many),
      yield* named(many.toSpliced(20_000, 1)),
      yield* named(many.with(20_000, { role: "user", content: "hi" }))
    ]
    assert.strictEqual(new Set(names).size, names.length)
  })
)

it("a member named like a prototype's is part of the key", () => {
  const more = (text: string) => key(JSON.parse(text))
  assert.notStrictEqual(more('{"__proto__":{"a":1}}'), more("{}"))
  assert.notStrictEqual(more('{"__proto__":{"a":1}}'), more('{"__proto__":{"a":2}}'))
})

it.prop("any unknown member is part of the key, in any order of its members", { value: Schema.Json }, ({ value }) => {
  const named = (member: Schema.Json) => key({ unknown: member } as Partial<ChatRequest>)
  assert.strictEqual(named(reordered(value)), named(value))
  assert.notStrictEqual(named([value]), named(value))
})

it("a request of several pieces is read once, but for its first characters", () => {
  let reads = 0
  const message = { role: "user" as const }
  Object.defineProperty(message, "content", { enumerable: true, get: () => (reads++, "A road is paid for.") })
  const messages = [
    ...Array.from({ length: 4_000 }, () => ({ role: "user" as const, content: "Hello there" })),
    message
  ]
  const long = key({ messages })
  assert.strictEqual(reads, 1)
  assert.strictEqual(long, key({ messages: [...messages.slice(0, -1), { ...message }] }))
})
