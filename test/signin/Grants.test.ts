/**
 * Grants are never exceeded, on every layer of the stores: concurrent creations, raises and lowered
 * grants.
 */
import * as KeyRepoMemory from "../../src/store/keys/KeyRepoMemory.ts"
import * as KeyRepoSql from "../../src/store/keys/KeyRepoSql.ts"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Ids } from "../../src/domain/Ids.ts"
import { UserAdmin } from "../../src/gateway/signin/UserAdmin.ts"
import { Portal, type WantedKey } from "../../src/gateway/signin/Portal.ts"
import { KeyRepo } from "../../src/store/keys/KeyRepo.ts"
import { type GenerationStore } from "../../src/store/ledger/GenerationStore.ts"
import { type Ledger } from "../../src/store/ledger/Ledger.ts"
import { type LedgerReports } from "../../src/store/ledger/reports/LedgerReports.ts"
import * as LedgerMemory from "../../src/store/ledger/Memory.ts"
import * as LedgerSql from "../../src/store/ledger/Sql.ts"
import { Users } from "../../src/store/people/Users.ts"
import { makeUser } from "../store/people/usersSuite.ts"
import { layerPglite } from "../support/Pglite.ts"
import { layerPostgres } from "../support/Postgres.ts"
import { TestApp } from "../support/TestApp.ts"

const GRANT_NANO = 1_000

const wanted = (monthlyBudgetNano: number): WantedKey => ({
  name: "k",
  allowedModels: null,
  expiresAtMs: null,
  tier: null,
  scopes: null,
  monthlyBudgetNano
})

const known = Effect.gen(function* () {
  const [users, ids] = [yield* Users, yield* Ids]
  const grants = { tier: "pro" as const, monthlyBudgetNano: GRANT_NANO, scopes: ["chat:write" as const] }
  const made = makeUser({ id: ids.next("usr", 0), grants })
  const { user } = yield* users.adopt({ provider: "email", subject: made.id, email: null, createdAtMs: 0 }, made)
  return user
})

const budgetsOf = (ownerId: string) =>
  Effect.gen(function* () {
    const { keys } = yield* (yield* KeyRepo).list({ limit: 100, cursor: null, ownerId })
    return keys.map(({ monthlyBudgetNano }) => monthlyBudgetNano ?? Infinity)
  })

const sum = (budgets: ReadonlyArray<number>): number => budgets.reduce((total, budget) => total + budget, 0)

const Budget = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_200 }))
const Budgets = Schema.Array(Budget).check(Schema.isMinLength(1), Schema.isMaxLength(6))

const suite = <E>(name: string, stores: Layer.Layer<KeyRepo | Ledger | GenerationStore | LedgerReports, E>) =>
  layer(TestApp.layer({ providers: [], stores }), { timeout: "120 seconds" })(name, (it) => {
    it.effect.prop(
      "concurrent creations and raises stay within the grant, and the first that fits succeeds",
      { budgets: Budgets, raises: Budgets },
      ({ budgets, raises }) =>
        Effect.gen(function* () {
          const portal = yield* Portal
          const user = yield* known
          yield* TestClock.adjust("1 minute")
          const first = yield* portal.create(user, wanted(1))
          const attempts = [
            ...budgets.map((budget) => Effect.asVoid(portal.create(user, wanted(budget)))),
            ...raises.map((budget) =>
              Effect.asVoid(portal.change(user, first.view.key.id, { monthlyBudgetNano: budget }))
            )
          ]
          const results = yield* Effect.forEach(attempts, Effect.result, { concurrency: "unbounded" })
          assert.isAtMost(sum(yield* budgetsOf(user.id)), GRANT_NANO)
          const refused = results.filter(({ _tag }) => _tag === "Failure")
          if ([...budgets, ...raises].some((budget) => budget <= GRANT_NANO - 1)) {
            assert.isBelow(refused.length, attempts.length)
          }
          for (const result of refused) {
            if (result._tag === "Failure") assert.strictEqual(result.failure.reason._tag, "GrantExceeded")
          }
        }),
      { arbitrary: { runs: 12 } }
    )

    it.effect("a grant that is lowered at the same time applies to the new keys", () =>
      Effect.gen(function* () {
        const [portal, members] = [yield* Portal, yield* UserAdmin]
        const user = yield* known
        yield* TestClock.adjust("1 minute")
        yield* Effect.all(
          [
            ...Array.from({ length: 6 }, () => Effect.ignore(portal.create(user, wanted(150)))),
            Effect.andThen(
              members.change(user.id, { grants: { monthlyBudgetNano: 200 } }),
              portal.enforceGrants(user.id)
            )
          ],
          { concurrency: "unbounded" }
        )
        assert.isAtMost(sum(yield* budgetsOf(user.id)), 200)
      })
    )
  })

const inSql = Layer.merge(KeyRepoSql.layer, LedgerSql.layer)

suite("in memory", Layer.merge(KeyRepoMemory.layer, LedgerMemory.layer))
suite("in the embedded database", inSql.pipe(Layer.provide(layerPglite)))
suite("in Postgres", inSql.pipe(Layer.provide(layerPostgres)))
