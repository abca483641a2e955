/** The suites of users, sessions, challenges and secrets on every layer. */
import * as SecretStoreMemory from "../../../src/store/secrets/SecretStoreMemory.ts"
import * as SecretStoreFiles from "../../../src/store/secrets/SecretStoreFiles.ts"
import * as SecretStoreSql from "../../../src/store/secrets/SecretStoreSql.ts"
import * as ChallengesMemory from "../../../src/store/people/ChallengesMemory.ts"
import * as ChallengesSql from "../../../src/store/people/ChallengesSql.ts"
import * as SessionsMemory from "../../../src/store/people/SessionsMemory.ts"
import * as SessionsSql from "../../../src/store/people/SessionsSql.ts"
import * as UsersMemory from "../../../src/store/people/UsersMemory.ts"
import * as UsersSql from "../../../src/store/people/UsersSql.ts"
import { assert, describe, it, layer, type Vitest } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { type Challenges } from "../../../src/store/people/Challenges.ts"
import { type Sessions } from "../../../src/store/people/Sessions.ts"
import { type Users } from "../../../src/store/people/Users.ts"
import { SecretStore } from "../../../src/store/secrets/SecretStore.ts"
import { layerPglite, temporaryDataDir } from "../../support/Pglite.ts"
import { layerPostgres } from "../../support/Postgres.ts"
import { challengesSuite } from "./challengesSuite.ts"
import { sessionsSuite } from "./sessionsSuite.ts"
import { usersSuite } from "./usersSuite.ts"

type Stores = Challenges | Sessions | Users | SecretStore

const secretStoreSuite = (it: Vitest.MethodsNonLive<SecretStore>): void => {
  describe("SecretStore", () => {
    it.effect("keeps the first secret of a name for all callers, until it is deleted", () =>
      Effect.gen(function* () {
        const store = yield* SecretStore
        let made = 0
        const make = Effect.sync(() => `secret ${++made}`)
        const kept = yield* Effect.forEach(Array.from({ length: 12 }), () => store.getOrCreate("pepper", make), {
          concurrency: "unbounded"
        })
        assert.strictEqual(new Set(kept.map(Redacted.value)).size, 1)
        assert.strictEqual(Redacted.value(yield* store.getOrCreate("other", Effect.succeed("else"))), "else")
        yield* store.remove("pepper")
        yield* store.remove("never-there")
        assert.strictEqual(Redacted.value(yield* store.getOrCreate("pepper", Effect.succeed("new"))), "new")
        assert.strictEqual(Redacted.value(yield* store.getOrCreate("pepper", Effect.die("it is there"))), "new")
      })
    )
  })
}

const suites = <E>(place: string, stores: Layer.Layer<Stores, E>) =>
  layer(stores, { timeout: "60 seconds" })(place, (it) => {
    usersSuite(it)
    sessionsSuite(it)
    challengesSuite(it)
    secretStoreSuite(it)
  })

const inSql = Layer.mergeAll(ChallengesSql.layer, SessionsSql.layer, UsersSql.layer, SecretStoreSql.layer)

suites(
  "in memory",
  Layer.mergeAll(ChallengesMemory.layer, SessionsMemory.layer, UsersMemory.layer, SecretStoreMemory.layer)
)
suites("in the embedded database", inSql.pipe(Layer.provide(layerPglite)))
suites("in Postgres", inSql.pipe(Layer.provide(layerPostgres)))
layer(Layer.unwrap(Effect.map(temporaryDataDir, (directory) => SecretStoreFiles.layer(join(directory, "secrets")))))(
  "in files",
  secretStoreSuite
)

it.effect("makes files readable by their owner only, and reports a disk failure as an unavailable database", () =>
  Effect.gen(function* () {
    const directory = join(yield* temporaryDataDir, "secrets")
    yield* Effect.flatMap(SecretStore, (store) => store.getOrCreate("pepper", Effect.succeed("s"))).pipe(
      Effect.provide(SecretStoreFiles.layer(directory))
    )
    assert.deepStrictEqual(readdirSync(directory), ["pepper"])
    assert.strictEqual(statSync(join(directory, "pepper")).mode & 0o777, 0o600)
    assert.strictEqual(statSync(directory).mode & 0o777, 0o700)
    const error = yield* Effect.flatMap(SecretStore, (store) => store.getOrCreate("x", Effect.succeed("s"))).pipe(
      Effect.provide(SecretStoreFiles.layer(join(directory, "pepper"))),
      Effect.flip
    )
    assert.deepStrictEqual([error._tag, error.dependency], ["StoreError", "database"])
  }).pipe(Effect.scoped)
)
