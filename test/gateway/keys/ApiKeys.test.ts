import * as KeyRepoMemory from "../../../src/store/keys/KeyRepoMemory.ts"
import { assert, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { Ids } from "../../../src/domain/Ids.ts"
import { allScopes, defaultBudgets, defaultTiers } from "../../../src/domain/Key.ts"
import { ApiKeys, type NewKey } from "../../../src/gateway/keys/ApiKeys.ts"
import { KeyRepo } from "../../../src/store/keys/KeyRepo.ts"
import * as LedgerMemory from "../../../src/store/ledger/Memory.ts"

const stores = Layer.mergeAll(KeyRepoMemory.layer, LedgerMemory.layer, Ids.layerSequence)
const layer = ApiKeys.layer({ tiers: defaultTiers, tierBudgets: defaultBudgets }).pipe(Layer.provideMerge(stores))

const newKey: NewKey = {
  name: "test",
  tier: "free",
  scopes: allScopes,
  monthlyBudgetNano: null,
  allowedModels: null,
  ownerId: null,
  expiresAtMs: null
}

const issued = (key: Partial<NewKey> = {}) =>
  Effect.gen(function* () {
    const { secret, view } = yield* (yield* ApiKeys).issue({ ...newKey, ...key })
    return { id: view.key.id, secret: Redacted.value(secret), view }
  })

const opens = (secret: string) =>
  Effect.flatMap(ApiKeys, (accounts) =>
    accounts
      .authenticate(secret)
      .pipe(Effect.match({ onFailure: ({ reason }) => reason._tag, onSuccess: ({ key }) => key.id }))
  )

it.effect("a secret has 256 bits, authenticates its key, and is not in the record", () =>
  Effect.gen(function* () {
    const { id, secret, view } = yield* issued()
    assert.match(secret, /^tg-[0-9a-f]+-[A-Za-z0-9_-]{43,}$/)
    assert.strictEqual(yield* opens(secret), id)
    const record = JSON.stringify(view.key)
    assert.notInclude(record, secret.split("-").slice(2).join("-"))
    assert.isTrue(secret.startsWith(view.key.prefix.slice(0, -1)))
    assert.deepStrictEqual(view.limits, defaultTiers.free)
    assert.notStrictEqual((yield* issued()).secret, secret)
  }).pipe(Effect.provide(layer))
)

it.effect("anything but the whole secret is unauthenticated", () =>
  Effect.gen(function* () {
    const { secret } = yield* issued()
    const [, publicId = ""] = secret.split("-")
    for (const wrong of [
      "",
      "tg-",
      `tg-${publicId}-`,
      secret.slice(0, -1),
      `${secret}x`,
      ` ${secret}`,
      secret.toUpperCase()
    ]) {
      assert.strictEqual(yield* opens(wrong), "Unauthenticated", wrong)
    }
  }).pipe(Effect.provide(layer))
)

it.effect("a rotated key: both secrets authenticate during the grace period, then only the new one", () =>
  Effect.gen(function* () {
    const accounts = yield* ApiKeys
    const { id, secret } = yield* issued()
    yield* opens(secret)
    const fresh = Redacted.value((yield* accounts.rotate(id, 60)).secret)
    assert.deepStrictEqual([yield* opens(secret), yield* opens(fresh)], [id, id])
    yield* TestClock.adjust(59_999)
    assert.strictEqual(yield* opens(secret), id)
    yield* TestClock.adjust(1)
    assert.deepStrictEqual([yield* opens(secret), yield* opens(fresh)], ["Unauthenticated", id])
  }).pipe(Effect.provide(layer))
)

it.effect("without a grace period the old secret ends at once; a second rotation ends the first one's grace", () =>
  Effect.gen(function* () {
    const accounts = yield* ApiKeys
    const { id, secret } = yield* issued()
    yield* opens(secret)
    const second = Redacted.value((yield* accounts.rotate(id, 0)).secret)
    assert.deepStrictEqual([yield* opens(secret), yield* opens(second)], ["Unauthenticated", id])
    yield* accounts.rotate(id, 600)
    yield* accounts.rotate(id, 600)
    assert.strictEqual(yield* opens(second), "Unauthenticated")
  }).pipe(Effect.provide(layer))
)

it.effect("one of several concurrent rotations succeeds; the others fail and change nothing", () =>
  Effect.gen(function* () {
    const repo = yield* KeyRepo
    // All read the key before one of them writes.
    const slow = Layer.succeed(KeyRepo, { ...repo, get: (id) => Effect.tap(repo.get(id), () => Effect.yieldNow) })
    yield* Effect.gen(function* () {
      const accounts = yield* ApiKeys
      const { id, secret } = yield* issued()
      const results = yield* Effect.forEach(Array.from({ length: 6 }), () => Effect.result(accounts.rotate(id, 60)), {
        concurrency: "unbounded"
      })
      const made = results.flatMap((result) => (result._tag === "Success" ? [result.success.secret] : []))
      const refused = results.flatMap((result) => (result._tag === "Failure" ? [result.failure.reason._tag] : []))
      assert.deepStrictEqual(
        refused,
        Array.from({ length: 5 }, () => "KeyRotated")
      )
      for (const one of [secret, ...made.map(Redacted.value)]) assert.strictEqual(yield* opens(one), id)
    }).pipe(
      Effect.provide(
        ApiKeys.layer({ tiers: defaultTiers, tierBudgets: defaultBudgets }).pipe(
          Layer.provide(Layer.mergeAll(slow, LedgerMemory.layer, Ids.layerSequence))
        )
      )
    )
  }).pipe(Effect.provide(stores))
)

it.effect("a revoked key stops at once in this process, even in its grace period, and stays revoked", () =>
  Effect.gen(function* () {
    const accounts = yield* ApiKeys
    const { id, secret } = yield* issued()
    const fresh = Redacted.value((yield* accounts.rotate(id, 600)).secret)
    yield* opens(fresh)
    const revoked = yield* accounts.revoke(id)
    assert.deepStrictEqual([revoked.key.state, revoked.key.revokedAtMs], ["revoked", 0])
    assert.deepStrictEqual([yield* opens(secret), yield* opens(fresh)], ["Unauthenticated", "Unauthenticated"])
    const refused = yield* Effect.flip(accounts.change(id, { state: "active" }))
    assert.strictEqual(refused.reason._tag, "KeyRevoked")
    assert.strictEqual(yield* opens(fresh), "Unauthenticated")
  }).pipe(Effect.provide(layer))
)

it.effect("a key revoked by another process stops within a second; lookups in between are served from memory", () =>
  Effect.gen(function* () {
    const repo = yield* KeyRepo
    let lookups = 0
    const counting = Layer.succeed(KeyRepo, {
      ...repo,
      findByPublicId: (publicId) =>
        Effect.suspend(() => {
          lookups++
          return repo.findByPublicId(publicId)
        })
    })
    yield* Effect.gen(function* () {
      const { id, secret } = yield* issued()
      for (let request = 0; request < 10; request++) yield* opens(secret)
      assert.strictEqual(lookups, 1)
      yield* repo.update(id, { state: "revoked", revokedAtMs: 0 }, 0)
      yield* TestClock.adjust(999)
      assert.strictEqual(yield* opens(secret), id, "the other replica has not heard of it yet")
      yield* TestClock.adjust(1)
      assert.strictEqual(yield* opens(secret), "Unauthenticated")
      assert.strictEqual(lookups, 2)
    }).pipe(
      Effect.provide(
        ApiKeys.layer({ tiers: defaultTiers, tierBudgets: defaultBudgets }).pipe(
          Layer.provide(Layer.mergeAll(counting, LedgerMemory.layer, Ids.layerSequence))
        )
      )
    )
  }).pipe(Effect.provide(stores))
)

/** Keys whose lookups are counted, and wait while `held` says so. */
const watched = Effect.gen(function* () {
  const repo = yield* KeyRepo
  const lookups: Array<string> = []
  const held = { until: Effect.void as Effect.Effect<unknown> }
  const accounts = ApiKeys.layer({ tiers: defaultTiers, tierBudgets: defaultBudgets }).pipe(
    Layer.provide(
      Layer.succeed(KeyRepo, {
        ...repo,
        findByPublicId: (publicId) =>
          Effect.tap(repo.findByPublicId(publicId), () => {
            lookups.push(publicId)
            return held.until
          })
      })
    )
  )
  return { accounts, held, lookups }
})

const madeUp = (index: number) => `tg-${index.toString(16).padStart(16, "0")}-${"x".repeat(43)}`

it.effect("unknown ids do not displace existing keys, and are remembered too", () =>
  Effect.gen(function* () {
    const { accounts, lookups } = yield* watched
    yield* Effect.gen(function* () {
      const { id, secret } = yield* issued()
      assert.strictEqual(yield* opens(secret), id)
      for (let index = 0; index < 10_001; index++) yield* opens(madeUp(index))
      assert.lengthOf(lookups, 10_002)
      assert.strictEqual(yield* opens(madeUp(10_000)), "Unauthenticated")
      assert.strictEqual(yield* opens(secret), id)
      assert.lengthOf(lookups, 10_002)
      // The oldest of them were forgotten.
      yield* opens(madeUp(0))
      assert.lengthOf(lookups, 10_003)
    }).pipe(Effect.provide(accounts))
  }).pipe(Effect.provide(stores))
)

it.effect("a lookup that began before a revocation is not remembered after it", () =>
  Effect.gen(function* () {
    const { accounts, held } = yield* watched
    yield* Effect.gen(function* () {
      const { id, secret } = yield* issued()
      const release = yield* Deferred.make<void>()
      held.until = Deferred.await(release)
      const late = yield* Effect.forkChild(opens(secret), { startImmediately: true })
      yield* Effect.flatMap(ApiKeys, (own) => own.revoke(id))
      yield* Deferred.succeed(release, undefined)
      assert.strictEqual(yield* Fiber.join(late), id, "it was asked before")
      assert.strictEqual(yield* opens(secret), "Unauthenticated")
    }).pipe(Effect.provide(accounts))
  }).pipe(Effect.provide(stores))
)

it.effect("a cap set by another process applies within a second, even after a slow lookup", () =>
  Effect.gen(function* () {
    const repo = yield* KeyRepo
    const { accounts, held } = yield* watched
    yield* Effect.gen(function* () {
      const { id, secret } = yield* issued({ tier: "enterprise", monthlyBudgetNano: null })
      const capHere = Effect.map(
        Effect.flatMap(ApiKeys, ({ authenticate }) => authenticate(secret)),
        ({ key }) => key.monthlyBudgetNano
      )
      held.until = Effect.sleep(600)
      const asked = yield* Effect.forkChild(capHere, { startImmediately: true })
      yield* repo.update(id, { monthlyBudgetNano: 7 }, 0)
      yield* TestClock.adjust(600)
      assert.isNull(yield* Fiber.join(asked))
      yield* TestClock.adjust(399)
      assert.isNull(yield* capHere)
      held.until = Effect.void
      yield* TestClock.adjust(1)
      assert.strictEqual(yield* capHere, 7)
    }).pipe(Effect.provide(accounts))
  }).pipe(Effect.provide(stores))
)

it.effect("a revoked key stops within a second on another process whose clock was set back an hour", () =>
  Effect.gen(function* () {
    const repo = yield* KeyRepo
    const clock = yield* Clock.Clock
    let backMs = 0
    const setBack: Clock.Clock = {
      currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() - backMs,
      currentTimeMillis: Effect.sync(() => clock.currentTimeMillisUnsafe() - backMs),
      currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe() - BigInt(backMs) * 1_000_000n,
      currentTimeNanos: Effect.sync(() => clock.currentTimeNanosUnsafe() - BigInt(backMs) * 1_000_000n),
      monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
      monotonicTimeNanos: clock.monotonicTimeNanos,
      sleep: (duration) => clock.sleep(duration)
    }
    yield* Effect.gen(function* () {
      const { id, secret } = yield* issued()
      assert.strictEqual(yield* opens(secret), id)
      backMs = 3_600_000
      yield* repo.update(id, { state: "revoked", revokedAtMs: 0 }, 0)
      yield* Effect.provideService(TestClock.adjust(1_000), Clock.Clock, clock)
      assert.strictEqual(yield* opens(secret), "Unauthenticated")
    }).pipe(
      Effect.provide(ApiKeys.layer({ tiers: defaultTiers, tierBudgets: defaultBudgets })),
      Effect.provideService(Clock.Clock, setBack)
    )
  }).pipe(Effect.provide(stores))
)

it.effect("disabled and expired keys do not authenticate, and do again when that is undone", () =>
  Effect.gen(function* () {
    const accounts = yield* ApiKeys
    const { id, secret } = yield* issued({ expiresAtMs: 1_000 })
    yield* accounts.change(id, { state: "disabled" })
    assert.strictEqual(yield* opens(secret), "Unauthenticated")
    yield* accounts.change(id, { state: "active" })
    assert.strictEqual(yield* opens(secret), id)
    yield* TestClock.adjust(1_000)
    assert.strictEqual(yield* opens(secret), "Unauthenticated")
    yield* accounts.change(id, { expiresAtMs: null })
    assert.strictEqual(yield* opens(secret), id)
  }).pipe(Effect.provide(layer))
)

it.effect("the last use is recorded every ten seconds", () =>
  Effect.gen(function* () {
    const accounts = yield* ApiKeys
    const { id, secret } = yield* issued()
    yield* TestClock.adjust(3_000)
    yield* opens(secret)
    assert.isNull((yield* accounts.get(id)).key.lastUsedAtMs)
    yield* TestClock.adjust(7_000)
    assert.strictEqual((yield* accounts.get(id)).key.lastUsedAtMs, 3_000)
  }).pipe(Effect.provide(layer))
)

it.effect("a secret can be checked without counting as a use", () =>
  Effect.gen(function* () {
    const accounts = yield* ApiKeys
    const { id, secret } = yield* issued()
    assert.isTrue(yield* accounts.opens(secret))
    assert.isFalse(yield* accounts.opens(`${secret}x`))
    yield* TestClock.adjust("20 seconds")
    assert.isNull((yield* accounts.get(id)).key.lastUsedAtMs)
  }).pipe(Effect.provide(layer))
)

it.effect("every operation on an unknown id answers that it is not found", () =>
  Effect.gen(function* () {
    const accounts = yield* ApiKeys
    for (const id of ["", "key_x", "gen_000000000000000000000000000000aa", "key_000000000000000000000000000000aa"]) {
      const asked = [
        Effect.asVoid(accounts.get(id)),
        Effect.asVoid(accounts.change(id, {})),
        Effect.asVoid(accounts.revoke(id)),
        Effect.asVoid(accounts.rotate(id, 0))
      ]
      for (const effect of asked) {
        const { reason } = yield* Effect.flip(effect)
        assert.deepInclude(reason, { _tag: "NotFound", what: "key", id })
      }
    }
  }).pipe(Effect.provide(layer))
)

it.effect("an owner's limits are those of the granted tier; a key without an owner has only its own", () =>
  Effect.gen(function* () {
    const repo = yield* KeyRepo
    const granting = Layer.succeed(KeyRepo, { ...repo, ownerTier: () => Effect.succeed("pro") })
    const callerOf = (ownerId: string | null) =>
      Effect.gen(function* () {
        const accounts = yield* ApiKeys
        const { secret } = yield* accounts.issue({ ...newKey, tier: "free", ownerId })
        const { limits, owner } = yield* accounts.authenticate(Redacted.value(secret))
        return { limits, owner }
      })
    const layer = ApiKeys.layer({ tiers: defaultTiers, tierBudgets: defaultBudgets })
    const { enterprise: _, free, pro } = defaultTiers
    const granted = callerOf("usr_1").pipe(Effect.provide(Layer.provide(layer, granting)))
    assert.deepStrictEqual(yield* granted, { limits: free, owner: { id: "usr_1", limits: pro } })
    const other = yield* Effect.provide(callerOf("usr_1"), layer)
    assert.deepStrictEqual(other, { limits: free, owner: { id: "usr_1", limits: free } })
    assert.deepStrictEqual(yield* Effect.provide(callerOf(null), layer), { limits: free, owner: null })
  }).pipe(Effect.provide(stores))
)
