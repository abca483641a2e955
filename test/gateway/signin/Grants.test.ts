import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { type KeyRecord } from "../../../src/domain/Key.ts"
import { type Grants } from "../../../src/domain/User.ts"
import {
  areScopesWithin,
  corrections,
  isTierWithin,
  type KeyUsage,
  remainingOf
} from "../../../src/gateway/signin/Grants.ts"

const grants = (overrides: Partial<Grants> = {}): Grants => ({
  tier: "pro",
  monthlyBudgetNano: 100,
  scopes: ["chat:write", "models:read"],
  ...overrides
})

let count = 0
const book = (overrides: Partial<KeyRecord> = {}, usedNano = 0): KeyUsage => ({
  usedNano,
  key: {
    id: `key_${String(++count).padStart(32, "0")}`,
    publicId: String(count),
    secretHash: "",
    previousSecretHash: null,
    previousValidUntilMs: null,
    prefix: "",
    name: "",
    tier: "free",
    scopes: ["chat:write"],
    state: "active",
    monthlyBudgetNano: 10,
    allowedModels: null,
    privacy: null,
    ownerId: "usr_1",
    createdAtMs: 0,
    updatedAtMs: 0,
    lastUsedAtMs: null,
    expiresAtMs: null,
    revokedAtMs: null,
    ...overrides
  }
})

it("tiers and scopes up to the grant are within it", () => {
  assert.deepStrictEqual(
    [isTierWithin("free", "pro"), isTierWithin("pro", "pro"), isTierWithin("pro", "free")],
    [true, true, false]
  )
  assert.isTrue(areScopesWithin([], []))
  assert.isFalse(areScopesWithin(["chat:write"], ["models:read"]))
})

describe("what remains of a budget", () => {
  it("is the grant without each key's budget, or its use if that is more", () => {
    assert.strictEqual(remainingOf(grants(), []), 100)
    assert.strictEqual(remainingOf(grants(), [book(), book({ monthlyBudgetNano: 20 }, 30)]), 60)
    assert.strictEqual(remainingOf(grants(), [book({ state: "disabled" }), book({ expiresAtMs: 1 })]), 80)
  })

  it("does not grow when a used key is revoked", () => {
    assert.strictEqual(remainingOf(grants(), [book({ state: "revoked", monthlyBudgetNano: 50 }, 40)]), 60)
    assert.strictEqual(remainingOf(grants(), [book({ state: "revoked", monthlyBudgetNano: 50 })]), 100)
  })

  it("is 0 next to a key without a cap, and unlimited without a cap in the grant", () => {
    assert.isBelow(remainingOf(grants(), [book({ monthlyBudgetNano: null })]) ?? 0, 0)
    assert.isNull(remainingOf(grants({ monthlyBudgetNano: null }), [book({ monthlyBudgetNano: null })]))
  })
})

describe("corrections", () => {
  it("leave keys within the grant alone", () => {
    assert.deepStrictEqual(corrections(grants(), [book(), book({ state: "revoked", tier: "enterprise" })]), [])
    assert.deepStrictEqual(corrections(grants({ monthlyBudgetNano: null }), [book({ monthlyBudgetNano: null })]), [])
  })

  it("cut tier and scopes down to the grant", () => {
    const [high, wide] = [book({ tier: "enterprise" }), book({ scopes: ["chat:write", "embeddings:write"] })]
    assert.deepStrictEqual(corrections(grants(), [high, wide]), [
      { keyId: high.key.id, tier: "pro" },
      { keyId: wide.key.id, scopes: ["chat:write"] }
    ])
  })

  it("let the oldest keys keep their budgets as far as the grant reaches", () => {
    const books = [
      book({ state: "revoked" }, 15),
      book({ monthlyBudgetNano: 40 }),
      book({ monthlyBudgetNano: null }, 5),
      book({ monthlyBudgetNano: 10 })
    ]
    const [, first = "", second = "", third = ""] = books.map(({ key }) => key.id)
    assert.deepStrictEqual(corrections(grants({ monthlyBudgetNano: 75 }), books), [
      { keyId: second, monthlyBudgetNano: 20 },
      { keyId: third, monthlyBudgetNano: 0 }
    ])
    assert.deepStrictEqual(
      corrections(grants({ monthlyBudgetNano: 0 }), books).map(({ keyId, monthlyBudgetNano }) => [
        keyId,
        monthlyBudgetNano
      ]),
      [
        [first, 0],
        [second, 0],
        [third, 0]
      ]
    )
  })
})

