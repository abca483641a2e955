/** Indexes that are built in the background, on Postgres, with indexes made for the test. */
import { PgClient } from "@effect/sql-pg"
import { assert, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Schedule } from "effect"
import { buildIndexes } from "../../../src/store/sql/Indexes.ts"
import { freshDatabase } from "../../support/Postgres.ts"

const indexes = { people_name: "people (name)" }

const opened = Effect.gen(function* () {
  const context = yield* Layer.build(PgClient.layer({ url: yield* freshDatabase, maxConnections: 4 }))
  const sql = Context.get(context, PgClient.PgClient)
  yield* sql`CREATE TABLE people (name text)`
  const states = sql<{ readonly valid: boolean }>`
    SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass('people_name')`
  return { build: Effect.provide(buildIndexes(indexes), context), sql, states }
})

it.live("an index is built once, by one process, while others write", () =>
  Effect.gen(function* () {
    const { build, sql, states } = yield* opened
    const [written, end] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const writer = yield* Effect.forkChild(
      sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`INSERT INTO people VALUES ('Ann')`
          yield* Deferred.succeed(written, undefined)
          yield* Deferred.await(end)
        })
      )
    )
    yield* Deferred.await(written)
    const building = yield* Effect.forkChild(build)
    // The build waits for the transaction that began before it.
    yield* states.pipe(Effect.repeat({ schedule: Schedule.spaced("20 millis"), until: (found) => found.length === 1 }))
    // A second process continues without the index, and writes are not blocked.
    yield* build
    yield* sql`INSERT INTO people VALUES ('Bob')`
    assert.deepStrictEqual(yield* states, [{ valid: false }])
    yield* Deferred.succeed(end, undefined)
    yield* Fiber.join(writer)
    yield* Fiber.join(building)
    assert.deepStrictEqual(yield* states, [{ valid: true }])
    const oidOf = sql`SELECT to_regclass('people_name')::oid::int AS oid`
    const before = yield* oidOf
    yield* build
    assert.deepStrictEqual(yield* oidOf, before)
  })
)

it.live("an index that an interrupted build left invalid is built again", () =>
  Effect.gen(function* () {
    const { build, sql, states } = yield* opened
    yield* sql`INSERT INTO people VALUES ('Ann'), ('Ann')`
    yield* Effect.flip(sql`CREATE UNIQUE INDEX CONCURRENTLY people_name ON people (name)`)
    assert.deepStrictEqual(yield* states, [{ valid: false }])
    yield* build
    assert.deepStrictEqual(yield* states, [{ valid: true }])
  })
)
