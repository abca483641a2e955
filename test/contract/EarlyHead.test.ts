/**
 * Streams whose first token is late: the head is sent after fifteen seconds, and an error is then
 * an event.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { CredentialsRefused } from "../../src/providers/Provider.ts"
import { type Script } from "../../src/testing/ScriptedProvider.ts"
import { TestApp } from "../support/TestApp.ts"
import { open } from "./client.ts"
import { advanceUntil, until } from "./clock.ts"
import { ask, chunksOf, dataOf, delta, end, finish } from "./wire.ts"

/** A stream of one provider, opened and on its way to it. */
const opened = (script: Script, more: object = {}) => {
  let called = false
  const layer = TestApp.layer({
    providers: [{ slug: "alpha", models: { "test/small": script }, onCall: () => void (called = true) }]
  })
  const stream = Effect.gen(function* () {
    const { issueKey, url } = yield* TestApp
    const { secret } = yield* issueKey()
    const stream = open(`${url}/v1/chat/completions`, secret, ask("Hi", { stream: true, ...more }))
    yield* until(() => called)
    return stream
  })
  return { layer, stream }
}

it.effect("nothing is sent in the first fifteen seconds without a token", () => {
  const { layer, stream: opening } = opened({ delayMs: 13_000, failure: new CredentialsRefused({ status: 401 }) })
  return Effect.gen(function* () {
    const stream = yield* opening
    for (let seconds = 0; seconds < 12; seconds++) {
      yield* advanceUntil(tick())
      assert.isUndefined(stream.status())
    }
    yield* advanceUntil(stream.ended)
    assert.strictEqual(stream.status(), 502)
  }).pipe(Effect.provide(layer))
})

it.effect("after fifteen seconds without a token the head is sent, with comments until the stream begins", () => {
  const { layer, stream: opening } = opened({ delayMs: 40_000, events: [delta({ content: "Hello" }), finish(), end] })
  return Effect.gen(function* () {
    const stream = yield* opening
    yield* advanceUntil(() => stream.text() !== "")
    assert.strictEqual(stream.status(), 200)
    assert.strictEqual(stream.header("content-type"), "text/event-stream; charset=utf-8")
    assert.match(stream.header("x-generation-id") ?? "", /^gen_/)
    assert.strictEqual(stream.text(), ": keep-alive\n\n")
    yield* advanceUntil(() => stream.text().length > 14)
    assert.strictEqual(stream.text(), ": keep-alive\n\n: keep-alive\n\n")
    yield* advanceUntil(stream.ended)
    assert.strictEqual(chunksOf(stream.text())[0]?.choices[0]?.delta.content, "Hello")
    assert.strictEqual(dataOf(stream.text()).at(-1), "[DONE]")
  }).pipe(Effect.provide(layer))
})

it.effect("an error after the early head is an event of the stream", () => {
  const { layer, stream: opening } = opened({ delayMs: 40_000, failure: new CredentialsRefused({ status: 401 }) })
  return Effect.gen(function* () {
    const stream = yield* opening
    yield* advanceUntil(stream.ended)
    assert.strictEqual(stream.status(), 200)
    const [chunk, ...more] = chunksOf(stream.text())
    assert.lengthOf(more, 0)
    assert.strictEqual(chunk?.choices[0]?.finish_reason, "error")
    // No provider has answered, and the receipt can be found.
    assert.notProperty({ ...chunk }, "provider")
    assert.strictEqual(chunk?.generation_id, stream.header("x-generation-id"))
    assert.deepInclude(chunk?.error, {
      type: "provider_error",
      message: "No provider answered: alpha refused our key."
    })
    assert.strictEqual(dataOf(stream.text()).at(-1), "[DONE]")
  }).pipe(Effect.provide(layer))
})

it.effect("a client that leaves after the early head ends the call", () => {
  let aborted = false
  let called = false
  const layer = TestApp.layer({
    providers: [
      {
        slug: "alpha",
        models: { "test/small": { hangs: true } },
        onCall: () => void (called = true),
        onAbort: () => void (aborted = true)
      }
    ]
  })
  return Effect.gen(function* () {
    const { issueKey, url } = yield* TestApp
    const { secret } = yield* issueKey()
    const stream = open(`${url}/v1/chat/completions`, secret, ask("Hi", { stream: true }))
    yield* until(() => called)
    yield* advanceUntil(() => stream.text() !== "")
    assert.isFalse(aborted)
    stream.hangUp()
    yield* until(() => aborted)
  }).pipe(Effect.provide(layer))
})

it.effect("a whole reply has no early head", () => {
  const { layer, stream: opening } = opened(
    { delayMs: 40_000, failure: new CredentialsRefused({ status: 401 }) },
    { stream: false }
  )
  return Effect.gen(function* () {
    const stream = yield* opening
    yield* advanceUntil(stream.ended)
    assert.strictEqual(stream.status(), 502)
  }).pipe(Effect.provide(layer))
})

/** So after one step. */
const tick = () => {
  let steps = 0
  return () => steps++ > 0
}
