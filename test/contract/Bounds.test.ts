/**
 * The size limits of a model request's body, the members of `provider`, and integers that keep
 * their digits.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { type ScriptedProvider } from "../../src/testing/ScriptedProvider.ts"
import { TestApp } from "../support/TestApp.ts"
import { ask, helloReply } from "./wire.ts"

const app = TestApp.layer({ providers: [{ slug: "alpha", models: { "test/small": { reply: helloReply } } }] })

const faultsOf = Effect.fnUntraced(function* (body: unknown, path = "/v1/chat/completions") {
  const { issueKey, send } = yield* TestApp
  const { secret } = yield* issueKey()
  const { status, text } = yield* send(path, { body, key: secret, headers: { "content-type": "application/json" } })
  if (status !== 422) return [String(status)]
  return JSON.parse(text).detail.map(
    ({ loc, type }: { loc: ReadonlyArray<string>; type: string }) => `${loc.slice(1).join(".")} ${type}`
  )
})

const many = <A>(count: number, value: A) => Array.from({ length: count }, () => value)
const named = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, "x"]))

/** The largest accepted value, and the fault of one more. */
const bounds: ReadonlyArray<readonly [member: string, most: (extra: number) => unknown, fault: string]> = [
  ["models", (extra) => many(16 + extra, "test/small"), "too_long"],
  ["tools", (extra) => many(1_024 + extra, { type: "function", function: { name: "f" } }), "too_long"],
  ["stop", (extra) => many(256 + extra, "x"), "too_long"],
  ["modalities", (extra) => many(16 + extra, "text"), "too_long"],
  ["metadata", (extra) => named(256 + extra), "too_long"],
  ["logit_bias", (extra) => named(4_096 + extra), "too_long"],
  ["provider.order", (extra) => many(64 + extra, "alpha"), "too_long"],
  ["provider.only", (extra) => many(64 + extra, "alpha"), "too_long"],
  ["provider.ignore", (extra) => many(64 + extra, "beta"), "too_long"]
]

const asked = (member: string, value: unknown) => {
  const [outer = "", inner] = member.split(".")
  return ask("Hi", { [outer]: inner === undefined ? value : { [inner]: value } })
}

it.effect.each(bounds)("%s has a bound", ([member, most, fault]) =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* faultsOf(asked(member, most(0))), ["200"])
    assert.deepStrictEqual(yield* faultsOf(asked(member, most(1))), [`${member} ${fault}`])
  }).pipe(Effect.provide(app))
)

it.effect("names of models and providers have at most 256 characters, and an empty list is a fault", () =>
  Effect.gen(function* () {
    const long = "n".repeat(257)
    assert.deepStrictEqual(yield* faultsOf({ ...ask("Hi"), model: long }), ["model string_too_long"])
    assert.deepStrictEqual(yield* faultsOf(ask("Hi", { models: [long] })), ["models.0 string_too_long"])
    assert.deepStrictEqual(yield* faultsOf(ask("Hi", { models: ["😀".repeat(256)] })), ["200"])
    for (const name of ["order", "only", "ignore"]) {
      assert.deepStrictEqual(yield* faultsOf(ask("Hi", { provider: { [name]: [] } })), [`provider.${name} too_short`])
      assert.deepStrictEqual(yield* faultsOf(ask("Hi", { provider: { [name]: [long] } })), [
        `provider.${name}.0 string_too_long`
      ])
    }
    assert.deepStrictEqual(yield* faultsOf(ask("Hi", { models: [] })), ["models too_short"])
  }).pipe(Effect.provide(app))
)

it.effect("embeddings: at most 2,048 texts and 16,384 dimensions", () =>
  Effect.gen(function* () {
    const faults = (rest: object) => faultsOf({ model: "test/none", input: "x", ...rest }, "/v1/embeddings")
    assert.deepStrictEqual(yield* faults({ input: many(2_049, "x") }), ["input too_long"])
    assert.deepStrictEqual(yield* faults({ dimensions: 16_385 }), ["dimensions less_than_equal"])
    assert.deepStrictEqual(yield* faults({ input: many(2_048, "x"), dimensions: 16_384 }), ["404"])
  }).pipe(Effect.provide(app))
)

it.effect("a misspelt member of provider is refused on every endpoint that takes it, together with other faults", () =>
  Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey()
    for (const path of ["/v1/chat/completions", "/v1/route/preview"]) {
      const told = (provider: object) => faultsOf(ask("Hi", { provider }), path)
      assert.deepStrictEqual(yield* told({ data_colection: "deny" }), ["provider.data_colection extra_forbidden"])
      assert.deepStrictEqual(yield* told({ data_colection: "deny", sort: "best" }), [
        "provider.sort literal_error",
        "provider.data_colection extra_forbidden"
      ])
      assert.deepStrictEqual(yield* told({ max_price: { completions: 0 } }), [
        "provider.max_price.completions extra_forbidden"
      ])
    }
    const { text } = yield* send("/v1/chat/completions", {
      key: secret,
      body: ask("Hi", { provider: { data_colection: "deny" } })
    })
    assert.include(text, "did you mean 'data_collection'?")
  }).pipe(Effect.provide(app))
)

it.effect("every fault of a message is listed: a wrong role does not hide the missing content", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* faultsOf({ model: "m", messages: [{ role: "x" }, { role: 1, content: null }] }), [
      "messages.0.role literal_error",
      "messages.0.content missing",
      "messages.1.role literal_error",
      "messages.1.content string_type"
    ])
    assert.deepStrictEqual(yield* faultsOf({ mode: "zap" }, "/v1/privacy/preview"), [
      "mode literal_error",
      "text missing"
    ])
  }).pipe(Effect.provide(app))
)

it.effect("an integer beyond 2^53 is sent with all its digits; a seed has 64 bits", () => {
  const requests: Array<string> = []
  const onCall: NonNullable<ScriptedProvider["onCall"]> = ({ request }) => void requests.push(JSON.stringify(request))
  return Effect.gen(function* () {
    const send = (members: string) =>
      faultsOf(`{"model":"test/small","messages":[{"role":"user","content":"Hi"}],${members}}`)
    for (const seed of ["18446744073709551615", "-9223372036854775808", "9007199254740993", "7"]) {
      assert.deepStrictEqual(yield* send(`"seed":${seed}`), ["200"], seed)
      assert.include(requests.at(-1) ?? "", `"seed":${seed}`)
    }
    assert.deepStrictEqual(yield* send('"x":{"ids":[12345678901234567890,-12345678901234567891],"n":1.5}'), ["200"])
    assert.include(requests.at(-1) ?? "", '"x":{"ids":[12345678901234567890,-12345678901234567891],"n":1.5}')
    assert.deepStrictEqual(yield* send('"seed":18446744073709551616'), ["seed less_than_equal"])
    assert.deepStrictEqual(yield* send('"seed":1.5'), ["seed int_type"])
    assert.deepStrictEqual(yield* send('"seed":"7"'), ["seed int_type"])
    assert.deepStrictEqual(yield* send('"max_tokens":9007199254740993'), ["max_tokens less_than_equal"])
    assert.deepStrictEqual(yield* send('"temperature":1e400'), ["temperature finite_number"])
  }).pipe(
    Effect.provide(
      TestApp.layer({ providers: [{ slug: "alpha", models: { "test/small": { reply: helloReply } }, onCall }] })
    )
  )
})
