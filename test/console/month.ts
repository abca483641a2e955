/** The console on a gateway that has a month of traffic. */
import { PgClient } from "@effect/sql-pg"
import { Clock, Context, Effect, Layer, Redacted } from "effect"
import { Sql } from "../../src/store/sql/Sql.ts"
import { indexesBuilt } from "../store/ledger/manyGenerations.ts"
import { fillMonth } from "../support/month/fillMonth.ts"
import { providers } from "../support/month/offers.ts"
import { freshDatabase } from "../support/Postgres.ts"
import { Console } from "./browser.ts"

/** A migrated database of the run's server with a month of traffic, and what reads it. */
export const filledDatabase = Effect.gen(function* () {
  const url = yield* freshDatabase
  const context = yield* Layer.build(Sql.layerPostgres({ url, maxConnections: 2 }))
  const sql = Context.get(context, PgClient.PgClient)
  yield* indexesBuilt(sql)
  yield* fillMonth(sql, yield* Clock.currentTimeMillis)
  return { sql, url }
})

/** Its gateway answers by the mock, and has a provider that is down. */
export const layerMonth = Layer.unwrap(
  Effect.map(Effect.orDie(filledDatabase), ({ sql, url }) =>
    Layer.merge(
      Layer.succeed(PgClient.PgClient, sql),
      Console.layer({ providers }, { DATABASE_URL: Redacted.value(url) })
    )
  )
)
