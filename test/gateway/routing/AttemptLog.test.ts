/** The log of a request's calls: a record that was read does not change. */
import { assert, it } from "@effect/vitest"
import { type Attempt } from "../../../src/domain/Generation.ts"
import { abortedCharge, noAttempts } from "../../../src/gateway/request/AttemptRecord.ts"
import { AttemptLog } from "../../../src/gateway/routing/AttemptLog.ts"
import { Cut, ProviderError, TimedOut } from "../../../src/providers/Provider.ts"
import { candidateWith } from "../plans.ts"

const attemptAt = (provider: string, status: Attempt["status"] = "ok"): Attempt => ({
  provider,
  model: "test/small",
  status,
  latencyMs: 1,
  errorType: null,
  httpStatus: null
})

it("a record that was read does not change with the log", () => {
  const log = new AttemptLog()
  log.startCall()
  log.startCall()
  const before = log.record
  assert.strictEqual(log.endCall(attemptAt("alpha", "cancelled")), 0)
  assert.strictEqual(log.endCall(attemptAt("beta")), 1)
  const both = log.record
  log.charge(abortedCharge(both, candidateWith("alpha"), 10, 0), 0)
  log.change(0, { errorType: "hedge_lost" })
  log.continued({ candidate: candidateWith("gamma"), promptTokens: 12, producedTokens: 2 })
  log.watch(() => 3)
  assert.deepStrictEqual(before, { ...noAttempts, calls: 2 })
  assert.deepStrictEqual(both, { ...noAttempts, attempts: [attemptAt("alpha", "cancelled"), attemptAt("beta")] })
  const { attempts, charges, continuation, produced } = log.record
  assert.deepInclude(attempts[0], { errorType: "hedge_lost" })
  assert.strictEqual(attempts[0]?.charge?.totalNano, 10_000)
  assert.deepStrictEqual([charges.length, continuation?.producedTokens, produced?.()], [1, 2, 3])
})

it("a stream that breaks changes the attempt that answered, once", () => {
  const log = new AttemptLog()
  for (const provider of ["alpha", "beta"]) {
    log.startCall()
    log.endCall(attemptAt(provider, provider === "alpha" ? "error" : "ok"))
  }
  assert.strictEqual(log.breakStream(new ProviderError({ provider: "beta", reason: new Cut({ detail: "reset" }) })), 1)
  assert.deepInclude(log.record.attempts[1], { status: "error", errorType: "stream_cut" })
  const again = new ProviderError({ provider: "beta", reason: new TimedOut({ phase: "idle" }) })
  assert.strictEqual(log.breakStream(again), -1)
  assert.deepInclude(log.record.attempts[1], { status: "error", errorType: "stream_cut" })
})