it("corrections leave the oldest key only the part of the grant that is not used", () => {
  const [first, second] = [book({ monthlyBudgetNano: null }), book({ monthlyBudgetNano: 40 }, 30)]
  const granted = grants({ monthlyBudgetNano: 50 })
  assert.deepStrictEqual(corrections(granted, [first, second]), [
    { keyId: first.key.id, monthlyBudgetNano: 20 },
    { keyId: second.key.id, monthlyBudgetNano: 30 }
  ])
})

describe("corrections of any keys", () => {
  const Nano = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60 }))
  const Scopes = Schema.UniqueArray(Schema.Literals(["chat:write", "models:read", "embeddings:write"]))
  const Grant = Schema.Struct({
    tier: Schema.Literals(["free", "pro", "enterprise"]),
    monthlyBudgetNano: Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 200 }))),
    scopes: Scopes
  })
  const Keys = Schema.Array(
    Schema.Struct({
      tier: Schema.Literals(["free", "pro", "enterprise"]),
      state: Schema.Literals(["active", "active", "disabled", "revoked"]),
      monthlyBudgetNano: Schema.NullOr(Nano),
      scopes: Scopes,
      usedNano: Nano
    })
  )

  /** The keys before and after their corrections, oldest first. */
  const corrected = (granted: Grants, keys: typeof Keys.Type) => {
    const before = keys.map(({ usedNano, ...key }) => book(key, usedNano))
    const changes = new Map(corrections(granted, before).map(({ keyId, ...members }) => [keyId, members]))
    const after = before.map(({ key, usedNano }) => ({ key: { ...key, ...changes.get(key.id) }, usedNano }))
    return { before, after, changes }
  }
  const isLive = ({ key }: KeyUsage) => key.state !== "revoked"
  const sum = (amounts: ReadonlyArray<number>) => amounts.reduce((total, amount) => total + amount, 0)

  /** The amount that the keys may still spend this month. */
  const openOf = (books: ReadonlyArray<KeyUsage>) =>
    sum(books.filter(isLive).map(({ key, usedNano }) => Math.max(0, (key.monthlyBudgetNano ?? Infinity) - usedNano)))
  const budgetsOf = (books: ReadonlyArray<KeyUsage>) =>
    sum(books.filter(isLive).map(({ key }) => key.monthlyBudgetNano ?? Infinity))
  /** The part of the grant that is not used this month. */
  const unused = (cap: number, books: ReadonlyArray<KeyUsage>) =>
    Math.max(0, cap - sum(books.map(({ usedNano }) => usedNano)))

  it.prop(
    "fit the grant, this month and later, and need no second correction",
    { granted: Grant, keys: Keys },
    ({ granted, keys }) => {
      const { after } = corrected(granted, keys)
      assert.deepStrictEqual(corrections(granted, after), [])
      for (const { key } of after.filter(isLive)) {
        assert.isTrue(isTierWithin(key.tier, granted.tier) && areScopesWithin(key.scopes, granted.scopes))
      }
      const { monthlyBudgetNano: cap } = granted
      if (cap === null) return
      assert.isAtMost(openOf(after), unused(cap, after))
      assert.isAtMost(budgetsOf(after), cap)
    }
  )

  it.prop(
    "raise nothing, touch no revoked key, and cut a budget only where it and older ones use up the grant",
    { granted: Grant, keys: Keys },
    ({ granted, keys }) => {
      const { after, before, changes } = corrected(granted, keys)
      const { monthlyBudgetNano: cap } = granted
      for (const [at, { key }] of before.entries()) {
        const { key: now } = after[at] ?? assert.fail()
        const [had, has] = [key.monthlyBudgetNano ?? Infinity, now.monthlyBudgetNano ?? Infinity]
        if (key.state === "revoked") assert.isFalse(changes.has(key.id))
        assert.isTrue(isTierWithin(now.tier, key.tier) && areScopesWithin(now.scopes, key.scopes))
        assert.isAtMost(has, had)
        if (has === had) continue
        const older = after.slice(0, at + 1)
        assert.isNotNull(cap)
        assert.isTrue(openOf(older) === unused(cap ?? 0, after) || budgetsOf(older) === cap)
      }
    }
  )
})
