/**
 * The privacy guard in a request: what each side sees, what is stored, what is refused, and that it
 * is absent when it is off.
 */
import * as CacheMemory from "../../../src/store/cache/CacheMemory.ts"
import * as LimitsMemory from "../../../src/store/limits/LimitsMemory.ts"
import * as KeyRepoMemory from "../../../src/store/keys/KeyRepoMemory.ts"
import { assert, it } from "@effect/vitest"
import { encode } from "gpt-tokenizer/encoding/cl100k_base"
import { Clock, Effect, Exit, Layer, Stream } from "effect"
import { type CompletionEvent } from "../../../src/gateway/request/Answer.ts"
import { Batches } from "../../../src/domain/runtime/Batches.ts"
import { type ChatEvent, type ChatRequest } from "../../../src/domain/Chat.ts"
import { type EmbeddingRequest } from "../../../src/domain/Embedding.ts"
import { Ids } from "../../../src/domain/Ids.ts"
import { type KeyRecord } from "../../../src/domain/Key.ts"
import { type PrivacyRules } from "../../../src/domain/Privacy.ts"
import { Completion } from "../../../src/gateway/chat/Completion.ts"
import { Embeddings } from "../../../src/gateway/chat/Embeddings.ts"
import { MetadataRecorder } from "../../../src/gateway/request/ResponseMetadata.ts"
import { PrivacyGuard } from "../../../src/gateway/privacy/PrivacyGuard.ts"
import { type Script } from "../../../src/testing/ScriptedProvider.ts"
import { gateway, memory } from "../../../src/Server.ts"
import { noPrivacy } from "../../../src/settings/sections/PrivacySection.ts"
import { CacheStore } from "../../../src/store/cache/CacheStore.ts"
import * as LedgerMemory from "../../../src/store/ledger/Memory.ts"
import { testSettings } from "../../support/testSettings.ts"
import { keyWith, planWith, requestWith } from "../plans.ts"
import { ending, piece, saying, scripted, stop } from "../scripts.ts"

const guarded = (
  script: Script | ReadonlyArray<Script>,
  rules: Partial<PrivacyRules> = { mode: "mask" },
  embeddings = false
) => {
  const { heard, layer: providers } = scripted({ alpha: script }, { offer: { embeddings } })
  const kept: Array<string> = []
  const watched = Layer.effect(
    CacheStore,
    Effect.map(CacheStore, (store) => ({
      ...store,
      set: (...given: Parameters<typeof store.set>) => {
        kept.push(given.join(" "))
        return store.set(...given)
      }
    }))
  )
  const settings = { ...testSettings, privacy: { ...noPrivacy, ...rules } }
  const layer = gateway(settings).pipe(
    Layer.provideMerge(Layer.mergeAll(providers, memory)),
    Layer.provideMerge(
      Layer.mergeAll(
        KeyRepoMemory.layer,
        LedgerMemory.layer,
        LimitsMemory.layer,
        watched.pipe(Layer.provide(CacheMemory.layer(settings.cache))),
        Ids.layerSequence
      )
    )
  )
  return { heard, kept, layer }
}

const callerWith = (key: Partial<KeyRecord> = {}) => ({
  key: keyWith(key),
  limits: { requestsPerMinute: 1_000, tokensPerMinute: 1_000_000, concurrency: 1_000 }
})

/** The first message as the provider received it. */
const contentOf = (request: ChatRequest | EmbeddingRequest | undefined): unknown =>
  (request as ChatRequest | undefined)?.messages[0]?.content

const said = (content: string): Partial<ChatRequest> => ({ messages: [{ role: "user", content }] })

/** The client's text, whole or joined. */
const asked = (request: Partial<ChatRequest>, key: Partial<KeyRecord> = {}) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { metadata, note } = new MetadataRecorder()
      const completed = yield* (yield* Completion).run({
        request: requestWith(request),
        caller: callerWith(key),
        cacheControl: "use",
        note
      })
      if (completed._tag === "Reply") {
        return { text: completed.reply.choices[0]?.message.content ?? "", metadata, usage: completed.usage }
      }
      let text = ""
      yield* Stream.runForEach(completed.events.stream, (event) =>
        Effect.sync(() => {
          if (event._tag === "Choices") for (const { delta } of event.choices) text += delta.content ?? ""
        })
      )
      return { text, metadata, usage: null }
    })
  )

it.effect("the provider sees placeholders, the client its values, whole and streamed", () => {
  const pieces = "Dear [EMAIL_1]!".split("").map(piece)
  const script = { reply: saying("Dear [EMAIL_1]!"), events: [...pieces, stop, ending()] }
  const { heard, layer } = guarded(script)
  return Effect.gen(function* () {
    for (const stream of [false, true]) {
      const { text } = yield* asked({ ...said(`I am ann@x.com ${stream}`), stream })
      assert.strictEqual(text, "Dear ann@x.com!")
    }
    assert.deepStrictEqual(heard.requests.map(contentOf), ["I am [EMAIL_1] false", "I am [EMAIL_1] true"])
  }).pipe(Effect.provide(layer))
})

