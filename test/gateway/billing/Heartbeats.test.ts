/** Heartbeats of running requests, and the charge after a crash. */
import * as KeyRepoMemory from "../../../src/store/keys/KeyRepoMemory.ts"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import { Ledger, type Running } from "../../../src/store/ledger/Ledger.ts"
import { type BillLine } from "../../../src/domain/pricing/Money.ts"
import { type Script, scriptedOffer } from "../../../src/testing/ScriptedProvider.ts"
import * as LedgerMemory from "../../../src/store/ledger/Memory.ts"
import { open } from "../../contract/client.ts"
import { until } from "../../contract/clock.ts"
import { ask, delta, end } from "../../contract/wire.ts"
import { TestApp } from "../../support/TestApp.ts"

const silence = { isOver: false }
const beats: Array<ReadonlyArray<Running>> = []

/**
 * Records the heartbeats. Once it is over, writes of this process no longer arrive, as after a
 * crash.
 */
const mortal = Layer.effect(
  Ledger,
  Effect.map(Ledger, (ledger) => ({
    ...ledger,
    settle: (generation, month) => (silence.isOver ? Effect.void : ledger.settle(generation, month)),
    renew: (running, leaseMs) => {
      if (silence.isOver) return Effect.void
      beats.push(running)
      return ledger.renew(running, leaseMs)
    }
  }))
).pipe(Layer.provideMerge(LedgerMemory.layer))

const crashes: ReadonlyArray<readonly [string, Script, number, number, ReadonlyArray<BillLine>]> = [
  [
    "a crash costs the prompt and the output that the last heartbeat recorded",
    {},
    7,
    13_000,
    [
      { class: "prompt", quantity: 7, price: 1_000_000, nano: 7_000 },
      { class: "completion", quantity: 3, price: 2_000_000, nano: 6_000 }
    ]
  ],
  [
    "the prompt has the cost of the tokens that the provider reported",
    { promptUsage: { promptTokens: 1_000, completionTokens: 0, cachedTokens: 900 } },
    1_000,
    100_000 + 90_000 + 6_000,
    [
      { class: "prompt", quantity: 100, price: 1_000_000, nano: 100_000 },
      { class: "cached_prompt", quantity: 900, price: 100_000, nano: 90_000 },
      { class: "completion", quantity: 3, price: 2_000_000, nano: 6_000 }
    ]
  ]
]

it.effect.each(crashes)("%s", ([, script, promptTokens, billedNano, lines]) => {
  silence.isOver = false
  beats.length = 0
  const pricing = { prompt: 1_000_000, completion: 2_000_000, cachedPrompt: 100_000 }
  const events = [delta({ content: "one two three" }), 600_000, end]
  return Effect.gen(function* () {
    const { issueKey, url } = yield* TestApp
    const ledger = yield* Ledger
    const generationStore = yield* GenerationStore
    const { id: keyId, secret } = yield* issueKey({ monthlyBudgetNano: 1_000_000_000 })
    const stream = open(`${url}/v1/chat/completions`, secret, ask("Hi", { stream: true, max_tokens: 500 }))
    yield* until(() => stream.text().includes("three"))
    const generationId = stream.header("x-generation-id") ?? ""
    assert.deepStrictEqual(beats, [], "a request that has just begun needs no sign of life")
    yield* TestClock.adjust("5 seconds")
    assert.deepStrictEqual(
      beats.map((running) => running.map((one) => one.generationId)),
      [[generationId]]
    )
    silence.isOver = true
    yield* TestClock.adjust("190 seconds")
    assert.strictEqual(yield* ledger.settleExpired, 1)
    const found = Option.getOrThrow(yield* generationStore.find(generationId, null))
    const { generation } = found._tag === "Settled" ? found : assert.fail(found._tag)
    assert.deepInclude(generation, {
      usageSource: "estimated",
      errorType: "internal_error",
      provider: "alpha",
      model: "test/small",
      streamed: true,
      latencyMs: 5_000,
      usage: { promptTokens, completionTokens: 3, cachedTokens: 0 },
      price: pricing
    })
    const promptNano = billedNano - 6_000
    assert.deepInclude(generation.cost, { promptNano, completionNano: 6_000, billedNano, lines })
    const balance = (yield* ledger.balances([keyId], "1970-01")).get(keyId)
    assert.deepStrictEqual(balance, { spentNano: billedNano, reservedNano: 0 })
    stream.hangUp()
  }).pipe(
    Effect.provide(
      TestApp.layer({
        providers: [
          {
            slug: "alpha",
            config: { models: [{ ...scriptedOffer("test/small"), pricing }] },
            models: { "test/small": { ...script, events } }
          }
        ],
        stores: Layer.merge(KeyRepoMemory.layer, mortal)
      })
    )
  )
})
