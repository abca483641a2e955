/** The key suite on every layer. */
import * as UsersSql from "../../../src/store/people/UsersSql.ts"
import * as KeyRepoMemory from "../../../src/store/keys/KeyRepoMemory.ts"
import * as KeyRepoSql from "../../../src/store/keys/KeyRepoSql.ts"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { KeyRepo } from "../../../src/store/keys/KeyRepo.ts"
import { Users } from "../../../src/store/people/Users.ts"
import { layerPglite } from "../../support/Pglite.ts"
import { layerPostgres } from "../../support/Postgres.ts"
import { keyRepoSuite } from "./keyRepoSuite.ts"
import { makeUser } from "../people/usersSuite.ts"

keyRepoSuite("KeyRepo in memory", KeyRepoMemory.layer, { rollsBack: false })
keyRepoSuite("KeyRepo in the embedded database", KeyRepoSql.layer.pipe(Layer.provide(layerPglite)))
keyRepoSuite("KeyRepo in Postgres", KeyRepoSql.layer.pipe(Layer.provide(layerPostgres)))

it.effect("the tier of an owner is the one that was granted last", () =>
  Effect.gen(function* () {
    const [keys, users] = [yield* KeyRepo, yield* Users]
    const { user } = yield* users.adopt(
      { provider: "google", subject: "an owner", email: "owner@example.org", createdAtMs: 0 },
      makeUser({ grants: { tier: "free", monthlyBudgetNano: null, scopes: [] } })
    )
    assert.strictEqual(yield* keys.ownerTier(user.id), "free")
    yield* users.update(user.id, { grants: { tier: "pro", monthlyBudgetNano: null, scopes: [] } }, 1)
    assert.strictEqual(yield* keys.ownerTier(user.id), "pro")
    assert.isNull(yield* keys.ownerTier("usr_nobody"))
  }).pipe(Effect.provide(Layer.mergeAll(KeyRepoSql.layer, UsersSql.layer).pipe(Layer.provide(layerPglite))))
)
