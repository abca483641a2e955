/**
 * The bytes of a whole completion, of a cache hit, and of entries stored by one mode and replayed
 * by the other.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { type ChatReply } from "../../src/domain/Chat.ts"
import { TestApp } from "../support/TestApp.ts"
import { ask, chunksOf, dataOf, delta, end, enterpriseLimits, finish, helloReply, id, named, seen } from "./wire.ts"

const json = "application/json"
const eventStream = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
  "x-accel-buffering": "no"
}

const alpha = (script: object) => TestApp.layer({ providers: [{ slug: "alpha", models: { "test/small": script } }] })

const noDetails =
  '"prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0}'

it.effect("a JSON completion and its cache hit, byte by byte", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    assert.deepStrictEqual(seen(yield* chat(ask("Hi"), { key: secret, ...named() })), {
      status: 200,
      headers: {
        "content-type": json,
        "x-request-id": "r-1",
        "x-generation-id": id("gen", 3),
        "x-tollgate-cache": "miss",
        "x-tollgate-provider": "alpha",
        ...enterpriseLimits([2999, "20ms"], [3999996, "1ms"])
      },
      body: `{"id":"${id("chatcmpl", 4)}","object":"chat.completion","created":0,"model":"test/small","provider":"alpha","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4,"estimated_cost_usd":0.000005,"cost":0.000005,"cached_tokens":0,"cache_discount_usd":0,"cache_hit":false,${noDetails}},"cache_hit":false,"generation_id":"${id("gen", 3)}","system_fingerprint":null}`
    })
    assert.deepStrictEqual(seen(yield* chat(ask("Hi"), { key: secret, ...named("r-2") })), {
      status: 200,
      headers: {
        "content-type": json,
        "x-request-id": "r-2",
        "x-generation-id": id("gen", 5),
        "x-tollgate-cache": "hit",
        "x-tollgate-provider": "alpha",
        ...enterpriseLimits([2998, "40ms"], [3999996, "1ms"])
      },
      body: `{"id":"${id("chatcmpl", 6)}","object":"chat.completion","created":0,"model":"test/small","provider":"alpha","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4,"estimated_cost_usd":0,"cost":0,"cached_tokens":0,"cache_discount_usd":0.000005,"cache_hit":true,${noDetails}},"cache_hit":true,"generation_id":"${id("gen", 5)}","system_fingerprint":null}`
    })
  }).pipe(Effect.provide(alpha({ reply: helloReply })))
)

it.effect("a stream and its cache hit, byte by byte", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    const chunk = (completion: number, rest: string) =>
      `data: {"id":"${id("chatcmpl", completion)}","object":"chat.completion.chunk","created":0,"model":"test/small","provider":"alpha",${rest}}\n\n`
    assert.deepStrictEqual(seen(yield* chat(ask("Hi", { stream: true }), { key: secret, ...named() })), {
      status: 200,
      headers: {
        ...eventStream,
        "x-request-id": "r-1",
        "x-generation-id": id("gen", 3),
        "x-tollgate-cache": "miss",
        "x-tollgate-provider": "alpha",
        ...enterpriseLimits([2999, "20ms"], [3999993, "1ms"])
      },
      body: [
        chunk(4, `"choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"},"finish_reason":null}]`),
        chunk(4, `"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":null}]`),
        chunk(
          4,
          `"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,"estimated_cost_usd":0.000007,"cost":0.000007,"cached_tokens":0,"cache_discount_usd":0,"cache_hit":false,${noDetails}},"cache_hit":false,"generation_id":"${id("gen", 3)}"`
        ),
        "data: [DONE]\n\n"
      ].join("")
    })
    assert.deepStrictEqual(seen(yield* chat(ask("Hi", { stream: true }), { key: secret, ...named("r-2") })), {
      status: 200,
      headers: {
        ...eventStream,
        "x-request-id": "r-2",
        "x-generation-id": id("gen", 5),
        "x-tollgate-cache": "hit",
        "x-tollgate-provider": "alpha",
        ...enterpriseLimits([2998, "40ms"], [3999988, "1ms"])
      },
      body: [
        chunk(6, `"choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"},"finish_reason":null}]`),
        chunk(
          6,
          `"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,"estimated_cost_usd":0,"cost":0,"cached_tokens":0,"cache_discount_usd":0.000007,"cache_hit":true,${noDetails}},"cache_hit":true,"generation_id":"${id("gen", 5)}"`
        ),
        "data: [DONE]\n\n"
      ].join("")
    })
  }).pipe(Effect.provide(alpha({ events: [delta({ content: "Hel" }), delta({ content: "lo" }), finish(), end] })))
)

const call = (name: string, at: number) => ({
  id: `call_${at}`,
  type: "function",
  function: { name, arguments: `{"city":"${name}"}` }
})
const logprob = (token: string) => ({ token, logprob: -0.5, bytes: null, top_logprobs: [] })

const rich: ChatReply = {
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: null, tool_calls: [call("paris", 0), call("rome", 1)] },
      finish_reason: "tool_calls"
    },
    {
      index: 1,
      message: { role: "assistant", content: null, refusal: "I cannot." },
      finish_reason: "stop"
    },
    {
      index: 2,
      message: { role: "assistant", content: "Hi there" },
      logprobs: { content: [logprob("Hi"), logprob(" there")] },
      finish_reason: "stop"
    }
  ],
  usage: { promptTokens: 10, completionTokens: 20, cachedTokens: 4, reasoningTokens: 12 },
  systemFingerprint: "fp_1"
}

it.effect("a JSON entry is replayed as a stream: tool calls by their index, refusal, logprobs", () =>
  Effect.gen(function* () {
    const { chat, issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey()
    const whole = yield* chat(ask("Hi", { n: 3 }), { key: secret })
    assert.deepStrictEqual(JSON.parse(whole.text).choices, rich.choices)
    const details = {
      prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 12, audio_tokens: 0 }
    }
    assert.deepInclude(JSON.parse(whole.text).usage, details)
    const path = `/v1/generations/${whole.headers.get("x-generation-id")}`
    assert.deepInclude(JSON.parse((yield* send(path, { key: secret })).text).usage, details)
    const replay = yield* chat(ask("Hi", { n: 3, stream: true }), { key: secret })
    assert.strictEqual(replay.headers.get("x-tollgate-cache"), "hit")
    assert.deepStrictEqual(
      chunksOf(replay.text).map(({ choices }) => choices),
      [
        [
          {
            index: 0,
            delta: {
              role: "assistant",
              content: null,
              tool_calls: [
                { index: 0, ...call("paris", 0) },
                { index: 1, ...call("rome", 1) }
              ]
            },
            finish_reason: null
          }
        ],
        [{ index: 0, delta: {}, finish_reason: "tool_calls" }],
        [{ index: 1, delta: { role: "assistant", content: null, refusal: "I cannot." }, finish_reason: null }],
        [{ index: 1, delta: {}, finish_reason: "stop" }],
        [
          {
            index: 2,
            delta: { role: "assistant", content: "Hi there" },
            logprobs: { content: [logprob("Hi"), logprob(" there")] },
            finish_reason: null
          }
        ],
        [{ index: 2, delta: {}, finish_reason: "stop" }]
      ]
    )
    assert.strictEqual(dataOf(replay.text).at(-1), "[DONE]")
  }).pipe(Effect.provide(alpha({ reply: rich })))
)

it.effect("a stream's entry is replayed as JSON: parallel tool calls assembled, refusal, logprobs", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    const first = yield* chat(ask("Hi", { n: 3, stream: true }), { key: secret })
    assert.strictEqual(first.headers.get("x-tollgate-cache"), "miss")
    const replay = yield* chat(ask("Hi", { n: 3 }), { key: secret })
    assert.strictEqual(replay.headers.get("x-tollgate-cache"), "hit")
    const answered = JSON.parse(replay.text)
    assert.deepStrictEqual(answered.choices, rich.choices)
    assert.strictEqual(answered.system_fingerprint, "fp_1")
    assert.deepStrictEqual(answered.usage, {
      prompt_tokens: 10,
      completion_tokens: 20,
      total_tokens: 30,
      estimated_cost_usd: 0,
      cost: 0,
      cached_tokens: 4,
      cache_discount_usd: 0.00005,
      cache_hit: true,
      prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 12, audio_tokens: 0 }
    })
  }).pipe(
    Effect.provide(
      alpha({
        events: [
          delta({
            role: "assistant",
            tool_calls: [{ index: 0, id: "call_0", type: "function", function: { name: "paris", arguments: "" } }]
          }),
          delta({
            tool_calls: [
              { index: 1, id: "call_1", type: "function", function: { name: "rome", arguments: '{"city":' } }
            ]
          }),
          delta({ tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] }),
          delta({ tool_calls: [{ index: 1, function: { arguments: '"rome"}' } }] }),
          delta({ tool_calls: [{ index: 0, function: { arguments: '"paris"}' } }] }),
          delta({ role: "assistant", refusal: "I " }, 1),
          delta({ refusal: "cannot." }, 1),
          {
            _tag: "Choices",
            choices: [
              { index: 2, delta: { content: "Hi" }, logprobs: { content: [logprob("Hi")] }, finish_reason: null }
            ]
          },
          {
            _tag: "Choices",
            choices: [
              {
                index: 2,
                delta: { content: " there" },
                logprobs: { content: [logprob(" there")] },
                finish_reason: null
              }
            ]
          },
          finish("tool_calls", 0),
          finish("stop", 1),
          finish("stop", 2),
          { _tag: "End", usage: rich.usage, systemFingerprint: "fp_1" }
        ]
      })
    )
  )
)
