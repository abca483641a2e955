/**
 * Members that the answering provider did not get: named in a header and on the receipt, whoever
 * else was asked.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { ServerFault } from "../../src/providers/Provider.ts"
import { TestApp } from "../support/TestApp.ts"
import { ask, chunksOf, delta, end, finish, helloReply } from "./wire.ts"

const header = "x-tollgate-dropped"

it.effect("are named in the header and on the receipt, for whole replies, streams and cache hits", () =>
  Effect.gen(function* () {
    const { chat, issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey()
    const receipt = (generation: string | null) =>
      Effect.map(send(`/v1/generations/${generation}`, { key: secret }), ({ text }) => JSON.parse(text).dropped)
    for (const stream of [false, true]) {
      for (const cache of ["miss", "hit"]) {
        const answered = yield* chat(ask(`Hi ${stream}`, { stream, seed: 7 }), { key: secret })
        const { headers } = answered
        assert.deepStrictEqual([headers.get(header), headers.get("x-tollgate-cache")], ["seed, x_vendor", cache])
        assert.deepStrictEqual(yield* receipt(headers.get("x-generation-id")), ["seed", "x_vendor"])
      }
    }
    for (const stream of [false, true]) {
      const named = { key: secret, headers: { "idempotency-key": `k-${stream}` } }
      const asked = ask("Hi", { stream, seed: 7 })
      yield* chat(asked, named)
      const { headers } = yield* chat(asked, named)
      assert.deepStrictEqual([headers.get("idempotent-replayed"), headers.get(header)], ["true", "seed, x_vendor"])
    }
    const all = yield* chat(ask("Hi", { model: "test/all", seed: 7 }), { key: secret })
    assert.isNull(all.headers.get(header))
    assert.deepStrictEqual(yield* receipt(all.headers.get("x-generation-id")), [])
  }).pipe(
    Effect.provide(
      TestApp.layer({
        providers: [
          {
            slug: "alpha",
            models: {
              "test/small": [{ failure: new ServerFault({ status: 500, retryAfterMs: null }), leftOut: ["user"] }],
              "test/all": { reply: helloReply }
            }
          },
          { slug: "beta", models: { "test/small": { reply: helloReply, leftOut: ["seed", "x_vendor"] } } }
        ]
      })
    )
  )
)

const thought = { type: "reasoning.text", text: "Hm.", index: 0 }
const thinking = {
  reply: {
    ...helloReply,
    choices: [
      {
        index: 0,
        message: { role: "assistant" as const, content: "Hello", reasoning: "Hm.", reasoning_details: [thought] },
        finish_reason: "stop"
      }
    ]
  },
  events: [
    delta({ role: "assistant", content: "" }),
    delta({ reasoning: "Hm.", reasoning_details: [thought] }),
    delta({ content: "Hello" }),
    finish(),
    end
  ]
}

it.effect("reasoning is left out of the reply on request, and counted all the same", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    const message = (more: object) =>
      Effect.map(chat(ask("Hi", { ...more }), { key: secret }), ({ text }) => JSON.parse(text).choices[0].message)
    const streamed = (more: object) =>
      Effect.map(chat(ask("Hi there", { ...more, stream: true }), { key: secret }), ({ text }) =>
        chunksOf(text).flatMap(({ choices }) => choices.map((choice) => choice.delta))
      )
    assert.deepInclude(yield* message({}), { reasoning: "Hm.", reasoning_details: [thought] })
    assert.deepInclude((yield* streamed({}))[1], { reasoning: "Hm.", reasoning_details: [thought] })
    for (const exclude of [{ reasoning: { exclude: true } }, { include_reasoning: false }]) {
      assert.deepStrictEqual(yield* message(exclude), { role: "assistant", content: "Hello" })
      assert.deepStrictEqual(yield* streamed(exclude), [{ role: "assistant", content: "" }, { content: "Hello" }, {}])
    }
  }).pipe(Effect.provide(TestApp.layer({ providers: [{ slug: "alpha", models: { "test/small": thinking } }] })))
)
