/**
 * A process that opens the data directory of its first argument and writes generations forever. It
 * prints the id of each once the ledger has acknowledged it, or why it was refused. For the tests
 * that kill it.
 */
import { Console, Effect, Layer } from "effect"
import { Ledger } from "../../../src/store/ledger/Ledger.ts"
import * as LedgerSql from "../../../src/store/ledger/Sql.ts"
import { Sql } from "../../../src/store/sql/Sql.ts"
import { makeGeneration } from "../ledger/makeGeneration.ts"

const dataDir = process.argv[2] ?? ""

const write = Effect.gen(function* () {
  const ledger = yield* Ledger
  yield* Console.log("open")
  const writeOne = Effect.gen(function* () {
    const id = `gen_${crypto.randomUUID()}`
    yield* ledger.settle(makeGeneration({ id, keyId: "key_writer" }, 1), "2026-11")
    yield* Console.log(id)
  })
  yield* Effect.all([Effect.forever(writeOne), Effect.forever(writeOne)], { concurrency: "unbounded" })
})

await Effect.runPromise(
  write.pipe(
    Effect.provide(LedgerSql.layer.pipe(Layer.provide(Sql.layerEmbedded({ dataDir })))),
    Effect.catchTag("DataDirError", (error) => Console.log(`refused: ${error.reason}: ${error.message}`))
  )
)