it.effect("the cache keeps the masked answer under the masked request, and each client reads its own value", () => {
  const { heard, kept, layer } = guarded({ reply: saying("Dear [EMAIL_1]!") })
  return Effect.gen(function* () {
    const first = yield* asked(said("I am ann@x.com"))
    const second = yield* asked(said("I am bob@x.com"))
    assert.deepStrictEqual([first.text, first.metadata.cache], ["Dear ann@x.com!", "miss"])
    assert.deepStrictEqual([second.text, second.metadata.cache], ["Dear bob@x.com!", "hit"])
    assert.lengthOf(heard.calls, 1)
    assert.lengthOf(kept, 1)
    assert.include(kept[0], "Dear [EMAIL_1]!")
    assert.notInclude(kept[0], "ann")
    // A prompt with the placeholder as its own text is the same request for the model, and nothing
    // is restored for it.
    const literal = yield* asked(said("I am [EMAIL_1]"))
    assert.deepStrictEqual([literal.text, literal.metadata.cache], ["Dear [EMAIL_1]!", "hit"])
  }).pipe(Effect.provide(layer))
})

const refusalOf = <A, R>(effect: Effect.Effect<A, { readonly reason: unknown }, R>) =>
  Effect.map(Effect.flip(effect), ({ reason }) => reason)

it.effect("in mode block a request with a value is refused with counts, before the cache and the provider", () => {
  const { heard, layer } = guarded({ reply: saying("Hello") }, { mode: "block" })
  return Effect.gen(function* () {
    const request = said("ann@x.com bob@x.com 10.0.0.1")
    const reason = yield* refusalOf(asked(request))
    assert.deepInclude(reason, { _tag: "PrivacyBlocked", cause: "found", counts: { email: 2, ip_address: 1 } })
    assert.lengthOf(heard.calls, 0)
    assert.strictEqual((yield* asked(said("nobody"))).text, "Hello")
    // The policies run first.
    assert.deepInclude(yield* refusalOf(asked(request, { allowedModels: ["other/*"] })), { _tag: "ModelNotAllowed" })
    assert.deepInclude(yield* refusalOf(asked(request, { monthlyBudgetNano: 0 })), { _tag: "BudgetExceeded" })
  }).pipe(Effect.provide(layer))
})

it.effect("a key may be stricter than its deployment, but not less strict", () =>
  Effect.gen(function* () {
    const sent = (mode: PrivacyRules["mode"], privacy: KeyRecord["privacy"]) => {
      const { heard, layer } = guarded({ reply: saying("Hello") }, { mode })
      return Effect.exit(asked(said("ann@x.com"), { privacy })).pipe(
        Effect.map((exit) => {
          return Exit.isFailure(exit) ? "blocked" : contentOf(heard.requests[0])
        }),
        Effect.provide(layer)
      )
    }
    assert.strictEqual(yield* sent("off", null), "ann@x.com")
    assert.strictEqual(yield* sent("off", "mask"), "[EMAIL_1]")
    assert.strictEqual(yield* sent("mask", null), "[EMAIL_1]")
    assert.strictEqual(yield* sent("mask", "block"), "blocked")
    assert.strictEqual(yield* sent("block", "mask"), "blocked")
  })
)

it.effect("only what the settings name is masked", () => {
  const rules = { mode: "mask", entities: ["email"], patterns: [{ name: "employee", pattern: "EMP-[0-9]+" }] } as const
  const { heard, layer } = guarded({ reply: saying("[EMPLOYEE_1] has [EMAIL_1]") }, rules)
  return Effect.gen(function* () {
    const { text } = yield* asked(said("EMP-12 is ann@x.com at 10.0.0.1"))
    assert.strictEqual(text, "EMP-12 has ann@x.com")
    const [request] = heard.requests
    assert.deepInclude(request, said("[EMPLOYEE_1] is [EMAIL_1] at 10.0.0.1"))
  }).pipe(Effect.provide(layer))
})

it.effect("the masked prompt is counted and charged", () => {
  const { layer } = guarded({ reply: saying("Hello", null) })
  const { layer: open } = guarded({ reply: saying("Hello", null) }, { mode: "off" })
  return Effect.gen(function* () {
    const secret = said(`ghp_${"a1B2".repeat(50)}`)
    const promptTokens = Effect.map(asked(secret), ({ usage }) => usage?.prompt_tokens ?? 0)
    const hidden = yield* promptTokens.pipe(Effect.provide(layer))
    const plain = yield* promptTokens.pipe(Effect.provide(open))
    assert.strictEqual(hidden, (yield* asked(said("[SECRET_1]")).pipe(Effect.provide(open))).usage?.prompt_tokens)
    assert.isBelow(hidden, plain)
  })
})

