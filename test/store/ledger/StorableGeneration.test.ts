/** A regular generation is stored as it is, and any absurd value is bounded. */
import { assert, it } from "@effect/vitest"
import { Predicate } from "effect"
import { type Generation } from "../../../src/domain/Generation.ts"
import { zeroCost } from "../../../src/domain/pricing/Money.ts"
import { storableGeneration } from "../../../src/store/ledger/StorableGeneration.ts"
import { makeGeneration } from "./makeGeneration.ts"

const usage = { promptTokens: 10, completionTokens: 20, cachedTokens: 5, reasoningTokens: 1, serviceTier: "flex" }
const regular = makeGeneration(
  {
    id: "gen_1",
    ownerId: "usr_1",
    requestedModel: "small",
    latencyMs: 12,
    timeToFirstTokenMs: 3,
    usage: { ...usage, rare: { cache_write: 3 } },
    cost: { ...zeroCost, lines: [{ class: "prompt", quantity: 10, price: 5, nano: 1 }] },
    attempts: [
      {
        provider: "mock",
        model: "mock/echo",
        status: "error",
        latencyMs: 5,
        startedMs: 0,
        endedMs: 5,
        errorType: "timeout",
        httpStatus: 503,
        message: "no",
        charge: { usage, totalNano: 5 }
      }
    ],
    excluded: [{ slug: "other", model: "mock/echo", reason: "ignored" }],
    parameters: { temperature: 0.7 },
    masked: { email: 1 },
    request: { id: "r-1", endpoint: "POST /v1/chat/completions", status: 200 },
    dropped: ["logit_bias"]
  },
  7
)

/** The value with one number or text in it made absurd, for each of them in turn. */
const spoilt = function* (value: unknown, path = ""): Generator<readonly [string, unknown]> {
  if (typeof value === "number") for (const absurd of [Number.NaN, 1e15, 1e300, Infinity]) yield [path, absurd]
  if (typeof value === "string") yield [path, "x".repeat(301)]
  if (!Predicate.isObjectOrArray(value)) return
  for (const [name, member] of Object.entries(value)) {
    for (const [where, change] of spoilt(member, `${path}.${name}`))
      yield [where, Array.isArray(value) ? [change] : { ...value, [name]: change }]
  }
}

/** Members that this does not bound, and words of the code. */
const kept = /^\.(?:id|keyId|ownerId|createdAtMs|usageSource|parameters|masked|request|dropped\..)|\.(?:class|status)$/

it("a regular generation stays as it is", () => {
  assert.strictEqual(storableGeneration(regular), regular)
  assert.strictEqual(storableGeneration({ ...regular, parameters: { top_p: 0.5 } }).attempts, regular.attempts)
})

it("a value beyond its bound is bounded, wherever it stands", () => {
  const seen: Array<string> = []
  for (const [path, changed] of spoilt(regular)) {
    if (kept.test(path)) continue
    seen.push(path)
    const text = JSON.stringify(storableGeneration(changed as Generation), (_, value: unknown) =>
      typeof value === "number" && !(Math.abs(value) <= 1e14) ? `beyond: ${value}` : value
    )
    assert.notInclude(text, "beyond: ", path)
    assert.notInclude(text, "x".repeat(301), path)
  }
  assert.includeMembers(seen, [
    ".cost.lines.0.nano",
    ".attempts.0.charge.usage.promptTokens",
    ".usage.rare.cache_write"
  ])
})

it("long lists are cut", () => {
  const { attempts, excluded } = regular
  const many = <A>(list: ReadonlyArray<A>) => Array.from({ length: 100 }, () => list).flat()
  const cut = storableGeneration({
    ...regular,
    attempts: many(attempts),
    excluded: many(excluded),
    dropped: many(["logit_bias"])
  })
  assert.deepStrictEqual([cut.attempts.length, cut.excluded.length, cut.dropped?.length], [64, 64, 32])
})
