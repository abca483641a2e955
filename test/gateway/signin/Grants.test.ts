import { assert, describe, it } from "@effect/vitest"
import { type KeyRecord } from "../../../src/domain/Key.ts"
import { type Grants } from "../../../src/domain/User.ts"
import {
  areScopesWithin,
  corrections,
  isTierWithin,
  type KeyBook,
  remainingOf
} from "../../../src/gateway/signin/Grants.ts"

const grants = (overrides: Partial<Grants> = {}): Grants => ({
  tier: "pro",
  monthlyBudgetNano: 100,
  scopes: ["chat:write", "models:read"],
  ...overrides
})

let count = 0
const book = (overrides: Partial<KeyRecord> = {}, usedNano = 0): KeyBook => ({
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

it("tiers and scopes are within a grant up to it", () => {
  assert.deepStrictEqual(
    [isTierWithin("free", "pro"), isTierWithin("pro", "pro"), isTierWithin("pro", "free")],
    [true, true, false]
  )
  assert.isTrue(areScopesWithin([], []))
  assert.isFalse(areScopesWithin(["chat:write"], ["models:read"]))
})

describe("what remains of a budget", () => {
  it("is what no key has: its budget, or what it has used where that is more", () => {
    assert.strictEqual(remainingOf(grants(), []), 100)
    assert.strictEqual(remainingOf(grants(), [book(), book({ monthlyBudgetNano: 20 }, 30)]), 60)
    assert.strictEqual(remainingOf(grants(), [book({ state: "disabled" }), book({ expiresAtMs: 1 })]), 80)
  })

  it("is not won back by revoking a key that was used", () => {
    assert.strictEqual(remainingOf(grants(), [book({ state: "revoked", monthlyBudgetNano: 50 }, 40)]), 60)
    assert.strictEqual(remainingOf(grants(), [book({ state: "revoked", monthlyBudgetNano: 50 })]), 100)
  })

  it("is nothing beside a key without a cap, and unlimited without a cap of one's own", () => {
    assert.isBelow(remainingOf(grants(), [book({ monthlyBudgetNano: null })]) ?? 0, 0)
    assert.isNull(remainingOf(grants({ monthlyBudgetNano: null }), [book({ monthlyBudgetNano: null })]))
  })
})

describe("corrections", () => {
  it("leave what fits alone", () => {
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

  it("let the oldest keys keep their budgets as long as the grant lasts; afterwards all fits", () => {
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
