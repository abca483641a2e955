/**
 * Circuits and streams: first tokens, breaks and ends. Failures of whole calls are in
 * Router.test.ts.
 */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Option, Redacted, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Circuits } from "../../../src/gateway/health/Circuits.ts"
import {
  CredentialsRefused,
  Cut,
  ProviderError,
  type ProviderReason,
  Rejected,
  Throttled
} from "../../../src/providers/Provider.ts"
import { candidateWith } from "../plans.ts"

const alpha = candidateWith("alpha")
const other = candidateWith("alpha", { id: "test/large" })
const errorOf = (reason: ProviderReason) => new ProviderError({ provider: "alpha", reason })
const cut = errorOf(new Cut({ detail: "reset" }))

const asked = Effect.map(Circuits, ({ guard, recordBreak, recordEnd, state }) => {
  const firstToken = guard(alpha, true)(Effect.void)
  return {
    firstToken,
    whole: guard(alpha)(Effect.void),
    breaks: Effect.andThen(firstToken, recordBreak(alpha, cut)),
    ends: Effect.andThen(firstToken, () => recordEnd(alpha)),
    recordBreak,
    stateOf: (candidate = alpha) => Effect.map(state(candidate), (found) => found.state)
  }
})

it.effect("five streams in a row that break off after their first token open the model's circuit", () =>
  Effect.gen(function* () {
    const { breaks, firstToken, stateOf } = yield* asked
    for (let count = 0; count < 4; count++) yield* breaks
    assert.strictEqual(yield* stateOf(), "closed")
    yield* breaks
    assert.strictEqual(yield* stateOf(), "open")
    assert.strictEqual(yield* stateOf(other), "closed")
    assert.strictEqual((yield* Effect.flip(firstToken))._tag, "CircuitOpenError")
  }).pipe(Effect.provide(Circuits.layerMemory))
)

it.effect("a complete stream or a whole reply is a success that resets the count", () =>
  Effect.gen(function* () {
    const { breaks, ends, stateOf, whole } = yield* asked
    for (const success of [ends, whole, ends]) {
      for (let count = 0; count < 4; count++) yield* breaks
      yield* success
    }
    assert.strictEqual(yield* stateOf(), "closed")
  }).pipe(Effect.provide(Circuits.layerMemory))
)

it.effect("a client that leaves counts neither as a break nor as an end", () =>
  Effect.gen(function* () {
    const { breaks, firstToken, stateOf } = yield* asked
    for (let count = 0; count < 10; count++) yield* firstToken
    assert.strictEqual(yield* stateOf(), "closed")
    for (let count = 0; count < 4; count++) yield* breaks
    for (let count = 0; count < 10; count++) yield* firstToken
    assert.strictEqual(yield* stateOf(), "closed")
    yield* breaks
    assert.strictEqual(yield* stateOf(), "open")
  }).pipe(Effect.provide(Circuits.layerMemory))
)

it.effect("open for its streams, it closes with the end of one, and opens again with the next break", () =>
  Effect.gen(function* () {
    const { breaks, ends, firstToken, stateOf } = yield* asked
    for (let count = 0; count < 5; count++) yield* breaks
    yield* TestClock.adjust("1 second")
    yield* firstToken
    assert.strictEqual(yield* stateOf(), "half_open")
    yield* breaks
    assert.strictEqual(yield* stateOf(), "open")
    yield* TestClock.adjust("2 seconds")
    yield* ends
    assert.strictEqual(yield* stateOf(), "closed")
    // It has recovered: a first token counts again.
    yield* breaks
    yield* ends
    for (let count = 0; count < 4; count++) yield* breaks
    assert.strictEqual(yield* stateOf(), "closed")
  }).pipe(Effect.provide(Circuits.layerMemory))
)

it.effect("an end while the circuit is open does not close it", () =>
  Effect.gen(function* () {
    const { breaks, firstToken, stateOf } = yield* asked
    const { recordEnd } = yield* Circuits
    for (let count = 0; count < 5; count++) yield* breaks
    yield* recordEnd(alpha)
    assert.strictEqual(yield* stateOf(), "open")
    yield* TestClock.adjust("1 second")
    yield* firstToken
    assert.strictEqual(yield* stateOf(), "half_open")
  }).pipe(Effect.provide(Circuits.layerMemory))
)

it.effect("a break by the client's error does not count", () =>
  Effect.gen(function* () {
    const { firstToken, recordBreak, stateOf } = yield* asked
    const filtered = errorOf(
      new Rejected({ status: 400, message: "filtered", param: null, code: null, contextLength: false })
    )
    for (let count = 0; count < 10; count++) yield* Effect.andThen(firstToken, recordBreak(alpha, filtered))
    assert.strictEqual(yield* stateOf(), "closed")
  }).pipe(Effect.provide(Circuits.layerMemory))
)

