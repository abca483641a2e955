/** The guarantees of every Sessions store, in memory or in a database. */
import { assert, describe, type Vitest } from "@effect/vitest"
import { Effect, Option } from "effect"
import { type SessionRecord } from "../../../src/domain/User.ts"
import { Sessions } from "../../../src/store/people/Sessions.ts"
import { Users } from "../../../src/store/people/Users.ts"
import { makeUser } from "./usersSuite.ts"

const T0 = Date.UTC(2026, 10, 21)
const DAY_MS = 86_400_000

let count = 0
/** A session of a new user, with its first token. */
const begun = (overrides: Partial<SessionRecord> = {}) =>
  Effect.gen(function* () {
    const [sessions, users] = [yield* Sessions, yield* Users]
    const n = String(++count)
    const { user } = yield* users.adopt({ provider: "sessions", subject: n, email: null, createdAtMs: T0 }, makeUser())
    const session: SessionRecord = {
      id: `ses_${n.padStart(32, "0")}`,
      userId: user.id,
      signedInBy: "email",
      userAgent: "Mozilla “5.0”",
      createdAtMs: T0,
      lastUsedAtMs: T0,
      expiresAtMs: T0 + DAY_MS,
      revokedAtMs: null,
      ...overrides
    }
    yield* sessions.insert(session, `token-${n}-0`)
    const rotate = (from: number, to: number, nowMs: number) =>
      sessions.rotate({
        tokenHash: `token-${n}-${from}`,
        nextHash: `token-${n}-${to}`,
        nowMs,
        graceMs: 10_000,
        expiresAtMs: nowMs + DAY_MS
      })
    return { session, rotate, token: (index: number) => `token-${n}-${index}` }
  })

const outcomeOf = (rotated: Option.Option<{ readonly outcome: string }>) =>
  Option.match(rotated, { onNone: () => "unknown", onSome: ({ outcome }) => outcome })

