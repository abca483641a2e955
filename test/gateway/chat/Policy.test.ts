import * as LimitsMemory from "../../../src/store/limits/LimitsMemory.ts"
import { assert, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Ids } from "../../../src/domain/Ids.ts"
import { withScope } from "../../../src/domain/runtime/OnClose.ts"
import { Meter } from "../../../src/gateway/billing/Meter.ts"
import { type Caller } from "../../../src/gateway/request/Caller.ts"
import { MetadataRecorder } from "../../../src/gateway/request/ResponseMetadata.ts"
import { Policy } from "../../../src/gateway/chat/Policy.ts"
import { Ledger } from "../../../src/store/ledger/Ledger.ts"
import * as LedgerMemory from "../../../src/store/ledger/Memory.ts"
import { Limits } from "../../../src/store/limits/Limits.ts"
import { boundedPrompt, keyWith, meteredWith, type PlanOptions } from "../plans.ts"

const layer = Layer.provideMerge(
  Layer.provideMerge(Policy.layer, Meter.layer({ markup: 0, ledger: { leaseMs: 150_000 } })),
  Layer.mergeAll(LedgerMemory.layer, LimitsMemory.layer, Ids.layerSequence)
)

interface Passing extends PlanOptions {
  readonly limits?: Partial<typeof tier>
  readonly owner?: Caller["owner"]
}

/** All policies in their order: whether the rest was reached, or the refusal. */
const passed = (options: Passing = {}) =>
  Effect.gen(function* () {
    const policy = yield* Policy
    const { limits, owner = null, ...rest } = options
    const { metadata, note } = new MetadataRecorder()
    const given = meteredWith(rest, { note })
    const caller = { ...given.plan.caller, owner, limits: { ...tier, ...limits } }
    const request = { ...given, plan: { ...given.plan, caller } }
    const { generationId } = request.plan
    const outcome = yield* Effect.result(
      Effect.gen(function* () {
        yield* withScope((scope) => policy.rateLimit({ caller, generationId, note, tokens: 0, trace: null, scope }))
        yield* policy.tokens(request)
        yield* policy.budget(request)
        yield* policy.whitelist(request.plan)
        return "reached"
      })
    )
    return { metadata, request, outcome: outcome._tag === "Success" ? outcome.success : outcome.failure.reason }
  })

const tier = { requestsPerMinute: 10, tokensPerMinute: 1_000, concurrency: 2 }

it.effect("a request that passes all three reaches the rest, and the headers show what is left", () =>
  Effect.gen(function* () {
    const { metadata, outcome } = yield* Effect.scoped(passed())
    assert.strictEqual(outcome, "reached")
    assert.deepInclude(metadata, {
      requests: { limit: 10, remaining: 9, resetMs: 6_000 },
      tokens: { limit: 1_000, remaining: 990, resetMs: 600 }
    })
  }).pipe(Effect.provide(layer))
)

it.effect("the first refusal in the order of the specification is the answer", () =>
  Effect.gen(function* () {
    const wrong = { key: { monthlyBudgetNano: 0, allowedModels: ["other/*"] } }
    const tag = (options: Parameters<typeof passed>[0]) =>
      Effect.map(Effect.scoped(passed(options)), ({ outcome }) =>
        typeof outcome === "string" ? outcome : outcome._tag
      )
    assert.strictEqual(yield* tag({ ...wrong, limits: { requestsPerMinute: 0 } }), "RateLimited")
    assert.strictEqual(yield* tag(wrong), "BudgetExceeded")
    assert.strictEqual(yield* tag({ ...wrong, ranked: [] }), "BudgetExceeded", "nobody may serve it")
    assert.strictEqual(yield* tag({ ...wrong, promptTokens: 1_001 }), "RateLimited")
    assert.strictEqual(yield* tag({ key: { allowedModels: ["other/*"] } }), "ModelNotAllowed")
    assert.strictEqual(yield* tag({ key: { allowedModels: ["test/*"] } }), "reached")
  }).pipe(Effect.provide(layer))
)

it.effect("each limit refuses with its name, its amount and when to retry", () =>
  Effect.gen(function* () {
    const refusal = (limits: Partial<typeof tier>, key: string) =>
      Effect.map(passed({ limits, key: { id: key } }), ({ outcome }) => outcome)
    yield* refusal({ requestsPerMinute: 1 }, "key_1")
    assert.deepInclude(yield* refusal({ requestsPerMinute: 1 }, "key_1"), {
      _tag: "RateLimited",
      limit: "requests",
      allowed: 1,
      retryAfterMs: 60_000
    })
    yield* refusal({ tokensPerMinute: 15 }, "key_2")
    assert.deepInclude(yield* refusal({ tokensPerMinute: 15 }, "key_2"), {
      _tag: "RateLimited",
      limit: "tokens",
      allowed: 15,
      retryAfterMs: 20_000
    })
    yield* refusal({ concurrency: 1 }, "key_3")
    assert.deepInclude(yield* refusal({ concurrency: 1 }, "key_3"), {
      _tag: "RateLimited",
      limit: "concurrency",
      allowed: 1,
      retryAfterMs: 1_000
    })
  }).pipe(Effect.scoped, Effect.provide(layer))
)

