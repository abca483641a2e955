/** Where a prompt's bound decides, and where it is counted: routes, heads, and bills. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Option, Stream } from "effect"
import { type ModelOffer } from "../../../src/domain/Catalog.ts"
import { type ChatReply } from "../../../src/domain/Chat.ts"
import { type NativeRequest } from "../../../src/domain/Native.ts"
import { Ids } from "../../../src/domain/Ids.ts"
import { chatPlanInput } from "../../../src/gateway/chat/ChatPlanInput.ts"
import { Completion } from "../../../src/gateway/chat/Completion.ts"
import { Planner } from "../../../src/gateway/chat/Planner.ts"
import { MetadataRecorder } from "../../../src/gateway/request/ResponseMetadata.ts"
import { boundOf } from "../../../src/gateway/tokens/TokenBound.ts"
import { countPrompt } from "../../../src/gateway/tokens/Tokens.ts"
import { Cut } from "../../../src/providers/Provider.ts"
import { type Script } from "../../../src/testing/ScriptedProvider.ts"
import { gateway, memory } from "../../../src/Server.ts"
import * as CacheMemory from "../../../src/store/cache/CacheMemory.ts"
import * as KeyRepoMemory from "../../../src/store/keys/KeyRepoMemory.ts"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import * as LedgerMemory from "../../../src/store/ledger/Memory.ts"
import * as LimitsMemory from "../../../src/store/limits/LimitsMemory.ts"
import { testSettings } from "../../support/testSettings.ts"
import { admittedWith, boundedPrompt, candidateWith, keyWith, requestWith } from "../plans.ts"
import { ending, piece, saying, scripted, stop } from "../scripts.ts"
import { isOpen, type RankingInput } from "../../../src/gateway/routing/Ranking.ts"

const limits = { requestsPerMinute: 1_000, tokensPerMinute: 1_000_000, concurrency: 1_000 }

const stores = Layer.mergeAll(
  KeyRepoMemory.layer,
  LedgerMemory.layer,
  LimitsMemory.layer,
  CacheMemory.layer(testSettings.cache),
  Ids.layerSequence
)
const gatewayOn = (script: Script, offer: Partial<ModelOffer> = {}) =>
  gateway({ ...testSettings, routing: { ...testSettings.routing, retries: 0 } }).pipe(
    Layer.provideMerge(Layer.mergeAll(scripted({ alpha: script }, { offer }).layer, memory)),
    Layer.provideMerge(stores)
  )

/** The route of a prompt with these bounds, and how often it was counted. */
const routeOf = (tokens: number, most: number, rough = most) =>
  Effect.gen(function* () {
    const { counts, prompt } = boundedPrompt(tokens, most, rough)
    const caller = { key: keyWith(), limits }
    const plan = yield* (yield* Planner).begin(
      chatPlanInput({ request: requestWith(), caller }, [], prompt),
      admittedWith()
    )
    return { counts: counts(), most: prompt.most, ranked: plan.ranked.length, error: plan.unroutable?.reason }
  })

it.effect("a prompt is counted for a context that its bound exceeds", () =>
  Effect.gen(function* () {
    assert.deepInclude(yield* routeOf(700, 1_000), { counts: 0, ranked: 1 })
    assert.deepInclude(yield* routeOf(1_000, 1_400), { counts: 1, ranked: 1 }, "the count fits")
    const { error, ...refused } = yield* routeOf(1_001, 1_400)
    assert.deepInclude(refused, { counts: 1, ranked: 0 })
    assert.deepInclude(error, { _tag: "ContextLengthExceeded", promptTokens: 1_001, contextLength: 1_000 })
  }).pipe(Effect.provide(gatewayOn({ reply: saying("Hello") }, { contextLength: 1_000 })))
)

