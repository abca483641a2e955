/**
 * The rules for streams: which members appear once, which come last, and how a failure looks before
 * and after the first token.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { type ChatEvent } from "../../src/domain/Chat.ts"
import { CredentialsRefused, Cut, Malformed, type ProviderReason } from "../../src/providers/Provider.ts"
import { TestApp } from "../support/TestApp.ts"
import { open } from "./client.ts"
import { advanceThrough, advanceUntil, until } from "./clock.ts"
import { ask, chunksOf, dataOf, delta, end, errorOf, finish, id, named } from "./wire.ts"

const streaming = (...events: ReadonlyArray<ChatEvent | ProviderReason | number>) =>
  TestApp.layer({ providers: [{ slug: "alpha", models: { "test/small": { events } } }] })

const streamed = (more: Readonly<Record<string, unknown>> = {}) =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    return yield* chat(ask("Hi", { stream: true, ...more }), { key: secret, ...named() })
  })

it.effect(
  "the same head in every chunk, one role and finish reason per choice, usage on the last chunk, then [DONE]",
  () =>
    Effect.gen(function* () {
      const { text } = yield* streamed({ n: 2 })
      const chunks = chunksOf(text)
      for (const chunk of chunks) {
        assert.deepStrictEqual(
          [chunk.id, chunk.object, chunk.created, chunk.model, chunk.provider],
          [id("chatcmpl", 4), "chat.completion.chunk", 0, "test/small", "alpha"]
        )
      }
      for (const index of [0, 1]) {
        const own = chunks
          .flatMap(({ choices }) => choices)
          .filter((choice: { index: number }) => choice.index === index)
        assert.deepStrictEqual(own.filter(({ delta }: { delta: object }) => "role" in delta).length, 1, "one role")
        assert.strictEqual(own.filter((choice: { finish_reason: unknown }) => choice.finish_reason !== null).length, 1)
        assert.strictEqual(
          own.at(-1)?.finish_reason,
          index === 0 ? "stop" : "length",
          "nothing follows the finish reason"
        )
      }
      const last = chunks.at(-1)
      assert.deepStrictEqual(last?.choices, [{ index: 1, delta: {}, finish_reason: "length" }])
      assert.strictEqual(last?.usage?.total_tokens, 5)
      assert.strictEqual(chunks.filter((chunk) => "usage" in chunk).length, 1)
      assert.strictEqual(dataOf(text).at(-1), "[DONE]")
      assert.isTrue(text.endsWith("\n\ndata: [DONE]\n\n"))
    }).pipe(
      Effect.provide(
        streaming(
          delta({ role: "assistant", content: "" }),
          delta({ role: "assistant", content: "a" }),
          delta({ role: "assistant", content: "b" }, 1),
          finish("stop", 0),
          finish("stop", 0),
          delta({ content: "late" }, 0),
          finish("length", 1),
          end
        )
      )
    )
)

it.effect("without include_usage every chunk has a choice, and the last one has the usage", () =>
  Effect.gen(function* () {
    const { text } = yield* streamed({ stream_options: { include_usage: false } })
    const chunks = chunksOf(text)
    assert.isTrue(chunks.every(({ choices }) => choices.length === 1))
    assert.strictEqual(chunks.at(-1)?.usage?.completion_tokens, 2)
  }).pipe(Effect.provide(streaming(delta({ content: "a" }), finish(), end)))
)

it.effect("with include_usage a chunk without choices brings the usage, and all others say null", () =>
  Effect.gen(function* () {
    const { text } = yield* streamed({ stream_options: { include_usage: true } })
    const chunks = chunksOf(text)
    assert.deepStrictEqual(
      chunks.map(({ choices, usage }) => [choices.length, usage?.completion_tokens ?? usage]),
      [
        [1, null],
        [1, null],
        [0, 2]
      ]
    )
  }).pipe(Effect.provide(streaming(delta({ content: "a" }), finish(), end)))
)

it.effect("the usage rides on the last chunk also where text follows another choice's finish reason", () =>
  Effect.gen(function* () {
    const { text } = yield* streamed({ n: 2 })
    const chunks = chunksOf(text)
    assert.deepStrictEqual(
      chunks.map(({ choices, usage }) => [choices[0]?.index, choices[0]?.finish_reason, usage?.completion_tokens]),
      [
        [0, null, undefined],
        [0, "stop", undefined],
        [1, null, undefined],
        [1, "stop", 2]
      ]
    )
  }).pipe(
    Effect.provide(
      streaming(delta({ content: "a" }), finish("stop", 0), delta({ content: "b" }, 1), finish("stop", 1), end)
    )
  )
)

it.effect("a stream that breaks off ends with an error chunk, its usage and [DONE]", () =>
  Effect.gen(function* () {
    const { status, text } = yield* streamed()
    assert.strictEqual(status, 200)
    const chunks = chunksOf(text)
    assert.deepStrictEqual(chunks[1]?.choices, [{ index: 0, delta: {}, finish_reason: "error" }])
    assert.deepStrictEqual(
      chunks[1]?.error,
      errorOf({
        type: "provider_error",
        code: "provider_error",
        message: "The response broke off before its end: alpha cut its response off.",
        retryable: true,
        details: {
          attempts: [
            {
              provider: "alpha",
              model: "test/small",
              status: "error",
              error_type: "stream_cut",
              http_status: 200,
              latency_ms: 0
            }
          ]
        }
      })
    )
    assert.strictEqual(chunks[1]?.usage?.completion_tokens, 1)
    assert.strictEqual(dataOf(text).at(-1), "[DONE]")
    assert.strictEqual(chunks.length, 2)
  }).pipe(Effect.provide(streaming(delta({ content: "Hel" }), new Cut({ detail: "reset" }))))
)

it.effect("a broken stream's generation has the error, the attempt and the cost", () =>
  Effect.gen(function* () {
    const { chat, issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey()
    const answered = yield* chat(ask("Hi", { stream: true }), { key: secret })
    const record = JSON.parse(
      (yield* send(`/v1/generations/${answered.headers.get("x-generation-id")}`, { key: secret })).text
    )
    assert.strictEqual(record.error_type, "provider_error")
    assert.strictEqual(record.finish_reason, "error")
    assert.strictEqual(record.usage_source, "counted")
    assert.isFalse(record.cancelled)
    assert.deepStrictEqual(
      record.attempts.map((attempt: Record<string, unknown>) => [attempt["status"], attempt["error_type"]]),
      [["error", "stream_cut"]]
    )
    assert.strictEqual(record.cost.billed_usd, chunksOf(answered.text).at(-1)?.usage?.estimated_cost_usd)
  }).pipe(Effect.provide(streaming(delta({ content: "Hel" }), new Malformed({ detail: "not JSON" }))))
)

it.effect("a silence beyond the idle limit ends the stream as a timeout", () =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(streamed(), { startImmediately: true })
    const chunks = chunksOf((yield* advanceThrough(fiber)).text)
    assert.strictEqual(chunks.at(-1)?.error?.type, "provider_timeout")
    assert.strictEqual(
      chunks.at(-1)?.error?.message,
      "The response stopped before its end and did not continue in time: alpha did not answer in time."
    )
    assert.isAbove(chunks.at(-1)?.usage?.total_tokens ?? 0, 0)
  }).pipe(Effect.provide(streaming(delta({ content: "Hel" }), 180_000, end)))
)

it.effect("an error before the first token has its own status", () =>
  Effect.gen(function* () {
    const { headers, status, text } = yield* streamed()
    assert.strictEqual(status, 502)
    assert.strictEqual(headers.get("content-type"), "application/json")
    assert.strictEqual(JSON.parse(text).error.type, "provider_error")
  }).pipe(Effect.provide(streaming(delta({ role: "assistant", content: "" }), new CredentialsRefused({ status: 401 }))))
)

it.effect("a comment fills every fifteen seconds of silence after the first token", () =>
  Effect.gen(function* () {
    const { issueKey, url } = yield* TestApp
    const { secret } = yield* issueKey()
    const stream = open(`${url}/v1/chat/completions`, secret, ask("Hi", { stream: true }))
    yield* until(() => stream.text().includes("Hel"))
    const before = stream.text()
    assert.notInclude(before, "keep-alive")
    yield* advanceUntil(() => stream.text() !== before)
    assert.strictEqual(stream.text(), `${before}: keep-alive\n\n`)
    yield* advanceUntil(() => stream.text().length > before.length + 14)
    assert.strictEqual(stream.text(), `${before}: keep-alive\n\n: keep-alive\n\n`)
    yield* advanceUntil(stream.ended)
    assert.deepStrictEqual(
      chunksOf(stream.text()).map(({ choices }) => choices[0]?.delta.content),
      ["Hel", "lo", undefined]
    )
    assert.strictEqual(dataOf(stream.text()).at(-1), "[DONE]")
  }).pipe(
    Effect.provide(
      TestApp.layer({
        providers: [
          {
            slug: "alpha",
            models: {
              "test/small": { events: [delta({ content: "Hel" }), 40_000, delta({ content: "lo" }), finish(), end] }
            }
          }
        ]
      })
    )
  )
)
