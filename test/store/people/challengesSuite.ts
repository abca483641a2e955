/** The guarantees of every Challenges store, in memory or in a database. */
import { assert, describe, type Vitest } from "@effect/vitest"
import { Effect, Option } from "effect"
import { Challenges, type CodeChallenge, type OAuthFlow } from "../../../src/store/people/Challenges.ts"

const T0 = Date.UTC(2026, 10, 21)

let count = 0
const challenge = (overrides: Partial<CodeChallenge> = {}): CodeChallenge => ({
  id: `chl_${++count}`,
  channel: "email",
  destination: `person${count}@example.com`,
  codeHash: "c".repeat(64),
  networkHash: "mine",
  attemptsTaken: 0,
  createdAtMs: T0,
  expiresAtMs: T0 + 600_000,
  ...overrides
})

const flow = (overrides: Partial<OAuthFlow> = {}): OAuthFlow => ({
  stateHash: `state-${++count}`,
  browserHash: "b".repeat(64),
  provider: "google",
  nonce: "nonce",
  verifier: "verifier",
  redirectTo: "https://app.example.com/signed-in?a=1",
  expiresAtMs: T0 + 600_000,
  ...overrides
})

export const challengesSuite = (it: Vitest.MethodsNonLive<Challenges>): void => {
  describe("Challenges", () => {
    const attempt = (id: string, nowMs = T0, channel: "email" | "sms" = "email") =>
      Effect.flatMap(Challenges, (store) => store.attempt({ id, channel, maxAttempts: 5, nowMs }))

    it.effect("allows five attempts, however many are concurrent", () =>
      Effect.gen(function* () {
        const store = yield* Challenges
        const made = challenge()
        yield* store.open(made)
        assert.deepStrictEqual(
          yield* attempt(made.id),
          Option.some({ destination: made.destination, codeHash: made.codeHash })
        )
        const tried = yield* Effect.forEach(Array.from({ length: 20 }), () => attempt(made.id), {
          concurrency: "unbounded"
        })
        assert.lengthOf(tried.filter(Option.isSome), 4)
        const short = challenge({ attemptsTaken: 4 })
        yield* store.open(short)
        assert.deepStrictEqual([yield* attempt(short.id), yield* attempt(short.id)].map(Option.isSome), [true, false])
      })
    )

    it.effect("returns none for a challenge that is absent, expired or of another channel", () =>
      Effect.gen(function* () {
        const store = yield* Challenges
        const made = challenge()
        yield* store.open(made)
        for (const refused of [
          yield* attempt("chl_nobody"),
          yield* attempt(made.id, made.expiresAtMs),
          yield* attempt(made.id, T0, "sms")
        ]) {
          assert.isTrue(Option.isNone(refused))
        }
        assert.isFalse(yield* store.consume("chl_nobody", T0))
        assert.isFalse(yield* store.consume(made.id, made.expiresAtMs))
      })
    )

    it.effect("is consumed once of many concurrent calls", () =>
      Effect.gen(function* () {
        const store = yield* Challenges
        const made = challenge()
        yield* store.open(made)
        const used = yield* Effect.forEach(Array.from({ length: 16 }), () => store.consume(made.id, T0), {
          concurrency: "unbounded"
        })
        assert.lengthOf(used.filter(Boolean), 1)
        assert.isTrue(Option.isNone(yield* attempt(made.id)))
      })
    )

    it.effect("counts the recent codes of a destination", () =>
      Effect.gen(function* () {
        const store = yield* Challenges
        const destination = "counted@example.com"
        for (const createdAtMs of [T0, T0 + 1, T0 + 2]) yield* store.open(challenge({ destination, createdAtMs }))
        yield* store.open(challenge({ destination, networkHash: "another's", createdAtMs: T0 + 2 }))
        const count = (to: string, sinceMs: number) => store.countSince(to, "mine", sinceMs)
        assert.deepStrictEqual(yield* count(destination, T0 + 1), { all: 3, ofNetwork: 2 })
        assert.deepStrictEqual(yield* count(destination, T0 + 3), { all: 0, ofNetwork: 0 })
        assert.deepStrictEqual(yield* count("nobody@example.com", 0), { all: 0, ofNetwork: 0 })
      })
    )

    it.effect("takes a flow once, and not after it has expired", () =>
      Effect.gen(function* () {
        const store = yield* Challenges
        const [first, bare, late] = [flow(), flow({ redirectTo: null }), flow()]
        for (const one of [first, bare, late]) yield* store.openFlow(one)
        const taken = yield* Effect.forEach(Array.from({ length: 16 }), () => store.takeFlow(first.stateHash, T0), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(taken.filter(Option.isSome), [Option.some(first)])
        assert.deepStrictEqual(yield* store.takeFlow(bare.stateHash, T0), Option.some(bare))
        assert.isTrue(Option.isNone(yield* store.takeFlow(late.stateHash, late.expiresAtMs)))
        assert.isTrue(Option.isNone(yield* store.takeFlow("state-of-nobody", T0)))
      })
    )

    it.effect("deletes old codes and flows", () =>
      Effect.gen(function* () {
        const store = yield* Challenges
        const [code, ended] = [challenge({ createdAtMs: 5 }), flow({ expiresAtMs: 5 })]
        yield* store.open(code)
        yield* store.openFlow(ended)
        yield* store.deleteBefore(6)
        assert.strictEqual((yield* store.countSince(code.destination, "mine", 0)).all, 0)
        assert.isTrue(Option.isNone(yield* store.takeFlow(ended.stateHash, 0)))
      })
    )
  })
}
