/** What the tests of faults have in common to say of an answer. */
import { assert } from "@effect/vitest"
import { type Attempted, healthy, type Mode, type Reply } from "./gateway.ts"

export const healthyText = "Hello from the other side"

/** A complete, correct answer: the text of `answering`, its usage, one finish reason, a proper end. */
export const assertWhole = (mode: Mode, reply: Reply, provider: string): void => {
  assert.strictEqual(reply.status, 200, reply.text)
  assert.isUndefined(reply.error, reply.text)
  assert.strictEqual(reply.content, healthyText)
  assert.deepStrictEqual(reply.finishReasons, ["stop"])
  assert.strictEqual(reply.model, "test/small")
  assert.strictEqual(reply.provider, provider)
  assert.strictEqual(reply.headers.get("x-tollgate-provider"), provider)
  assert.strictEqual(reply.usage?.prompt_tokens, healthy.prompt_tokens)
  assert.strictEqual(reply.usage?.completion_tokens, healthy.completion_tokens)
  assert.strictEqual(reply.isDone, mode === "stream")
  assert.strictEqual(reply.receipt?.provider, provider)
  assert.strictEqual(reply.receipt?.usage_source, "provider")
  assert.isNull(reply.receipt?.error_type ?? null)
}

/** The same from `beta`, after `alpha` failed as told. */
export const assertFallback = (mode: Mode, reply: Reply, failed: Partial<Attempted>): void => {
  assertWhole(mode, reply, "beta")
  assert.isTrue(reply.receipt?.fallback_used)
  assert.deepStrictEqual(
    reply.receipt?.attempts.map(({ provider, status }) => [provider, status]),
    [
      ["alpha", failed.status ?? "error"],
      ["beta", "ok"]
    ]
  )
  assert.deepInclude(reply.receipt?.attempts[0], failed)
}

/** The same from `alpha` itself, at its second try. */
export const assertRetried = (mode: Mode, reply: Reply, failed: Partial<Attempted>): void => {
  assertWhole(mode, reply, "alpha")
  assert.isFalse(reply.receipt?.fallback_used)
  assert.deepStrictEqual(
    reply.receipt?.attempts.map(({ provider, status }) => [provider, status]),
    [
      ["alpha", failed.status ?? "error"],
      ["alpha", "ok"]
    ]
  )
  assert.deepInclude(reply.receipt?.attempts[0], failed)
}
