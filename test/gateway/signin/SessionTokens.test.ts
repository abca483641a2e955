import * as SecretStoreMemory from "../../../src/store/secrets/SecretStoreMemory.ts"
import * as SessionsMemory from "../../../src/store/people/SessionsMemory.ts"
import * as UsersMemory from "../../../src/store/people/UsersMemory.ts"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Option, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { Ids } from "../../../src/domain/Ids.ts"
import { type UserRecord } from "../../../src/domain/User.ts"
import { AccessTokens } from "../../../src/gateway/signin/AccessTokens.ts"
import { HmacKey } from "../../../src/gateway/signin/HmacKey.ts"
import { SessionTokens } from "../../../src/gateway/signin/SessionTokens.ts"
import { SigningKeys } from "../../../src/gateway/signin/SigningKeys.ts"
import { Sessions } from "../../../src/store/people/Sessions.ts"
import { Users } from "../../../src/store/people/Users.ts"
import { makeUser } from "../../store/people/usersSuite.ts"

const stores = Layer.mergeAll(SessionsMemory.layer, UsersMemory.layer, SecretStoreMemory.layer, Ids.layer)
const service = SessionTokens.layer({ sessionDays: 30 }).pipe(
  Layer.provideMerge(AccessTokens.layer({ issuer: "https://gateway.example.com", lifetimeSeconds: 900 })),
  Layer.provideMerge(Layer.mergeAll(SigningKeys.layer, HmacKey.layer))
)
const layer = service.pipe(Layer.provideMerge(stores))

const known = (overrides: Partial<UserRecord> = {}) =>
  Effect.gen(function* () {
    const users = yield* Users
    const made = makeUser({ ...overrides, id: (yield* Ids).next("usr", 0) })
    const { user } = yield* users.adopt({ provider: "email", subject: made.id, email: null, createdAtMs: 0 }, made)
    return user
  })

const begun = Effect.gen(function* () {
  const sessions = yield* SessionTokens
  return yield* sessions.begin({ user: yield* known(), signedInBy: "email", userAgent: "x".repeat(500) })
})

const reasonOf = <A, R>(effect: Effect.Effect<A, { readonly reason: object }, R>) =>
  Effect.map(Effect.flip(effect), ({ reason }) => ({ ...reason }))

it.effect("an unused session expires; a used one goes on", () =>
  Effect.gen(function* () {
    const sessions = yield* SessionTokens
    const first = yield* begun
    assert.lengthOf(first.session.userAgent ?? "", 200)
    yield* TestClock.adjust("29 days")
    const second = yield* sessions.refresh(Redacted.value(first.refreshToken))
    yield* TestClock.adjust("29 days")
    const third = yield* sessions.refresh(Redacted.value(second.refreshToken))
    assert.strictEqual(third.session.id, first.session.id)
    yield* TestClock.adjust("30 days")
    assert.deepStrictEqual(yield* reasonOf(sessions.refresh(Redacted.value(third.refreshToken))), {
      _tag: "SignInRefused",
      what: "refresh_token"
    })
  }).pipe(Effect.provide(layer))
)

it.effect("concurrent refreshes of one token give one successor", () =>
  Effect.gen(function* () {
    const sessions = yield* SessionTokens
    const token = Redacted.value((yield* begun).refreshToken)
    const pairs = yield* Effect.forEach(Array.from({ length: 20 }), () => sessions.refresh(token), {
      concurrency: "unbounded"
    })
    assert.strictEqual(new Set(pairs.map(({ refreshToken }) => Redacted.value(refreshToken))).size, 1)
    yield* sessions.refresh(Redacted.value(pairs[0]?.refreshToken ?? Redacted.make("")))
  }).pipe(Effect.provide(layer))
)

it.effect("the stores hold no token: stored values neither refresh nor authenticate", () =>
  Effect.gen(function* () {
    const [sessions, store, pepper] = [yield* SessionTokens, yield* Sessions, yield* HmacKey]
    const token = Redacted.value((yield* begun).refreshToken)
    const hash = yield* pepper.hash("refresh", token)
    assert.isTrue(Option.isSome(yield* store.findByToken(hash)))
    assert.isTrue(Option.isNone(yield* store.findByToken(token)))
    for (const wrong of [hash, "", "tgr-", `tgr-${hash.slice(0, 43)}`, `${token}=`, `${token} `]) {
      assert.deepInclude(yield* reasonOf(sessions.refresh(wrong)), { what: "refresh_token" })
      yield* sessions.end(wrong)
    }
    yield* sessions.refresh(token)
  }).pipe(Effect.provide(layer))
)

it.effect("tokens are not valid under another HMAC key", () =>
  Effect.gen(function* () {
    const store = yield* Sessions
    const token = Redacted.value((yield* begun).refreshToken)
    const elsewhere = yield* Effect.flip(Effect.flatMap(SessionTokens, (other) => other.refresh(token))).pipe(
      Effect.provide(Layer.fresh(service).pipe(Layer.provide(Layer.fresh(SecretStoreMemory.layer))))
    )
    assert.strictEqual(elsewhere.reason._tag, "SignInRefused")
    assert.isDefined(store)
  }).pipe(Effect.provide(layer))
)

it.effect("a suspended user cannot start or refresh a session, and is signed out within a second", () =>
  Effect.gen(function* () {
    const [sessions, users] = [yield* SessionTokens, yield* Users]
    const { accessToken, refreshToken, user } = yield* begun
    assert.strictEqual((yield* sessions.authenticate(Redacted.value(accessToken))).user.id, user.id)
    yield* users.update(user.id, { state: "suspended" }, 0)
    yield* TestClock.adjust("1 second")
    assert.deepInclude(yield* reasonOf(sessions.authenticate(Redacted.value(accessToken))), { what: "session" })
    assert.deepStrictEqual(yield* reasonOf(sessions.refresh(Redacted.value(refreshToken))), { _tag: "UserSuspended" })
    const suspended = yield* known({ state: "suspended" })
    assert.deepStrictEqual(yield* reasonOf(sessions.begin({ user: suspended, signedInBy: "email", userAgent: null })), {
      _tag: "UserSuspended"
    })
  }).pipe(Effect.provide(layer))
)

it.effect("a session ended by another process is over within a second", () =>
  Effect.gen(function* () {
    const [sessions, store] = [yield* SessionTokens, yield* Sessions]
    const { accessToken, session, user } = yield* begun
    yield* sessions.authenticate(Redacted.value(accessToken))
    yield* store.revoke(session.id, user.id, 0)
    yield* TestClock.adjust("1 second")
    assert.deepInclude(yield* reasonOf(sessions.authenticate(Redacted.value(accessToken))), { what: "session" })
  }).pipe(Effect.provide(layer))
)