it.effect("a search that takes too long refuses the request, whatever the mode", () => {
  const { heard, layer } = guarded({ reply: saying("Hello") })
  return Effect.gen(function* () {
    const clock = yield* Clock.Clock
    let nanos = 0n
    // Every read of the clock is a tenth of a second later.
    const slow: Clock.Clock = Object.assign(Object.create(clock), {
      monotonicTimeNanosUnsafe: () => (nanos += 100_000_000n)
    })
    const late = Layer.provide(layer, Layer.succeed(Clock.Clock, slow))
    const reason = yield* refusalOf(asked(said("ann@x.com ".repeat(50)))).pipe(Effect.provide(late))
    assert.deepInclude(reason, { _tag: "PrivacyBlocked", cause: "unsearched", counts: {} })
    assert.lengthOf(heard.calls, 0)
  })
})

it.effect("embeddings are masked, and refused in mode block", () => {
  const vectors = { vectors: [[1]], usage: null }
  const embedded = (key: Partial<KeyRecord>) =>
    Effect.scoped(
      Effect.flatMap(Embeddings, ({ run }) =>
        run({
          request: { model: "test/small", input: ["ann@x.com"], user: "bob@x.com" },
          caller: callerWith(key),
          note: () => undefined
        })
      )
    )
  const { heard, layer } = guarded({ vectors }, { mode: "mask" }, true)
  return Effect.gen(function* () {
    yield* embedded({})
    assert.deepInclude(heard.requests[0], { input: ["[EMAIL_1]"], user: "[EMAIL_2]" })
    const reason = yield* refusalOf(embedded({ privacy: "block" }))
    assert.deepInclude(reason, { _tag: "PrivacyBlocked", counts: { email: 2 } })
    assert.lengthOf(heard.calls, 1)
  }).pipe(Effect.provide(layer))
})

/** "write to ann@x.com" in `cl100k_base`. */
const ids = encode("write to ann@x.com")

it.effect("token ids are searched as text and sent as text, whatever is found", () => {
  const embedded = (input: EmbeddingRequest["input"], key: Partial<KeyRecord> = {}) =>
    Effect.scoped(
      Effect.flatMap(Embeddings, ({ run }) =>
        run({ request: { model: "test/small", input }, caller: callerWith(key), note: () => undefined })
      )
    )
  const { heard, layer } = guarded({ vectors: { vectors: [[1]], usage: null } }, { mode: "mask" }, true)
  return Effect.gen(function* () {
    yield* embedded([ids])
    yield* embedded(encode("nothing here"))
    assert.deepStrictEqual(
      heard.requests.map((request) => (request as EmbeddingRequest).input),
      [["write to [EMAIL_1]"], ["nothing here"]]
    )
    assert.deepInclude(yield* refusalOf(embedded([ids], { privacy: "block" })), { counts: { email: 1 } })
    assert.deepInclude(yield* refusalOf(embedded([[999_999]])), { _tag: "PrivacyBlocked", cause: "token_ids" })
    assert.lengthOf(heard.calls, 2)
  }).pipe(Effect.provide(layer))
})

it.effect("token ids for a model whose encoding is not known are refused where the guard is on", () =>
  Effect.gen(function* () {
    const { layer } = guarded({}, { mode: "mask" })
    const refusalFor = (upstream: string, privacy: KeyRecord["privacy"] = null) => {
      const request: EmbeddingRequest = { model: "test/embed", input: [ids] }
      const plan = planWith({})
      const ranked = plan.ranked.map(({ offer, provider }) => ({
        offer: { ...offer, upstream },
        provider: { ...provider, dialect: "openai" as const }
      }))
      const caller = callerWith({ privacy })
      return Effect.flatMap(PrivacyGuard, ({ embedding }) => embedding({ ...plan, request, ranked, caller })).pipe(
        Effect.map(({ refusal }) => refusal?.reason),
        Effect.provide(layer)
      )
    }
    assert.deepInclude(yield* refusalFor("bge-m3"), { _tag: "PrivacyBlocked", cause: "token_ids" })
    assert.isUndefined(yield* refusalFor("text-embedding-3-small"))
  })
)

it.effect("off, or without a match, request, reply and stream are the same objects", () =>
  Effect.gen(function* () {
    const events = Batches.of<CompletionEvent>([])
    const reply = saying("Hello [EMAIL_1]")
    for (const [mode, content] of [
      ["off", "ann@x.com"],
      ["mask", "nobody"]
    ] as const) {
      const { layer } = guarded({}, { mode })
      const request = requestWith(said(content))
      const plan = planWith({ request })
      const left = yield* Effect.flatMap(PrivacyGuard, ({ chat }) => chat(plan)).pipe(Effect.provide(layer))
      assert.strictEqual(left.plan, plan)
      assert.isNull(left.refusal)
      assert.strictEqual(left.reply(reply), reply)
      assert.strictEqual(left.events(events), events)
    }
  })
)

it.effect("a stream that breaks off releases the text that was held back", () => {
  const broken: ReadonlyArray<ChatEvent> = [piece("Dear [EMAIL_1] and [EMAIL_")]
  const { layer } = guarded({ events: broken })
  return Effect.gen(function* () {
    const { text } = yield* asked({ ...said("ann@x.com"), stream: true })
    assert.strictEqual(text, "Dear ann@x.com and [EMAIL_")
  }).pipe(Effect.provide(layer))
})