/** A call that stays open until the test ends it. */
const open = Effect.gen(function* () {
  const { guard } = yield* Circuits
  const outcome = yield* Deferred.make<void, ProviderError>()
  const call = yield* Effect.forkChild(guard(alpha)(Deferred.await(outcome)), { startImmediately: true })
  const ends = (exit: Exit.Exit<void, ProviderError>) => Effect.andThen(Deferred.done(outcome, exit), Fiber.await(call))
  return { answers: ends(Exit.void), fails: ends(Exit.fail(errorOf(new Cut({ detail: "reset" })))) }
})

it.effect("calls that began together and fail one after the other open the circuit", () =>
  Effect.gen(function* () {
    const { stateOf } = yield* asked
    const calls = yield* Effect.replicateEffect(open, 5)
    for (const [at, { fails }] of calls.entries()) {
      assert.strictEqual(yield* stateOf(), "closed", `before failure ${at + 1}`)
      yield* fails
    }
    assert.strictEqual(yield* stateOf(), "open")
  }).pipe(Effect.provide(Circuits.layerMemory))
)

it.effect("the answer to a call that began before others failed resets the count", () =>
  Effect.gen(function* () {
    const { stateOf } = yield* asked
    const { answers } = yield* open
    for (let count = 0; count < 4; count++) yield* (yield* open).fails
    yield* answers
    for (let count = 0; count < 4; count++) yield* (yield* open).fails
    assert.strictEqual(yield* stateOf(), "closed")
    yield* (yield* open).fails
    assert.strictEqual(yield* stateOf(), "open")
  }).pipe(Effect.provide(Circuits.layerMemory))
)

it.effect("a late outcome of an earlier call neither closes an open circuit nor extends its pause", () =>
  Effect.gen(function* () {
    const { stateOf, whole } = yield* asked
    const [good, bad] = [yield* open, yield* open]
    for (let count = 0; count < 5; count++) yield* (yield* open).fails
    yield* good.answers
    assert.strictEqual(yield* stateOf(), "open")
    yield* TestClock.adjust("1 second")
    yield* bad.fails
    yield* whole
    assert.strictEqual(yield* stateOf(), "closed")
  }).pipe(Effect.provide(Circuits.layerMemory))
)

const failing = (keyId: string) =>
  Effect.flatMap(Circuits, ({ guard }) => Effect.ignore(guard(alpha, false, keyId)(Effect.fail(cut))))
const answered = (keyId: string) => Effect.flatMap(Circuits, ({ guard }) => guard(alpha, false, keyId)(Effect.void))

it.effect("a key whose requests fail does not open the circuit for another that uses it", () =>
  Effect.gen(function* () {
    const { stateOf } = yield* asked
    yield* answered("key_2")
    for (let count = 0; count < 20; count++) yield* failing("key_1")
    assert.strictEqual(yield* stateOf(), "closed")
    yield* answered("key_2")
  }).pipe(Effect.provide(Circuits.layerMemory))
)

it.effect("five failures open the circuit if the key is alone, or if they are of several keys", () =>
  Effect.gen(function* () {
    const { stateOf } = yield* asked
    for (let count = 0; count < 5; count++) yield* failing("key_1")
    assert.strictEqual(yield* stateOf(), "open")
  }).pipe(
    Effect.provide(Layer.fresh(Circuits.layerMemory)),
    Effect.andThen(
      Effect.gen(function* () {
        const { stateOf } = yield* asked
        yield* answered("key_2")
        yield* TestClock.adjust(60_001)
        for (let count = 0; count < 5; count++) yield* failing("key_1")
        assert.strictEqual(yield* stateOf(), "open", "the other key has not called for a minute")
      }).pipe(Effect.provide(Layer.fresh(Circuits.layerMemory)))
    ),
    Effect.andThen(
      Effect.gen(function* () {
        const { stateOf } = yield* asked
        for (let count = 1; count <= 5; count++) yield* failing(`key_${count}`)
        assert.strictEqual(yield* stateOf(), "open", "five keys")
      }).pipe(Effect.provide(Layer.fresh(Circuits.layerMemory)))
    )
  )
)