it.effect("the concurrency slot is held until the request's scope closes, whatever the outcome", () =>
  Effect.gen(function* () {
    for (const exit of [Exit.void, Exit.die("bug"), Exit.interrupt(1)]) {
      const scope = yield* Scope.make()
      const first = yield* Scope.provide(passed({ limits: { concurrency: 1 } }), scope)
      assert.strictEqual(first.outcome, "reached")
      const second = yield* Effect.scoped(passed({ limits: { concurrency: 1 } }))
      assert.deepInclude(second.outcome, { _tag: "RateLimited", limit: "concurrency" })
      yield* Scope.close(scope, exit)
    }
  }).pipe(Effect.provide(layer))
)

it.effect("a refused budget names cap, spent, reserved, needed, and the end of the month, after it waited", () =>
  Effect.gen(function* () {
    const ledger = yield* Ledger
    yield* ledger.reserve({
      generationId: "gen_other",
      keyId: keyWith().id,
      ownerId: null,
      model: "test/small",
      month: "1970-01",
      amountNano: 15_000,
      capNano: null,
      createdAtMs: 0,
      leaseMs: 1_000,
      processId: "prc_1"
    })
    const asking = yield* Effect.forkChild(
      Effect.scoped(passed({ key: { monthlyBudgetNano: 20_000 }, outputTokens: 100 })),
      { startImmediately: true }
    )
    yield* TestClock.adjust("11 seconds")
    const { outcome } = yield* Fiber.join(asking)
    assert.deepInclude(outcome, {
      _tag: "BudgetExceeded",
      capNano: 20_000,
      spentNano: 0,
      reservedNano: 15_000,
      neededNano: 210_000,
      resetsAtMs: Date.UTC(1970, 1, 1)
    })
  }).pipe(Effect.provide(layer))
)

it.effect("a void request gives back the tokens that were taken for its prompt", () =>
  Effect.gen(function* () {
    const meter = yield* Meter
    const { metadata, request } = yield* Effect.scoped(passed({ promptTokens: 910, outputTokens: 32_000 }))
    assert.strictEqual(metadata.tokens?.remaining, 90)
    yield* meter.void(request)
    yield* meter.void(request)
    const next = yield* Effect.scoped(passed())
    assert.strictEqual(next.metadata.tokens?.remaining, 990)
  }).pipe(Effect.provide(layer))
)

it.effect("a prompt above the limit of a minute is refused for good, and takes no tokens", () =>
  Effect.gen(function* () {
    const { metadata, outcome } = yield* Effect.scoped(passed({ promptTokens: 1_001 }))
    assert.deepInclude(outcome, {
      _tag: "RateLimited",
      limit: "tokens",
      holder: "key",
      allowed: 1_000,
      needed: 1_001,
      retryAfterMs: null
    })
    assert.strictEqual(metadata.tokens?.remaining, 1_000)
    assert.strictEqual((yield* Effect.scoped(passed({ promptTokens: 1_000 }))).outcome, "reached")
  }).pipe(Effect.provide(layer))
)

it.effect("a long text is refused without a count if its length is enough", () =>
  Effect.gen(function* () {
    const policy = yield* Policy
    const { metadata, request } = yield* Effect.scoped(passed({ promptTokens: 800 }))
    const { requests, tokens } = metadata
    const left = requests !== null && tokens !== null ? { requests, tokens } : assert.fail("not asked")
    const asked = (characters: number) =>
      Effect.map(Effect.result(policy.tokensToCount(request.plan.caller, characters, left)), (result) =>
        result._tag === "Success" ? result.success : result.failure.reason
      )
    assert.strictEqual(yield* asked(200 * 16), 1_000, "up to the limit, because the prompt may be beyond it")
    assert.deepInclude(yield* asked(201 * 16), { limit: "tokens", needed: null, retryAfterMs: 48_000 })
    assert.deepInclude(yield* asked(1_001 * 16), { limit: "tokens", needed: 1_001, retryAfterMs: null })
  }).pipe(Effect.provide(layer))
)

