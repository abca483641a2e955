/** Assertions about answers for the tests of faults. */
import { assert } from "@effect/vitest"
import { chatSurface } from "../support/surfaces.ts"
import { type Attempted, healthy, type Mode, type Reply } from "./gateway.ts"

export const healthyText = "Hello from the other side"

/**
 * A complete, correct answer: the text of `answering`, its usage, one finish reason, a proper end.
 */
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

/** The same from `beta`, after `alpha` failed with `failed`. */
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

/** The same from `alpha` itself, after a retry. */
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

/**
 * A stream that broke off: `text`, then the error, and on some surfaces the usage.
 */
export const assertBroken = (reply: Reply, text: string, type: "provider_error" | "provider_timeout"): void => {
  assert.strictEqual(reply.status, 200)
  assert.strictEqual(reply.content, text)
  assert.deepStrictEqual(reply.finishReasons, ["error"])
  assert.strictEqual(reply.error?.type, type)
  assert.strictEqual(reply.error?.retryable, reply.surface === chatSurface ? true : undefined)
  assert.isTrue(reply.isDone)
  assert.strictEqual(reply.receipt?.finish_reason, "error")
  assert.isNotNull(reply.receipt?.error_type)
  // The output is counted and charged.
  assert.strictEqual(reply.receipt?.usage_source, "counted")
  assert.isAbove(reply.receipt?.usage.completion_tokens ?? 0, 0)
  if (reply.surface.tellsUsageOfBroken) assert.deepInclude(reply.receipt?.usage, reply.usage ?? {})
  assert.isAbove(reply.receipt?.cost.billed_usd ?? 0, 0)
}
