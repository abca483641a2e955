import * as ChallengesMemory from "../../../src/store/people/ChallengesMemory.ts"
import * as SessionsMemory from "../../../src/store/people/SessionsMemory.ts"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { SignInSweeper } from "../../../src/gateway/signin/SignInSweeper.ts"
import { Challenges } from "../../../src/store/people/Challenges.ts"
import { Sessions } from "../../../src/store/people/Sessions.ts"
import { StoreError } from "../../../src/store/StoreError.ts"

it.effect("entries are deleted within ten minutes after a day past their expiry, and not sooner", () =>
  Effect.gen(function* () {
    const [challenges, sessions] = [yield* Challenges, yield* Sessions]
    yield* challenges.open({
      id: "chl_1",
      channel: "email",
      destination: "anna@example.com",
      codeHash: "",
      networkHash: "",
      attemptsTaken: 0,
      createdAtMs: 0,
      expiresAtMs: 600_000
    })
    const session = { userId: "usr_1", signedInBy: "email", userAgent: null, createdAtMs: 0, lastUsedAtMs: 0 }
    yield* sessions.insert({ ...session, id: "ses_1", expiresAtMs: 1, revokedAtMs: null }, "hash")
    const left = Effect.all([challenges.countSince("anna@example.com", "", 0), sessions.get("ses_1")])
    yield* TestClock.adjust("23 hours")
    const [codes, kept] = yield* left
    assert.deepStrictEqual([codes.all, Option.isSome(kept)], [1, true])
    yield* TestClock.adjust("71 minutes")
    const [none, gone] = yield* left
    assert.deepStrictEqual([none.all, Option.isNone(gone)], [0, true])
  }).pipe(
    Effect.provide(
      SignInSweeper.layer.pipe(Layer.provideMerge(Layer.mergeAll(ChallengesMemory.layer, SessionsMemory.layer)))
    )
  )
)

it.effect("a store that fails is tried again", () =>
  Effect.gen(function* () {
    let asked = 0
    yield* Effect.gen(function* () {
      yield* TestClock.adjust("31 minutes")
      assert.strictEqual(asked, 3)
    }).pipe(
      Effect.provide(
        SignInSweeper.layer.pipe(
          Layer.provide(SessionsMemory.layer),
          Layer.provide(
            Layer.mock(Challenges, {
              deleteBefore: () =>
                Effect.suspend(() => {
                  asked++
                  return Effect.fail(new StoreError({ dependency: "database", cause: "gone" }))
                })
            })
          )
        )
      )
    )
  })
)