it.effect("a prompt is bounded closely for a context that its rough bound exceeds", () =>
  Effect.gen(function* () {
    assert.deepInclude(yield* routeOf(300, 400, 1_000), { counts: 0, most: 1_000, ranked: 1 })
    assert.deepInclude(yield* routeOf(700, 1_000, 2_800), { counts: 0, most: 1_000, ranked: 1 })
    assert.deepInclude(yield* routeOf(1_000, 1_400, 4_000), { counts: 1, most: 1_000, ranked: 1 })
    assert.deepInclude(yield* routeOf(1_001, 1_400, 4_000), { counts: 1, ranked: 0 })
  }).pipe(Effect.provide(gatewayOn({ reply: saying("Hello") }, { contextLength: 1_000 })))
)

it("of a limit, a rough bound is taken only if it is a small part", () => {
  const { prompt } = boundedPrompt(70, 100, 400)
  assert.strictEqual(prompt.mostOf(6_400), 400)
  assert.strictEqual(prompt.mostOf(6_399), 100)
  assert.deepStrictEqual([prompt.mostOf(1_000_000), prompt.isRough, prompt.isCounted], [100, false, false])
})

it.effect("a prompt is counted where its price tier is open, and for an unknown context of a million", () => {
  const pricing = {
    prompt: 1,
    completion: 2,
    cachedPrompt: null,
    tiers: [{ abovePromptTokens: 100, prompt: 2, completion: 4, cachedPrompt: null }]
  }
  return Effect.gen(function* () {
    assert.strictEqual((yield* routeOf(90, 100)).counts, 0)
    assert.strictEqual((yield* routeOf(90, 101)).counts, 1)
    assert.strictEqual((yield* routeOf(900_000, 1_000_001)).counts, 1)
  }).pipe(Effect.provide(gatewayOn({ reply: saying("Hello") }, { contextLength: null, pricing })))
})

it("a ranking by price is open between two lengths if it differs there", () => {
  const offered = (slug: string, prompt: number, completion: number) =>
    candidateWith(slug, { pricing: { prompt, completion, cachedPrompt: null } })
  const alpha = offered("alpha", 2_000_000, 2_000_000)
  const between = (
    others: ReadonlyArray<ReturnType<typeof offered>>,
    defaultSort: RankingInput["defaultSort"] = "price"
  ) => {
    const candidates = [alpha, ...others]
    const inputOf = (promptTokens: number): RankingInput => ({
      candidates,
      preferences: null,
      defaultSort,
      kind: "chat",
      promptTokens,
      outputTokens: 100,
      choices: 1,
      streamed: false,
      stats: () => ({ calls: 0, successRate: 1, firstTokenMs: null, wholeMs: null, throughputTps: null })
    })
    return isOpen(candidates, [], { fewest: 10, most: 1_000 }, inputOf)
  }
  assert.isFalse(between([]))
  assert.isFalse(between([offered("beta", 1_000_000, 1_000_000)]), "cheaper for all lengths")
  assert.isTrue(between([offered("beta", 1_000_000, 6_000_000)]), "cheaper for a long prompt")
  assert.isFalse(between([offered("beta", 1_000_000, 6_000_000)], "latency"))
})

const text = "A road is paid for at its gate, by everyone who takes it. ".repeat(60)
const request = requestWith({ messages: [{ role: "user", content: text }] })
const exact = countPrompt(request)

const asked = (
  more: Partial<typeof request> = {},
  native?: NativeRequest,
  tokensPerMinute = limits.tokensPerMinute,
  monthlyBudgetNano = 1_000_000_000
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { metadata, note } = new MetadataRecorder()
      const completed = yield* (yield* Completion).run({
        request: { ...request, ...more },
        caller: {
          key: keyWith({ monthlyBudgetNano }),
          limits: { ...limits, tokensPerMinute }
        },
        cacheControl: "no-store",
        note,
        ...(native === undefined ? {} : { native })
      })
      if (completed._tag === "Stream") yield* Stream.runDrain(completed.events.stream)
      return { head: completed.head, id: metadata.generationId ?? "", tokens: metadata.tokens }
    })
  ).pipe(
    Effect.flatMap(({ head, id, tokens }) =>
      Effect.map(
        Effect.flatMap(GenerationStore, (store) => store.find(id, keyWith().id)),
        (found) => ({
          head,
          tokens,
          generation:
            Option.isSome(found) && found.value._tag === "Settled" ? found.value.generation : assert.fail("not settled")
        })
      )
    )
  )