it.effect("a circuit whose pause is over is half open: the next call goes through", () =>
  Effect.gen(function* () {
    const { breaks, stateOf } = yield* asked
    for (let count = 0; count < 5; count++) yield* breaks
    assert.strictEqual(yield* stateOf(), "open")
    yield* TestClock.adjust("1 second")
    assert.strictEqual(yield* stateOf(), "half_open")
    yield* TestClock.adjust("40 minutes")
    assert.strictEqual(yield* stateOf(), "half_open")
  }).pipe(Effect.provide(Circuits.layerMemory))
)

it.effect("a provider that rejects a request has accepted the credentials, and its lockout ends", () =>
  Effect.gen(function* () {
    const { guard } = yield* Circuits
    const refused = errorOf(new CredentialsRefused({ status: 402 }))
    const rejected = errorOf(
      new Rejected({ status: 400, message: "no", param: null, code: null, contextLength: false })
    )
    for (const key of ["key_1", "key_2"]) yield* Effect.ignore(guard(alpha, false, key)(Effect.fail(refused)))
    assert.strictEqual((yield* Effect.flip(guard(alpha, false, "key_3")(Effect.void)))._tag, "CircuitOpenError")
    yield* TestClock.adjust("30 seconds")
    yield* Effect.flip(guard(alpha, false, "key_3")(Effect.fail(rejected)))
    yield* guard(alpha, false, "key_4")(Effect.void)
    yield* guard(alpha, false, "key_1")(Effect.void)
  }).pipe(Effect.provide(Circuits.layerMemory))
)

const pool = candidateWith("alpha", {}, { apiKeys: ["one", "two"].map((key) => Redacted.make(key)) })

it.effect("a provider with several keys has one circuit, which counts no failure of a single key", () =>
  Effect.gen(function* () {
    const { guard, state, stateHere } = yield* Circuits
    const fail = (key: number, reason: ProviderReason) =>
      Effect.flip(guard({ ...pool, key })(Effect.fail(errorOf(reason))))
    const limited = new Throttled({ status: 429, retryAfterMs: null })
    for (let count = 0; count < 6; count++) {
      yield* fail(1, limited)
      yield* TestClock.adjust(30_000)
    }
    assert.strictEqual((yield* state(pool)).state, "closed")
    // A 503 is of the provider, whichever key it meets.
    for (const key of [1, 2, 1, 2, 2]) yield* fail(key, new Throttled({ status: 503, retryAfterMs: 1_000 }))
    assert.strictEqual((yield* state(pool)).state, "open")
    const skipped = yield* fail(2, limited)
    assert.deepInclude(skipped, { _tag: "CircuitOpenError", because: "rate_limited" })
    assert.strictEqual((yield* stateHere({ ...pool, key: 1 })).state, "open")
  }).pipe(Effect.provide(Circuits.layerMemory))
)

it.effect("a key at its rate limit is skipped, and the provider only while each key is", () =>
  Effect.gen(function* () {
    const { guard, lockedMs, state } = yield* Circuits
    const limit = (key: number, retryAfterMs: number) =>
      Effect.flip(guard({ ...pool, key })(Effect.fail(errorOf(new Throttled({ status: 429, retryAfterMs })))))
    yield* limit(1, 5_000)
    assert.strictEqual(lockedMs({ ...pool, key: 1 }, "any"), 5_000)
    assert.strictEqual(lockedMs({ ...pool, key: 2 }, "any"), 0)
    assert.deepInclude(yield* Effect.flip(guard({ ...pool, key: 1 })(Effect.void)), {
      _tag: "CircuitOpenError",
      because: "rate_limited",
      retryAfterMs: 5_000
    })
    assert.strictEqual((yield* state(pool)).state, "closed")
    yield* limit(2, 3_000)
    assert.deepStrictEqual(yield* state(pool), { state: "open", openForMs: 3_000, sinceMs: null })
    yield* TestClock.adjust(3_000)
    yield* guard({ ...pool, key: 2 })(Effect.void)
    assert.strictEqual((yield* state(pool)).state, "closed")
  }).pipe(Effect.provide(Circuits.layerMemory))
)

it.effect("a refusal names the key", () =>
  Effect.gen(function* () {
    const { guard, refusals } = yield* Circuits
    const fiber = yield* Effect.forkChild(Stream.runHead(refusals), { startImmediately: true })
    yield* Effect.flip(guard({ ...pool, key: 2 })(Effect.fail(errorOf(new CredentialsRefused({ status: 401 })))))
    const refusal = { provider: "alpha", model: "test/small", status: 401, key: 2 }
    assert.deepStrictEqual(Option.getOrNull(yield* Fiber.join(fiber)), refusal)
  }).pipe(Effect.provide(Circuits.layerMemory))
)
