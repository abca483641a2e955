import { assert, it } from "@effect/vitest"
import { allowsModel, statusOf } from "../../src/domain/Key.ts"
import { keyWith } from "../gateway/plans.ts"

it("a whitelist admits ids, an author's models, everything, or nothing", () => {
  const cases: ReadonlyArray<readonly [ReadonlyArray<string> | null, string, boolean]> = [
    [null, "a/b", true],
    [[], "a/b", false],
    [["a/b"], "a/b", true],
    [["a/b"], "a/bc", false],
    [["a/b"], "a/B", false],
    [["a/*"], "a/b", true],
    [["a/*"], "ab/c", false],
    [["a/*"], "a", false],
    [["*"], "x/y", true],
    [["x/y", "a/*"], "a/b", true]
  ]
  for (const [allowed, model, admitted] of cases) {
    assert.strictEqual(allowsModel(allowed, model), admitted, `${allowed?.join(" ")} ${model}`)
  }
})

it("an active key expires at its moment; a revoked or disabled one is that first", () => {
  assert.strictEqual(statusOf(keyWith({ expiresAtMs: 10 }), 9), "active")
  assert.strictEqual(statusOf(keyWith({ expiresAtMs: 10 }), 10), "expired")
  assert.strictEqual(statusOf(keyWith(), Number.MAX_SAFE_INTEGER), "active")
  assert.strictEqual(statusOf(keyWith({ state: "revoked", expiresAtMs: 10 }), 11), "revoked")
  assert.strictEqual(statusOf(keyWith({ state: "disabled", expiresAtMs: 10 }), 11), "disabled")
})
