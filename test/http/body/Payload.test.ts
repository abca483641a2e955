/**
 * A long body is decoded in turns, with the same result as in one step: the value, or the same
 * faults.
 */
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Clock, Effect, Exit, Result, Schema, type SchemaAST, SchemaParser } from "effect"
import { PrivacyPreviewRequest } from "../../../src/api/Privacy.ts"
import { strict } from "../../../src/api/schemas/Strictness.ts"
import { ChatRequest } from "../../../src/domain/Chat.ts"
import { EmbeddingRequest } from "../../../src/domain/Embedding.ts"
import { narrowJson } from "../../../src/http/body/NarrowJson.ts"
import { makeDecode, MIDDLING_CHARACTERS, SHORT_CHARACTERS } from "../../../src/http/body/Payload.ts"
import { plainBody } from "../../../src/http/body/PlainBody.ts"
import { pausing } from "../../../src/http/body/PausingCodec.ts"
import { validationFaults } from "../../../src/http/body/ValidationFaults.ts"
import { shortTurns } from "../../support/turns.ts"

// The same cases in every run.
Arbitrary.configureGlobal({ check: { seed: "tollgate" } })

const told = (value: unknown, result: Result.Result<unknown, Parameters<typeof validationFaults>[0]>) =>
  Result.isSuccess(result) ? { value: result.success } : { faults: validationFaults(result.failure, "body", value) }

const codecs = { ChatRequest, EmbeddingRequest, PrivacyPreviewRequest }
const manners: ReadonlyArray<SchemaAST.ParseOptions> = [{ errors: "first" }, { ...strict, errors: "first" }]

const isAlike = Effect.fnUntraced(function* (value: unknown) {
  for (const schema of Object.values(codecs)) {
    const codec = Schema.toCodecJson<Schema.Codec<unknown, unknown>>(schema)
    const { turns } = shortTurns()
    for (const options of manners) {
      const whole = SchemaParser.decodeUnknownResult(codec, options)(value)
      const parts = yield* Effect.result(SchemaParser.decodeUnknownEffect(pausing(codec, turns), options)(value))
      assert.deepStrictEqual(told(value, parts), told(value, whole))
    }
    const plain = plainBody(codec)
    assert.strictEqual(plain === null, schema === PrivacyPreviewRequest)
    if (plain === null) continue
    const whole = SchemaParser.decodeUnknownResult(codec)(value)
    // Only what is valid is decoded without a copy, and all of it is.
    assert.deepStrictEqual(plain.decode(value), Result.isSuccess(whole) ? whole.success : undefined)
  }
})

const message = { role: "user", content: "Hi" }
const bodies: ReadonlyArray<unknown> = [
  { model: "m", messages: [message, { role: "user", content: [{ type: "text", text: "Hi" }, {}] }] },
  { model: "m", messages: [] },
  { model: "", messages: [message, 1, { role: "nobody" }, { role: "user", content: null }, message] },
  { model: "m", messages: [message, { role: "user", content: [{}, 1, {}] }, { role: 1 }], temperature: 3, n: 0 },
  { model: "m", messages: [{ role: "assistant", content: null, tool_calls: [{ id: "a" }, "b", 3] }], stop: ["a", 1] },
  { model: "m", messages: [message], tools: Array.from({ length: 1_030 }, () => ({})), models: [], stream: 1 },
  { model: "m", messages: Array.from({ length: 300 }, (_, at) => (at % 2 === 0 ? message : at)) },
  {
    model: "m",
    messages: [message],
    provider: { order: ["a", 1], only: [], sort: "x", other: 1 },
    metadata: { a: [1] }
  },
  // 1e400: a number that JSON can express and a double cannot.
  { model: "m", messages: [message], metadata: { a: [Infinity] } },
  { model: "m", messages: [message, { role: "user", content: [{ text: "Hi", more: { a: [1, Infinity] } }] }] },
  { model: "m", messages: [{ ...message, tool_calls: [{ a: 1 }, { a: Infinity }] }], more: Infinity },
  { model: "m", messages: [{ ...message, more: -Infinity }], seed: Infinity, "": Infinity },
  { model: "m", messages: [message], __proto__: { a: 1 }, constructor: [Infinity] },
  { model: "m", input: ["a", "b"], more: [Infinity] },
  { model: "m", input: ["a", "b"] },
  { model: "m", input: ["a", 1, "b", 2], dimensions: 0 },
  { model: "m", input: [] },
  { text: null, messages: [message, { role: "user" }], entities: ["a", 1], more: 1 },
  { messages: 1 },
  [],
  null
]

const Scalar = Schema.Union([
  Schema.Literals(["user", "assistant", "tool", "Hi", ""]),
  Schema.Int.check(Schema.isBetween({ minimum: -2, maximum: 300 })),
  Schema.Null
])
const some = <S extends Schema.Top>(entry: S) => Schema.Array(entry).check(Schema.isMaxLength(5))
const Part = Schema.Union([
  Scalar,
  Schema.Struct({ type: Schema.optionalKey(Scalar), text: Schema.optionalKey(Scalar) })
])
const List = some(Part)
const Either = Schema.Union([Scalar, List])
const Message = Schema.Struct({
  role: Scalar,
  content: Schema.optionalKey(Either),
  tool_calls: Schema.optionalKey(List),
  name: Schema.optionalKey(Scalar),
  more: Schema.optionalKey(List)
})
const AnyBody = Schema.Struct({
  model: Schema.optionalKey(Scalar),
  messages: Schema.optionalKey(some(Schema.Union([Message, Scalar]))),
  input: Schema.optionalKey(Either),
  text: Schema.optionalKey(Scalar),
  entities: Schema.optionalKey(List),
  stop: Schema.optionalKey(Either),
  tools: Schema.optionalKey(List),
  models: Schema.optionalKey(List),
  temperature: Schema.optionalKey(Scalar),
  provider: Schema.optionalKey(Schema.Struct({ order: List, ignore: List }))
})