it.effect("a request of one key counts for all keys of its owner", () =>
  Effect.gen(function* () {
    const owner = { id: "usr_1", limits: { ...tier, requestsPerMinute: 2 } }
    const of = (id: string) => Effect.map(Effect.scoped(passed({ owner, key: { id } })), ({ outcome }) => outcome)
    assert.strictEqual(yield* of("key_1"), "reached")
    assert.strictEqual(yield* of("key_2"), "reached")
    assert.deepInclude(yield* of("key_3"), {
      _tag: "RateLimited",
      limit: "requests",
      holder: "owner",
      allowed: 2,
      retryAfterMs: 30_000
    })
  }).pipe(Effect.provide(layer))
)

it.effect("a slot lasts as long as its request, and 15 s after its process has died", () =>
  Effect.gen(function* () {
    const limits = yield* Limits
    const one = { ...tier, requestsPerMinute: 1_000, concurrency: 1 }
    const isFree = Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
      Effect.map(
        limits.acquire({ keyId: keyWith().id, limits: one, tokens: 0, leaseId: "other", leaseMs: 0, nowMs }),
        ({ refusedBy }) => refusedBy === null
      )
    )
    const process = yield* Scope.make()
    const policy = yield* Layer.build(Layer.fresh(Policy.layer)).pipe(Scope.provide(process))
    const request = yield* Scope.make()
    yield* passed({ limits: one }).pipe(Scope.provide(request), Effect.provide(policy))
    for (let minute = 0; minute < 20; minute++) {
      yield* TestClock.adjust("1 minute")
      assert.isFalse(yield* isFree, `minute ${minute}`)
    }
    yield* Scope.close(process, Exit.void)
    yield* TestClock.adjust("9 seconds")
    assert.isFalse(yield* isFree)
    yield* TestClock.adjust("6 seconds")
    assert.isTrue(yield* isFree)
  }).pipe(Effect.provide(layer))
)

/**
 * The tokens that are left of 1,000 after a request with this prompt, and how often it was counted.
 */
const takenBy = (tokens: number, most: number) =>
  Effect.gen(function* () {
    const { counts, prompt } = boundedPrompt(tokens, most)
    const { metadata, outcome } = yield* passed({ prompt })
    return [outcome, metadata.tokens?.remaining, counts()]
  })

it.effect("the bound of a prompt is taken while half of the minute is left, and else its count", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* takenBy(300, 500), ["reached", 500, 0])
    assert.deepStrictEqual(yield* takenBy(100, 200), ["reached", 400, 1])
  }).pipe(Effect.scoped, Effect.provide(layer))
)

it.effect("a prompt whose count fits the limit of a minute is let through, whatever its bound", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* takenBy(900, 1_500), ["reached", 100, 1])
  }).pipe(Effect.scoped, Effect.provide(layer))
)

it.effect("a prompt whose count exceeds the limit of a minute is refused for its count", () =>
  Effect.gen(function* () {
    const { counts, prompt } = boundedPrompt(1_001, 1_500)
    const { outcome } = yield* passed({ prompt })
    assert.deepInclude(outcome, { _tag: "RateLimited", limit: "tokens", needed: 1_001, retryAfterMs: null })
    assert.strictEqual(counts(), 1)
  }).pipe(Effect.scoped, Effect.provide(layer))
)

it.effect("a bound that a running request took refuses no other whose count fits", () =>
  Effect.gen(function* () {
    const first = boundedPrompt(300, 450)
    const { request } = yield* passed({ prompt: first.prompt })
    assert.strictEqual(first.counts(), 0)
    // 550 are left by the bound, and 700 by the count.
    assert.deepStrictEqual(yield* takenBy(600, 900), ["reached", 100, 1])
    assert.strictEqual(first.counts(), 1)
    assert.strictEqual(request.reservation.takenTokens, 300)
  }).pipe(Effect.scoped, Effect.provide(layer))
)

it.effect("an admission with a bound that does not fit takes no tokens yet", () =>
  Effect.gen(function* () {
    const policy = yield* Policy
    const { note } = new MetadataRecorder()
    const caller = { ...meteredWith().plan.caller, limits: tier }
    const arriving = (generationId: string, tokens: number, isBound: boolean) =>
      Effect.map(
        withScope((scope) => policy.rateLimit({ caller, generationId, note, tokens, isBound, trace: null, scope })),
        ({ taken }) => taken
      )
    assert.strictEqual(yield* arriving("gen_1", 700, true), 700)
    assert.strictEqual(yield* arriving("gen_2", 700, true), 0)
    const refused = yield* Effect.flip(Effect.scoped(arriving("gen_3", 700, false)))
    assert.deepInclude(refused.reason, { _tag: "RateLimited", limit: "tokens" })
  }).pipe(Effect.scoped, Effect.provide(layer))
)
