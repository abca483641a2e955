/** The console on a gateway that has a month of traffic. */
import { PgClient } from "@effect/sql-pg"
import { Clock, Context, Effect, Layer, Redacted } from "effect"
import { Sql } from "../../src/store/sql/Sql.ts"
import { indexesBuilt } from "../store/ledger/manyGenerations.ts"
import { fillMonth } from "../support/month/fillMonth.ts"
import { monthSettings } from "../support/month/settings.ts"
import { freshDatabase } from "../support/Postgres.ts"
import { Console } from "./browser.ts"

/** Its gateway answers by the mock, and has a provider that is down. `url`: an empty database. */
export const layerMonthOn = (url: Redacted.Redacted) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const context = yield* Layer.build(Sql.layerPostgres({ url, maxConnections: 2 }))
      const sql = Context.get(context, PgClient.PgClient)
      yield* indexesBuilt(sql)
      yield* fillMonth(sql, yield* Clock.currentTimeMillis)
      return Layer.merge(
        Layer.succeed(PgClient.PgClient, sql),
        Console.layer(monthSettings, { DATABASE_URL: Redacted.value(url) })
      )
    }).pipe(Effect.orDie)
  )

/** In a database of the run's server. */
export const layerMonth = Layer.unwrap(Effect.map(freshDatabase, layerMonthOn))