it.effect.each([
  ["the bound leaves little of the minute", boundOf(text).most + 20],
  ["only the count fits the minute", exact]
] as const)("a prompt is let through where %s", ([, tokensPerMinute]) =>
  Effect.gen(function* () {
    const { tokens } = yield* asked({}, undefined, tokensPerMinute)
    // What the provider reported replaces what was taken.
    assert.deepInclude(tokens, { limit: tokensPerMinute, remaining: tokensPerMinute - 15 })
  }).pipe(Effect.provide(gatewayOn({ reply: saying("Hello") })))
)

it.effect("a rough bound is reserved of a large cap, and a closer one of a small cap", () =>
  Effect.gen(function* () {
    const promptOf = (cap: number) =>
      Effect.map(
        asked({ max_tokens: 1 }, undefined, limits.tokensPerMinute, cap),
        // 1,000 nano-USD a token, and 2,000 for the answer.
        ({ generation }) => (generation.reservation.reservedNano - 2_000) / 1_000
      )
    const bytes = text.length + 6
    assert.strictEqual(yield* promptOf(16 * (bytes + 2) * 1_000), bytes)
    assert.strictEqual(yield* promptOf(16 * (bytes + 2) * 1_000 - 1), boundOf(text).most + 6)
  }).pipe(Effect.provide(gatewayOn({ reply: saying("Hello") })))
)

const silent: ChatReply = { ...saying("Hello"), usage: null }

it.effect("an answer without usage is charged the count of its prompt, not the bound that was reserved", () =>
  Effect.gen(function* () {
    const { generation } = yield* asked()
    assert.deepInclude(generation.usage, { promptTokens: exact })
    assert.strictEqual(generation.usageSource, "counted")
    // 1,000 nano-USD a token.
    assert.isAtLeast(generation.reservation.reservedNano, 1_000 * boundOf(text).most)
  }).pipe(Effect.provide(gatewayOn({ reply: silent })))
)

it.effect("so is a stream that breaks off or ends without usage", () =>
  Effect.forEach(
    [
      [piece("Hello"), stop, ending(null)],
      [piece("Hello"), new Cut({ detail: "reset" })]
    ],
    (events) =>
      Effect.gen(function* () {
        const { generation, head } = yield* asked({ stream: true })
        assert.deepInclude(generation.usage, { promptTokens: exact })
        assert.isUndefined(head.promptTokens)
      }).pipe(Effect.provide(gatewayOn({ events })))
  )
)

it.effect("figures that are impossible are replaced by the count", () =>
  Effect.gen(function* () {
    const { generation } = yield* asked()
    assert.deepInclude(generation.usage, { promptTokens: exact })
    assert.strictEqual(generation.usageSource, "counted")
  }).pipe(
    Effect.provide(
      gatewayOn({ reply: saying("Hello", { promptTokens: 10_000_000, completionTokens: 5, cachedTokens: 0 }) })
    )
  )
)

it.effect("a stream of the Messages API begins with the count", () => {
  const native: NativeRequest = {
    dialect: "anthropic",
    body: {},
    headers: {},
    only: null,
    accountObjects: null,
    models: []
  }
  return Effect.gen(function* () {
    const { head } = yield* asked({ stream: true }, native)
    assert.strictEqual(head.promptTokens, exact)
  }).pipe(
    Effect.provide(
      gatewayOn({ events: [piece("Hello"), stop, ending({ promptTokens: 9, completionTokens: 1, cachedTokens: 0 })] })
    )
  )
})
