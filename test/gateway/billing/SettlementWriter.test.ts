/**
 * Answers whose settlement the database does not take at once: the text is sent, but no amount
 * before it is written.
 */
import * as CacheMemory from "../../../src/store/cache/CacheMemory.ts"
import * as LimitsMemory from "../../../src/store/limits/LimitsMemory.ts"
import * as KeyRepoMemory from "../../../src/store/keys/KeyRepoMemory.ts"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Option, Stream } from "effect"
import { TestClock } from "effect/testing"
import { type UsageInfo } from "../../../src/domain/Chat.ts"
import { Ids } from "../../../src/domain/Ids.ts"
import { Completion } from "../../../src/gateway/chat/Completion.ts"
import { Embeddings } from "../../../src/gateway/chat/Embeddings.ts"
import { MetadataRecorder } from "../../../src/gateway/request/ResponseMetadata.ts"
import { gateway, memory } from "../../../src/Server.ts"
import { defaultSettings } from "../../../src/Settings.ts"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import { Ledger } from "../../../src/store/ledger/Ledger.ts"
import * as LedgerMemory from "../../../src/store/ledger/Memory.ts"
import { StoreError } from "../../../src/store/StoreError.ts"
import { keyWith, requestWith } from "../plans.ts"
import { ending, piece, saying, scripted, stop } from "../scripts.ts"

type Kind = "whole" | "stream" | "embeddings"

const usage = { promptTokens: 10, completionTokens: 5, cachedTokens: 0 }

/** A gateway whose ledger takes no settlement while `trouble` says so. */
const gatewayWith = (trouble: { isAway: boolean }, kind: Kind) => {
  const { layer: providers } = scripted(
    {
      alpha: {
        reply: saying("Hello", usage),
        events: [piece("Hel"), piece("lo"), stop, ending(usage)],
        vectors: { vectors: [[1]], usage: { ...usage, completionTokens: 0 } }
      }
    },
    { offer: { embeddings: kind === "embeddings" } }
  )
  const away = Effect.fail(new StoreError({ dependency: "database", cause: null }))
  const ledger = Layer.effect(
    Ledger,
    Effect.map(Ledger, (ledger) => ({
      ...ledger,
      settle: (generation, month) => Effect.suspend(() => (trouble.isAway ? away : ledger.settle(generation, month)))
    }))
  ).pipe(Layer.provideMerge(LedgerMemory.layer))
  return gateway(defaultSettings).pipe(
    Layer.provideMerge(Layer.mergeAll(providers, memory)),
    Layer.provideMerge(
      Layer.mergeAll(
        KeyRepoMemory.layer,
        Layer.fresh(ledger),
        LimitsMemory.layer,
        CacheMemory.layer(defaultSettings.cache),
        Ids.layerSequence
      )
    )
  )
}

interface Told {
  text: string
  usage: UsageInfo | null
}

const caller = { key: keyWith(), limits: { requestsPerMinute: 100, tokensPerMinute: 100_000, concurrency: 100 } }

/** Sends a request and records what the client has received so far. */
const asked = Effect.fnUntraced(function* (kind: Kind, told: Told) {
  const { metadata, note } = new MetadataRecorder()
  if (kind === "embeddings") {
    const query = { request: { model: "test/small", input: "Hello" }, caller, note }
    const embedded = yield* (yield* Embeddings).run(query)
    told.text = "Hello"
    told.usage = embedded.usage
    return metadata
  }
  const request = requestWith({ stream: kind === "stream" })
  const completed = yield* (yield* Completion).run({ request, caller, note, cacheControl: "no-store" })
  if (completed._tag === "Reply") {
    told.text = String(completed.reply.choices[0]?.message.content)
    told.usage = completed.usage
    return metadata
  }
  yield* Stream.runForEach(completed.events.stream, (event) =>
    Effect.sync(() => {
      if (event._tag === "Choices") told.text += event.choices[0]?.delta["content"] ?? ""
      if (event._tag === "Usage") told.usage = event.usage
      if (event._tag === "Failed") assert.fail("a whole answer is no failure")
    })
  )
  return metadata
}, Effect.scoped)

for (const kind of ["whole", "stream", "embeddings"] as const) {
  it.effect(`${kind}: the reply waits for the settlement and shows its cost`, () => {
    const trouble = { isAway: true }
    return Effect.gen(function* () {
      const told: Told = { text: "", usage: null }
      yield* Effect.forkChild(asked(kind, told), { startImmediately: true })
      yield* TestClock.adjust("2500 millis")
      assert.deepStrictEqual(told, { text: kind === "stream" ? "Hello" : "", usage: null })
      trouble.isAway = false
      yield* TestClock.adjust("500 millis")
      const estimated_cost_usd = kind === "embeddings" ? 0.00001 : 0.00002
      assert.deepInclude(told.usage, { prompt_tokens: 10, estimated_cost_usd, cache_discount_usd: 0 })
      assert.strictEqual(told.text, "Hello")
    }).pipe(Effect.provide(gatewayWith(trouble, kind)))
  })

  it.effect(`${kind}: while it is not written no amount is shown, and the answer is complete`, () => {
    const trouble = { isAway: true }
    return Effect.gen(function* () {
      const told: Told = { text: "", usage: null }
      const asking = yield* Effect.forkChild(asked(kind, told), { startImmediately: true })
      yield* TestClock.adjust("4999 millis")
      assert.strictEqual(told.usage, null)
      yield* TestClock.adjust("1 millis")
      const { generationId } = yield* Fiber.join(asking)
      assert.strictEqual(told.text, "Hello")
      assert.deepInclude(told.usage, { prompt_tokens: 10 })
      assert.notProperty(told.usage, "estimated_cost_usd")
      assert.notProperty(told.usage, "cache_discount_usd")
      trouble.isAway = false
      yield* TestClock.adjust("1 seconds")
      const found = Option.getOrThrow(yield* (yield* GenerationStore).find(generationId ?? "", null))
      assert.isTrue(found._tag === "Settled" && found.generation.cost.billedNano > 0)
    }).pipe(Effect.provide(gatewayWith(trouble, kind)))
  })
}