export const sessionsSuite = (it: Vitest.MethodsNonLive<Sessions | Users>): void => {
  describe("Sessions", () => {
    it.effect("exchanges a token for its successor, which extends the session", () =>
      Effect.gen(function* () {
        const sessions = yield* Sessions
        const { rotate, session, token } = yield* begun()
        const moved = { ...session, lastUsedAtMs: T0 + 60_000, expiresAtMs: T0 + 60_000 + DAY_MS }
        assert.deepStrictEqual(
          yield* rotate(0, 1, T0 + 60_000),
          Option.some({ outcome: "rotated" as const, session: moved })
        )
        assert.deepStrictEqual(yield* sessions.get(session.id), Option.some(moved))
        assert.deepStrictEqual(yield* sessions.findByToken(token(1)), Option.some(moved))
        assert.strictEqual(outcomeOf(yield* rotate(1, 2, T0 + 120_000)), "rotated")
        assert.strictEqual(outcomeOf(yield* rotate(9, 10, T0)), "unknown")
        assert.isTrue(Option.isNone(yield* sessions.findByToken("nobody's")))
      })
    )

    it.effect("returns the user of the newest token of a live session, and of no other token", () =>
      Effect.gen(function* () {
        const sessions = yield* Sessions
        const { rotate, session, token } = yield* begun()
        const holders = (nowMs: number) =>
          Effect.forEach([0, 1, 9], (n) => Effect.map(sessions.holder(token(n), nowMs), Option.getOrNull))
        assert.deepStrictEqual(yield* holders(T0), [session.userId, null, null])
        yield* rotate(0, 1, T0)
        assert.deepStrictEqual(yield* holders(T0), [null, session.userId, null])
        const { expiresAtMs } = Option.getOrThrow(yield* sessions.get(session.id))
        assert.deepStrictEqual(yield* holders(expiresAtMs - 1), [null, session.userId, null])
        assert.deepStrictEqual(yield* holders(expiresAtMs), [null, null, null])
        yield* sessions.revoke(session.id, session.userId, T0)
        assert.deepStrictEqual(yield* holders(T0), [null, null, null])
      })
    )

    it.effect("repeats an exchange within the grace period, and ends the session afterwards", () =>
      Effect.gen(function* () {
        const sessions = yield* Sessions
        const { rotate, session } = yield* begun()
        yield* rotate(0, 1, T0)
        assert.strictEqual(outcomeOf(yield* rotate(0, 1, T0 + 10_000)), "repeated")
        assert.strictEqual(outcomeOf(yield* rotate(0, 1, T0 + 10_001)), "reused")
        const ended = yield* sessions.get(session.id)
        assert.strictEqual(Option.getOrUndefined(ended)?.revokedAtMs, T0 + 10_001)
        assert.strictEqual(outcomeOf(yield* rotate(1, 2, T0 + 10_002)), "ended")
        assert.strictEqual(outcomeOf(yield* rotate(0, 1, T0 + 10_002)), "ended")
      })
    )

    it.effect(
      "ends the session when an old token returns after its successor was used, even within the grace period",
      () =>
        Effect.gen(function* () {
          const { rotate } = yield* begun()
          yield* rotate(0, 1, T0)
          yield* rotate(1, 2, T0 + 1)
          assert.strictEqual(outcomeOf(yield* rotate(0, 1, T0 + 2)), "reused")
        })
    )

    it.effect("makes one of many concurrent exchanges, and repeats it for the others", () =>
      Effect.gen(function* () {
        const { rotate } = yield* begun()
        const outcomes = yield* Effect.forEach(
          Array.from({ length: 16 }),
          () => Effect.map(rotate(0, 1, T0), outcomeOf),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(outcomes.toSorted(), [...Array.from({ length: 15 }, () => "repeated"), "rotated"])
      })
    )

    it.effect("exchanges no token of an ended session", () =>
      Effect.gen(function* () {
        const { rotate } = yield* begun()
        assert.strictEqual(outcomeOf(yield* rotate(0, 1, T0 + DAY_MS)), "ended")
      })
    )

    it.effect("lists live sessions, and only their user can revoke them", () =>
      Effect.gen(function* () {
        const sessions = yield* Sessions
        const { rotate, session } = yield* begun()
        assert.deepStrictEqual(yield* sessions.live(session.userId, T0), [session])
        assert.deepStrictEqual(yield* sessions.live(session.userId, T0 + DAY_MS), [])
        assert.isFalse(yield* sessions.revoke(session.id, "usr_somebody_else", T0))
        assert.isTrue(yield* sessions.revoke(session.id, session.userId, T0 + 3))
        assert.isTrue(yield* sessions.revoke(session.id, session.userId, T0 + 9))
        assert.deepStrictEqual(yield* sessions.get(session.id), Option.some({ ...session, revokedAtMs: T0 + 3 }))
        assert.deepStrictEqual(yield* sessions.live(session.userId, T0), [])
        assert.strictEqual(outcomeOf(yield* rotate(0, 1, T0)), "ended")
      })
    )

    it.effect("revokes all sessions of one user", () =>
      Effect.gen(function* () {
        const sessions = yield* Sessions
        const [mine, other] = [yield* begun(), yield* begun()]
        yield* sessions.revokeAll(mine.session.userId, T0)
        assert.deepStrictEqual(yield* sessions.live(mine.session.userId, T0), [])
        assert.lengthOf(yield* sessions.live(other.session.userId, T0), 1)
      })
    )

    it.effect("deletes sessions that ended before a moment, with their tokens", () =>
      Effect.gen(function* () {
        const sessions = yield* Sessions
        const old = yield* begun({ expiresAtMs: 1_000 })
        const young = yield* begun()
        yield* sessions.deleteBefore(1_001)
        assert.isTrue(Option.isNone(yield* sessions.get(old.session.id)))
        assert.strictEqual(outcomeOf(yield* old.rotate(0, 1, T0)), "unknown")
        assert.isTrue(Option.isSome(yield* sessions.get(young.session.id)))
      })
    )
  })
}