describe("A codec that pauses", () => {
  it.effect("decodes each body like the original codec: to the value, or to the same fault", () =>
    Effect.forEach(bodies, isAlike, { discard: true })
  )

  it.effect.prop("decodes any other body like the original codec", { body: AnyBody }, ({ body }) => isAlike(body))

  it.effect("yields before each entry of a list when its turn is over, however deep the list is", () =>
    Effect.gen(function* () {
      const { taken, turns } = shortTurns()
      const decode = SchemaParser.decodeUnknownEffect(pausing(Schema.toCodecJson(ChatRequest), turns))
      yield* decode({ model: "m", messages: Array.from({ length: 50 }, () => message) })
      assert.strictEqual(taken.turns, 50)
      yield* decode({ model: "m", messages: [{ role: "user", content: Array.from({ length: 30 }, () => ({})) }] })
      assert.strictEqual(taken.turns, 50 + 1 + 30)
    })
  )

  it("does not pause while its turn lasts", () => {
    const { turns } = shortTurns()
    const decode = SchemaParser.decodeUnknownEffect(
      pausing(Schema.toCodecJson(ChatRequest), { ...turns, isOver: () => false })
    )
    assert.isTrue(Exit.isExit(decode({ model: "m", messages: [message] })))
  })
})

/** Each reading of this clock is a millisecond later. */
const ticking = Effect.map(Clock.Clock, (clock): Clock.Clock => {
  let nanos = 0n
  return Object.assign(Object.create(clock), { monotonicTimeNanosUnsafe: () => (nanos += 1_000_000n) })
})

describe("A body", () => {
  const chat = (count: number) =>
    JSON.stringify({
      model: "m",
      messages: Array.from({ length: count }, (_, at) => ({ role: "user", content: `${at}` }))
    })

  it.effect("that is long yields to the event loop many times while it is decoded", () =>
    Effect.gen(function* () {
      const decode = yield* Effect.provideService(makeDecode(ChatRequest), Clock.Clock, yield* ticking)
      const text = chat(1_000) + " ".repeat(2 * MIDDLING_CHARACTERS)
      let rounds = 0
      let isOver = false
      const round = () => {
        if (isOver) return
        rounds++
        setImmediate(round)
      }
      round()
      const { messages } = yield* decode({ text, hasLongNumber: false })
      isOver = true
      assert.lengthOf(messages, 1_000)
      // A turn of four readings, and one before and after the parse.
      assert.isAtLeast(rounds, 200)
    })
  )

  it.effect("that is short is decoded at once", () =>
    Effect.gen(function* () {
      const decode = yield* Effect.provideService(makeDecode(ChatRequest), Clock.Clock, yield* ticking)
      const text = chat(100)
      assert.isBelow(text.length, SHORT_CHARACTERS)
      assert.isTrue(Exit.isExit(decode({ text, hasLongNumber: false })))
      // A middling one too if it is valid, unless a number takes long to parse.
      const middling = chat(1_000)
      assert.isAbove(middling.length, SHORT_CHARACTERS)
      assert.isTrue(Exit.isExit(decode({ text: middling, hasLongNumber: false })))
      assert.isFalse(Exit.isExit(decode({ text: middling, hasLongNumber: true })))
      const long = { text: middling + " ".repeat(MIDDLING_CHARACTERS), hasLongNumber: false }
      assert.isFalse(Exit.isExit(decode(long)))
      assert.lengthOf((yield* decode(long)).messages, 1_000)
      assert.isFalse(Exit.isExit(decode({ text: middling.replace("user", "nobody"), hasLongNumber: false })))
    })
  )

  it.effect("is refused with the same faults whether it is long or short", () =>
    Effect.gen(function* () {
      const decode = yield* makeDecode(ChatRequest)
      const refused = (text: string) => Effect.flip(decode({ text, hasLongNumber: false }))
      const middling = " ".repeat(SHORT_CHARACTERS)
      const long = " ".repeat(MIDDLING_CHARACTERS)
      const huge = " ".repeat(2 * MIDDLING_CHARACTERS)
      for (const text of ['{"model":1,"messages":[{"role":"user"},2]}', "{]", '{"model":"m","messages":[]}']) {
        assert.deepStrictEqual(yield* refused(text + middling), yield* refused(text))
        assert.deepStrictEqual(yield* refused(text + long), yield* refused(text))
        assert.deepStrictEqual(yield* refused(text + huge), yield* refused(text))
      }
    })
  )

  it.effect("is refused with the place in the body as it came, however it was decoded", () =>
    Effect.gen(function* () {
      const decode = yield* makeDecode(ChatRequest)
      const body = `{"model":"東京","x":"${"a".repeat(2_000)}",}`
      const bytes = Buffer.from(body)
      const text = narrowJson(bytes) ?? assert.fail("decoded as it came")
      const [fault] = yield* Effect.flip(decode({ text, bytes, hasLongNumber: false }))
      assert.deepStrictEqual(fault?.loc, ["body", body.length - 1])
    })
  )
})
