/**
 * Two processes on one database: each accepts what the other issues, and rejects what the other
 * ends.
 */
import * as SecretStoreSql from "../../src/store/secrets/SecretStoreSql.ts"
import * as SessionsSql from "../../src/store/people/SessionsSql.ts"
import * as UsersSql from "../../src/store/people/UsersSql.ts"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { Ids } from "../../src/domain/Ids.ts"
import { AccessTokens } from "../../src/gateway/signin/AccessTokens.ts"
import { HmacKey } from "../../src/gateway/signin/HmacKey.ts"
import { SessionTokens } from "../../src/gateway/signin/SessionTokens.ts"
import { SigningKeys } from "../../src/gateway/signin/SigningKeys.ts"
import { Sql } from "../../src/store/sql/Sql.ts"
import { Users } from "../../src/store/people/Users.ts"
import { makeUser } from "../store/people/usersSuite.ts"
import { freshDatabase } from "../support/Postgres.ts"

const replica = (url: Redacted.Redacted) =>
  Layer.fresh(
    SessionTokens.layer({ sessionDays: 30 }).pipe(
      Layer.provide(AccessTokens.layer({ issuer: "tollgate", lifetimeSeconds: 900 })),
      Layer.provide(Layer.mergeAll(SigningKeys.layer, HmacKey.layer)),
      Layer.provideMerge(Layer.mergeAll(SessionsSql.layer, UsersSql.layer, SecretStoreSql.layer, Ids.layer)),
      Layer.provide(Sql.layerPostgres({ url }))
    )
  )

it.live("replicas share keys, HMAC key and sessions", () =>
  Effect.gen(function* () {
    const url = yield* freshDatabase
    const start = Effect.acquireRelease(
      Effect.sync(() => ManagedRuntime.make(replica(url))),
      (runtime) => runtime.disposeEffect
    )
    const [one, two] = [yield* start, yield* start]
    const at = <A, E>(runtime: typeof one, run: (tokens: SessionTokens["Service"]) => Effect.Effect<A, E>) =>
      Effect.promise(() => runtime.runPromise(Effect.flatMap(SessionTokens, run)))
    const made = makeUser({ id: `usr_${"a".repeat(32)}`, email: "anna@example.com" })
    const { user } = yield* Effect.promise(() =>
      one.runPromise(
        Effect.flatMap(Users, (users) =>
          users.adopt({ provider: "email", subject: "anna@example.com", email: null, createdAtMs: 0 }, made)
        )
      )
    )
    const begun = yield* at(one, (tokens) => tokens.begin({ user, signedInBy: "email", userAgent: null }))
    const seen = yield* at(two, (tokens) => tokens.authenticate(Redacted.value(begun.accessToken)))
    assert.strictEqual(seen.user.id, user.id)

    const token = Redacted.value(begun.refreshToken)
    const both = yield* Effect.all(
      [at(one, (tokens) => tokens.refresh(token)), at(two, (tokens) => tokens.refresh(token))],
      { concurrency: "unbounded" }
    )
    assert.strictEqual(Redacted.value(both[0].refreshToken), Redacted.value(both[1].refreshToken))
    yield* at(two, (tokens) => tokens.end(Redacted.value(both[0].refreshToken)))
    const over = yield* at(one, (tokens) => Effect.flip(tokens.refresh(Redacted.value(both[0].refreshToken))))
    assert.strictEqual(over.reason._tag, "SignInRefused")
  }).pipe(Effect.scoped)
)
